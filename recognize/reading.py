"""Identifications read over by a vision model: the answer becomes what the model chose among the candidates."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.background import background_loop
from data.errors import BadImage, SourceError
from data.records import Answer, Identification, Reading
from recognize.reader import Reader

AHEAD: Final = 16  # photos whose replies are awaited at a time; how many calls are in flight is the model's own matter


def read_over(
    rows: Iterable[Identification], reader: Reader, picture_of: Callable[[Path], bytes]
) -> Iterator[Identification]:
    """Yield the rows in their order, each with the reader's choice as its answer, and the choice itself in `reader`.

    A choice of none of the candidates is the answer `none`. Confidence is null: a calibration is of scores, not of what
    a model says. Where the model fails for one photo or cannot be understood, the answer stays, and `reader` says so in
    its reason with an agreement of 0.

    Args:
        rows: with candidates that have summaries; rows with errors, and those without candidates, pass unread.
        reader: the model.
        picture_of: a photo's path -> the JPEG or PNG that the model is shown.

    Raises:
        CostStop: if going on could pass the limit of cost; the rows before were yielded.
        MissingRequirement: if the model cannot be asked at all (no key, offline and not cached).
    """
    waiting: deque[tuple[Identification, Future[Reading] | None]] = deque()
    try:
        for row in rows:
            waiting.append((row, _asked(row, reader, picture_of)))
            if len(waiting) > AHEAD:
                yield _answered(*waiting.popleft())
        while waiting:
            yield _answered(*waiting.popleft())
    finally:  # also when the caller stops early
        for _, coming in waiting:
            if coming is not None:
                coming.cancel()


def _asked(row: Identification, reader: Reader, picture_of: Callable[[Path], bytes]) -> Future[Reading] | None:
    if row.status != "ok" or not row.candidates:
        return None

    async def ask() -> Reading:
        picture = await asyncio.to_thread(picture_of, Path(row.image))
        return await reader.read(picture, row.candidates)

    return asyncio.run_coroutine_threadsafe(ask(), background_loop())


def _answered(row: Identification, coming: Future[Reading] | None) -> Identification:
    if coming is None:
        return row
    try:
        reading = coming.result()
    except (SourceError, BadImage) as error:
        return replace(row, reader=Reading(choice=None, agreement=0.0, reason=f"the reader failed: {error}"))
    if reading.agreement == 0:
        return replace(row, reader=reading)
    if reading.choice is None:
        return replace(row, reader=reading, answer=Answer(rank="none", name=""))
    chosen = next(each for each in row.candidates if each.taxon_id == reading.choice)
    answer = Answer(rank="species", name=chosen.scientific_name, common_name=chosen.common_name)
    return replace(row, reader=reading, answer=answer)
