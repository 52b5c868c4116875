"""Identifications read over by a vision model: the answer becomes what the model chose among the candidates."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from data.errors import BadImage, SourceError
from data.event_loop import background_loop
from data.records import Answer, Identification, Reading
from recognize.reader.reader import FAILED, Reader

AHEAD: Final = 32  # photos whose replies are awaited at a time; how many calls are in flight is the model's own matter

ItemT = TypeVar("ItemT")


def read_over(
    rows: Iterable[Identification],
    reader: Reader,
    picture_of: Callable[[Path], bytes],
    texts_of: Callable[[Sequence[str]], Sequence[str | None]] | None = None,
) -> Iterator[Identification]:
    """Yield the rows in their order, each with the reader's choice as its answer, and the choice itself in `reader`.

    A choice of none of the candidates is the answer `none`. Confidence is null: a calibration is of scores, not of what
    a model says. Where the model fails in some passes, the others decide, and `failures` says why. Where no pass
    answers, since it fails or cannot be understood, the answer stays, and `reader` says so in its reason with an
    agreement of 0.

    Args:
        rows: with candidates; rows with errors, and those without candidates, pass unread.
        reader: the model.
        picture_of: a photo's path -> the JPEG or PNG that the model is shown.
        texts_of: taxon ids -> what the model is told of each; by default the candidates' summaries.

    Raises:
        CostStop: if going on could pass the limit of cost; the rows before were yielded.
        MissingRequirement: if the model cannot be asked at all (no key, offline and not cached).
    """

    def ask(row: Identification) -> Coroutine[object, object, Reading] | None:
        if row.status != "ok" or not row.candidates:
            return None
        texts = None if texts_of is None else texts_of([candidate.taxon_id for candidate in row.candidates])

        async def asked() -> Reading:
            picture = await asyncio.to_thread(picture_of, Path(row.image))
            return await reader.read(picture, row.candidates, texts)

        return asked()

    for row, reading in read_ahead(rows, ask):
        yield row if reading is None else _answered(row, reading)


def read_ahead(
    items: Iterable[ItemT], ask: Callable[[ItemT], Coroutine[object, object, Reading] | None]
) -> Iterator[tuple[ItemT, Reading | None]]:
    """Yield each item with its reading, in order, while the next ones are being read; None where nothing was asked.

    What fails for one item is a reading without a choice and with an agreement of 0, which says why in `failures`.

    Raises:
        CostStop, MissingRequirement: as the model raises them; the items before were yielded.
    """
    waiting: deque[tuple[ItemT, Future[Reading] | None]] = deque()
    try:
        for item in items:
            work = ask(item)
            coming = None if work is None else asyncio.run_coroutine_threadsafe(work, background_loop())
            waiting.append((item, coming))
            if len(waiting) > AHEAD:
                yield _come(*waiting.popleft())
        while waiting:
            yield _come(*waiting.popleft())
    finally:  # also when the caller stops early
        for _, coming in waiting:
            if coming is not None:
                coming.cancel()


def _come(item: ItemT, coming: Future[Reading] | None) -> tuple[ItemT, Reading | None]:
    if coming is None:
        return item, None
    try:
        return item, coming.result()
    except (SourceError, BadImage) as error:
        # A photo that cannot be shown, or a model that is asked once and has no passes of its own.
        n_asked = 0 if isinstance(error, BadImage) else 1
        return item, Reading(
            choice=None, agreement=0.0, reason=f"{FAILED}: {error}", passes=n_asked, answered=0, failures=(str(error),)
        )


def _answered(row: Identification, reading: Reading) -> Identification:
    if not reading.agreement:
        return replace(row, reader=reading)
    if reading.choice is None:
        return replace(row, reader=reading, answer=Answer(rank="none", name=""))
    chosen = next(each for each in row.candidates if each.taxon_id == reading.choice)
    answer = Answer(rank="species", name=chosen.scientific_name, common_name=chosen.common_name)
    return replace(row, reader=reading, answer=answer)
