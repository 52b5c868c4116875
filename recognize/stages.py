"""The two stages that all presets are made of: the text score of chunks and the anchor score of species."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from data.arrays import FloatArray, IntArray
from recognize.exact import Scores, dot_rows, dot_rows_exactly
from recognize.knowledge import Knowledge

AnchorPooling = Literal["mean", "max"]

_BLOCK: Final = 256  # photos in one product: many enough for BLAS, few enough to keep 50 MB of scores
_THREADS: Final = 2  # NumPy lets go of the interpreter lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """The vectors of n photos: for each text-image encoder `(n, dim)`, and `(n, dim)` in the visual space."""

    text_image: tuple[FloatArray, ...]
    visual: FloatArray

    def __len__(self) -> int:
        return len(self.visual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The species found for a photo, best first, each once; species that took no part are absent."""

    species: IntArray
    """Positions in `KnowledgeStore.taxon_ids`."""
    scores: Scores
    """The final score of each, descending."""
    stages: dict[str, Scores] = field(default_factory=dict)
    """Stage -> score of each; NaN where the stage has nothing to go by. `text`, `visual`, and each encoder by name."""
    chunks: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """vr-rag-v1 ranks chunks: their rows, best first."""
    n_without_anchors: int = 0
    """How many species of the pool have no anchors."""


@dataclass(frozen=True, slots=True)
class TextStage:
    """The text score of chunks for one photo: the mean over encoders of the raw cosine."""

    matrices: tuple[FloatArray, ...]
    queries: tuple[FloatArray, ...]
    """One `(dim,)` vector for each encoder."""

    def by_encoder(self, rows: IntArray) -> Scores:
        """Return the cosines of some rows, `(n_encoders, n)`."""
        return np.stack([dot_rows(m[rows], q) for m, q in zip(self.matrices, self.queries, strict=True)])

    def exactly(self, rows: IntArray) -> Scores:
        """Return the mean over encoders for some rows, in float64."""
        pairs = zip(self.matrices, self.queries, strict=True)
        mean: Scores = np.mean([dot_rows_exactly(m[rows], q) for m, q in pairs], axis=0)
        return mean


@dataclass(frozen=True, slots=True)
class AnchorStage:
    """The anchor score of species for one photo: the mean or the maximum of its cosines to a species' anchors."""

    matrix: FloatArray
    starts: IntArray
    """Species i has the rows `starts[i]:starts[i + 1]`."""
    query: FloatArray
    pooling: AnchorPooling
    limit: int | None = None
    """Only the first so many anchors of a species count."""

    def counts(self, species: IntArray) -> IntArray:
        """Return how many anchors of each species count."""
        counts = self.starts[species + 1] - self.starts[species]
        return counts if self.limit is None else np.minimum(counts, self.limit)

    def pooled(self, species: IntArray) -> Scores:
        """Return the score of each species, NaN without anchors."""
        return self._pooled(species, dot_rows)

    def exactly(self, species: IntArray) -> Scores:
        """Return the same in float64."""
        return self._pooled(species, dot_rows_exactly)

    def _pooled(self, species: IntArray, dots: Callable[[FloatArray, FloatArray], Scores]) -> Scores:
        counts = self.counts(species)
        pooled = np.full(len(species), np.nan)
        has = counts > 0
        if not has.any():
            return pooled
        ends = np.cumsum(counts[has])
        firsts = ends - counts[has]
        rows = np.repeat(self.starts[species[has]] - firsts, counts[has]) + np.arange(ends[-1])
        cosines = dots(self.matrix[rows], self.query)
        if self.pooling == "max":
            pooled[has] = np.maximum.reduceat(cosines, firsts)
        else:
            pooled[has] = np.add.reduceat(cosines, firsts) / counts[has]
        return pooled


def check_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    """Raise `ValueError` unless `given` is one of `choices`."""
    if given not in choices:
        raise ValueError(f"expected {name} to be one of {', '.join(choices)}, got {given!r}")


Product = tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]
"""Queries `(n_photos, dim)` and matrices `(n_rows, dim)`, one of each for every encoder."""


def rank_photos(
    n_photos: int, products: Sequence[Product], rank: Callable[[int, list[FloatArray]], Ranking]
) -> list[Ranking]:
    """Return `rank(photo, scores)` for each photo; `scores` holds a `(n_rows,)` array for each product.

    A score is the mean over encoders of the products with the photo's vectors, good to 1e-6. Photos go through in
    blocks, so that memory does not grow with their number.
    """
    rankings: list[Ranking] = []
    buffers = [_Buffer(product) for product in products]
    for first in range(0, n_photos, _BLOCK):
        n = min(_BLOCK, n_photos - first)
        blocks = [buffer.fill(first, n) for buffer in buffers]

        def rank_one(at: int, first: int = first, blocks: list[FloatArray] = blocks) -> Ranking:
            return rank(first + at, [block[at] for block in blocks])

        if n < _THREADS * 2:
            rankings += map(rank_one, range(n))
        else:
            with ThreadPoolExecutor(_THREADS) as pool:
                rankings += pool.map(rank_one, range(n))
    return rankings


class _Buffer:
    """The scores of one product for a block of photos; the memory is used again for the next block."""

    def __init__(self, product: Product) -> None:
        self.queries, self.matrices = product
        n_rows = len(self.matrices[0]) if self.matrices else 0
        n_photos = min(_BLOCK, len(self.queries[0])) if self.queries else _BLOCK
        self.scores = np.zeros((n_photos, n_rows), dtype=np.float32)
        self.next = np.empty_like(self.scores) if len(self.matrices) > 1 else self.scores

    def fill(self, first: int, n: int) -> FloatArray:
        """Return the scores `(n, n_rows)` of the photos from `first` on."""
        share = np.float32(1 / max(1, len(self.matrices)))
        scores, term = self.scores[:n], self.next[:n]
        for number, (queries, matrix) in enumerate(zip(self.queries, self.matrices, strict=True)):
            block = queries[first : first + n] * share
            np.matmul(block, matrix.T, out=term if number else scores)
            if number:
                scores += term
        return scores


def text_product(knowledge: Knowledge, queries: Queries) -> Product:
    """Return what scores all chunks."""
    return queries.text_image, tuple(table.vectors for table in knowledge.chunks)


def anchor_product(knowledge: Knowledge, queries: Queries) -> Product:
    """Return what scores all anchors."""
    return (queries.visual,), (knowledge.anchors.vectors,)


def text_stage(knowledge: Knowledge, queries: Queries, photo: int) -> TextStage:
    """Return the text stage of one photo."""
    matrices = tuple(table.vectors for table in knowledge.chunks)
    return TextStage(matrices, tuple(query[photo] for query in queries.text_image))


def anchor_stage(
    knowledge: Knowledge, queries: Queries, photo: int, pooling: AnchorPooling, limit: int | None = None
) -> AnchorStage:
    """Return the anchor stage of one photo."""
    return AnchorStage(knowledge.anchors.vectors, knowledge.anchor_starts, queries.visual[photo], pooling, limit)


def named_encoders(knowledge: Knowledge, by_encoder: Scores) -> dict[str, Scores]:
    """Return the scores of each encoder under its name."""
    return dict(zip(knowledge.names, by_encoder, strict=True))
