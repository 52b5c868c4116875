"""Photos of a run that were encoded before it, to estimate the share of unknown species."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from data.arrays import FloatArray
from data.contracts import Encoders
from data.engines.contract import LOCAL, Engine, map_shards
from recognize.photo_task import Batch, EncodePhotos, without_pixels
from recognize.photos import Decoded, ImageSource
from recognize.scoring.stages import Queries

Row = tuple[Decoded, tuple[FloatArray, ...]]
"""A photo and its vector in each space, `(dim,)`; no vectors of an unreadable photo."""


class KeptPhotos:
    """Encodes photos in batches; some are encoded ahead, each used once."""

    def __init__(self, encoders: Encoders, *, batch_size: int, engine: Engine = LOCAL) -> None:
        """Start without photos."""
        self._encoders, self._batch_size, self._engine = encoders, batch_size, engine
        self._kept: dict[str | int, tuple[ImageSource, list[Row]]] = {}
        self._like: Queries | None = None

    def encode_ahead(self, images: Sequence[ImageSource]) -> Iterator[tuple[list[Decoded], Queries]]:
        """Yield photos in batches with their vectors, and keep these for `encode`, without pixels."""
        self._kept.clear()
        sources = iter(images)
        for batch, queries, _ in self._encode(images):
            self._like = queries
            for rows in _by_photo(batch, queries):
                source = next(sources)
                self._kept[_key(source)] = source, [(without_pixels(decoded), vectors) for decoded, vectors in rows]
            yield batch, queries

    def encode(
        self, images: Iterable[ImageSource], *, one_bird: bool = False
    ) -> Iterator[tuple[list[Decoded], Queries, float]]:
        """Yield batches as `encode_in_batches` does, with the photos that were encoded ahead in their places."""
        if not self._kept:
            yield from self._encode(images, one_bird=one_bird)
            return
        order: deque[list[Row] | None] = deque()  # None: not encoded ahead

        def others() -> Iterator[ImageSource]:
            for image in images:
                kept = self._kept.pop(_key(image), None)
                order.append(kept and kept[1])
                if kept is None:
                    yield image

        for batch, queries, seconds in self._encode(others()):
            found: list[Row] = []
            for rows in _by_photo(batch, queries):
                while (kept := order.popleft()) is not None:
                    found += kept
                found += rows
            yield *_joined(found, queries), seconds
        rest = [row for kept in order for row in kept or ()]
        if rest and self._like is not None:
            yield *_joined(rest, self._like), 0.0

    def _encode(self, images: Iterable[ImageSource], *, one_bird: bool = False) -> Iterator[Batch]:
        task = EncodePhotos(encoders=self._encoders, batch_size=self._batch_size, one_bird=one_bird)
        return map_shards(task, images, self._engine)


def _key(image: ImageSource) -> str | int:
    return str(image) if isinstance(image, str | Path) else id(image)


def _by_photo(batch: list[Decoded], queries: Queries) -> Iterator[list[Row]]:
    """Yield the rows of each photo of a batch: one for each of its birds."""
    at, rows = 0, list[Row]()
    for decoded in batch:
        if rows and decoded.bird == 1:
            yield rows
            rows = []
        is_readable = decoded.photo is not None
        vectors = tuple(space[at] for space in (*queries.text_image, queries.visual)) if is_readable else ()
        rows.append((decoded, vectors))
        at += is_readable
    if rows:
        yield rows


def _joined(rows: list[Row], like: Queries) -> tuple[list[Decoded], Queries]:
    """Return rows as a batch; `like` gives the spaces where all photos are unreadable."""
    vectors = [vectors for _, vectors in rows if vectors]
    if not vectors:
        return [decoded for decoded, _ in rows], like[slice(0, 0)]
    *text_image, visual = map(np.array, zip(*vectors, strict=True))
    return [decoded for decoded, _ in rows], Queries(text_image=tuple(text_image), visual=visual)
