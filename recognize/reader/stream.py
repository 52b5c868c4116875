"""Reading of a stream of photos; the choice of the reader becomes the answer."""

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
from data.records import Answer, Box, Identification, Reading
from recognize.reader.reader import FAILED, Reader

AHEAD: Final = 32  # photos in flight; the model itself limits its concurrent calls

ItemT = TypeVar("ItemT")


def read_over(
    rows: Iterable[Identification],
    reader: Reader,
    picture_of: Callable[[Path, Box | None], bytes],
    texts_of: Callable[[Sequence[str]], Sequence[str | None]] | None = None,
) -> Iterator[Identification]:
    """Yield the rows in order with the reader's choice as the answer, and the reading in `reader`.

    The answer of none of the candidates is `none`. Confidence is null, because a calibration applies to scores. If no
    sample is answered, the answer of the ranking stays and the agreement is 0. Of a photo with several birds the model
    sees the crop to the bird of the row.

    `picture_of` gives the JPEG or PNG bytes of a photo, or of a bird in it; `texts_of` a description of each species,
    by default the summaries of the candidates. Rows with errors or without candidates are passed on unread.

    Raises:
        CostStop: before the cost limit is exceeded.
        MissingRequirement: if the model cannot be called (no key; offline and not cached).
    """

    def ask(row: Identification) -> Coroutine[object, object, Reading] | None:
        if row.status == "error" or not row.candidates:
            return None
        box = row.box if row.n_birds > 1 else None
        texts = None if texts_of is None else texts_of([candidate.taxon_id for candidate in row.candidates])

        async def read_photo() -> Reading:
            picture = await asyncio.to_thread(picture_of, Path(row.shown_image), box)
            return await reader.read(picture, row.candidates, texts)

        return read_photo()

    for row, reading in read_ahead(rows, ask):
        yield row if reading is None else _answered(row, reading)


def read_ahead(
    items: Iterable[ItemT], ask: Callable[[ItemT], Coroutine[object, object, Reading] | None]
) -> Iterator[tuple[ItemT, Reading | None]]:
    """Yield each item in order with its reading, or None if `ask` returns None; later items are read meanwhile.

    The reading of a failed item has no choice, agreement 0 and the reason in `failures`.
    """
    waiting: deque[tuple[ItemT, Future[Reading] | None]] = deque()
    try:
        for item in items:
            work = ask(item)
            future = None if work is None else asyncio.run_coroutine_threadsafe(work, background_loop())
            waiting.append((item, future))
            if len(waiting) > AHEAD:
                yield _finished(*waiting.popleft())
        while waiting:
            yield _finished(*waiting.popleft())
    finally:  # also when the caller stops early
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _finished(item: ItemT, future: Future[Reading] | None) -> tuple[ItemT, Reading | None]:
    if future is None:
        return item, None
    try:
        return item, future.result()
    except (SourceError, BadImage) as error:
        # An unreadable photo, or a model that is called once and has no samples.
        n_asked = 0 if isinstance(error, BadImage) else 1
        return item, Reading(
            choice=None, agreement=0.0, reason=f"{FAILED}: {error}", samples=n_asked, answered=0, failures=(str(error),)
        )


def _answered(row: Identification, reading: Reading) -> Identification:
    if not reading.agreement:
        return replace(row, reader=reading)
    if reading.choice is None:
        return replace(row, status="not_sure", reader=reading, answer=Answer(rank="none", name=""))
    chosen = next(each for each in row.candidates if each.taxon_id == reading.choice)
    answer = Answer(
        rank=chosen.taxon_rank,
        name=chosen.scientific_name,
        common_name=chosen.common_name,
        family=chosen.family,
        order=chosen.order,
    )
    return replace(row, status="identified", reader=reading, answer=answer)
