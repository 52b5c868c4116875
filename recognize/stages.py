"""The two stages that all presets are made of: the text score of chunks and the anchor score of species."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from recognize.exact import Scores, dot_rows
from recognize.knowledge import Knowledge

AnchorPooling = Literal["mean", "max", "centre"]
"""A species' score: the mean or the best of its anchors' cosines, or the cosine to its anchors' mean direction."""
N_SHOWN: Final = 10  # species of a photo whose score is given for every stage

_BLOCK: Final = 256  # photos in one product: many enough for BLAS, few enough to keep 50 MB of scores
_SHORTEST: Final = 1e-9  # a mean anchor shorter than this is rounding: opposite anchors
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
    """The final score of each, descending; exact for those shown, to float32 precision for the others."""
    stages: dict[str, Scores] = field(default_factory=dict)
    """Stage -> exact scores of the first `n_shown` species; NaN where the stage has nothing to go by. The stages are
    `text`, `visual`, each encoder by name, and what else the preset's docstring names."""
    chunks: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """vr-rag-v1 and text-only rank chunks: their rows, best first."""
    n_without_anchors: int = 0
    """How many species of the pool have no anchors."""


@dataclass(frozen=True, slots=True)
class TextStage:
    """The text score of chunks for one photo: the mean over encoders of the raw cosine, exactly."""

    matrices: tuple[FloatArray, ...]
    queries: tuple[FloatArray, ...]
    """One `(dim,)` vector for each encoder."""

    def by_encoder(self, rows: IntArray) -> Scores:
        """Return the cosines of some rows, `(n_encoders, n)`."""
        return np.stack([dot_rows(m[rows], q) for m, q in zip(self.matrices, self.queries, strict=True)])

    def mean(self, rows: IntArray) -> Scores:
        """Return the mean over encoders for some rows."""
        mean: Scores = self.by_encoder(rows).mean(axis=0)
        return mean


@dataclass(frozen=True, slots=True)
class AnchorStage:
    """The anchor score of species for one photo, pooled over its cosines to a species' anchors."""

    knowledge: Knowledge
    query: FloatArray
    pooling: AnchorPooling
    limit: int | None = None
    """Only the first so many anchors of a species count."""

    def counts(self, species: IntArray) -> IntArray:
        """Return how many anchors of each species count."""
        counts = self.knowledge.anchor_starts[species + 1] - self.knowledge.anchor_starts[species]
        return counts if self.limit is None else np.minimum(counts, self.limit)

    def roughly(self, species: IntArray) -> Scores:
        """Return the score of each species to float32 precision, NaN without anchors."""
        if self.pooling == "max":
            return self.pooled(species, lambda rows: self.knowledge.anchors.vectors[rows] @ self.query)
        # The mean of the cosines is the cosine to the mean, which is a third of the reading.
        scores = (self.knowledge.mean_anchors(self.limit)[species] @ self.query).astype(np.float64)
        scores[self.counts(species) == 0] = np.nan
        return scores if self.pooling == "mean" else scores / self._lengths(species)

    def exactly(self, species: IntArray) -> Scores:
        """Return the score of each species, NaN without anchors."""
        return self.pooled(species, lambda rows: dot_rows(self.knowledge.anchors.vectors[rows], self.query))

    def pooled(self, species: IntArray, cosines_of: Callable[[IntArray], NDArray[np.floating]]) -> Scores:
        """Return the score of each species from the cosines of anchor rows, NaN without anchors."""
        counts = self.counts(species)
        pooled = np.full(len(species), np.nan)
        has = counts > 0
        if not has.any():
            return pooled
        ends = np.cumsum(counts[has])
        firsts = ends - counts[has]
        rows = np.repeat(self.knowledge.anchor_starts[species[has]] - firsts, counts[has]) + np.arange(ends[-1])
        cosines = cosines_of(rows)
        if self.pooling == "max":
            pooled[has] = np.maximum.reduceat(cosines, firsts)
        else:
            pooled[has] = np.add.reduceat(cosines, firsts) / counts[has]
            if self.pooling == "centre":
                pooled[has] /= self._lengths(species[has])
        return pooled

    def _lengths(self, species: IntArray) -> Scores:
        """Return the lengths of the mean anchors, 1 for species without."""
        lengths = self.knowledge.anchor_lengths[species]
        return np.where(lengths > _SHORTEST, lengths, 1.0)


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
    return AnchorStage(knowledge, queries.visual[photo], pooling, limit)


def named_encoders(knowledge: Knowledge, by_encoder: Scores) -> dict[str, Scores]:
    """Return the scores of each encoder under its name."""
    return dict(zip(knowledge.names, by_encoder, strict=True))
