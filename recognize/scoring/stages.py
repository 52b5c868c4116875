"""Text scores of chunks and anchor scores of species, the stages of all presets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from recognize.scoring.exact import (
    Pairs,
    Product,
    Scores,
    Settled,
    dot_pairs,
    dot_spaces,
    n_threads,
    rough_products,
    score_blocks,
)
from recognize.scoring.knowledge import Knowledge, Queries

AnchorPooling = Literal["mean", "max", "centroid"]
"""Mean or maximum cosine of a species' anchors, or the cosine to their mean direction."""
N_SHOWN: Final = 10  # species per photo with scores of every stage

STRETCH: Final = 2.0
"""Largest error of the cosine to a centroid from a product, as a multiple of a cosine's error."""
_RANKED: Final = 128  # photos ranked at once; with fewer, threads wait for each other's Python
_SHORTEST: Final = 1e-9  # length of a mean anchor that is zero but for rounding: opposite anchors


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranked species of a photo, best first, each once."""

    species: IntArray
    """Positions in `KnowledgeStore.taxon_ids`."""
    scores: Scores
    """Final scores, descending; exact for the first `n_shown`, to float32 precision for the others."""
    stages: dict[str, Scores] = field(default_factory=dict)
    """Stage -> exact scores of the first `n_shown` species, NaN if the stage does not apply: `text`, `visual`, each
    encoder by name, and further stages of the preset."""
    chunks: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Rows of the ranked chunks, best first, for presets that rank chunks."""
    n_without_anchors: int = 0
    """Number of species in the pool without anchors."""


@dataclass(frozen=True, slots=True)
class TextStage:
    """Exact text scores of chunks: the mean over encoders of the raw cosine."""

    matrices: tuple[FloatArray, ...]
    """`(n_rows, dim)` for each encoder, or one matrix with the columns of all encoders."""
    queries: tuple[FloatArray, ...]
    """`(n_photos, dim)` for each encoder."""
    columns: tuple[slice, ...] = ()
    """Columns of each encoder in one matrix for all."""

    @classmethod
    def of(cls, knowledge: Knowledge, queries: Queries) -> TextStage:
        """Return the text stage of some photos."""
        return cls(tuple(table.vectors for table in knowledge.chunks), queries.text_image)

    def by_encoder(self, rows: Pairs) -> Scores:
        """Return the cosines of rows, `(n_encoders, n)`."""
        return dot_spaces(self.matrices, self.queries, rows, self.columns)

    def mean(self, rows: Pairs) -> Scores:
        """Return the mean cosine of rows over encoders."""
        return mean_of(self.by_encoder(rows))


@dataclass(frozen=True, slots=True)
class AnchorStage:
    """Anchor scores of species: the cosines of a photo to a species' anchors, pooled."""

    knowledge: Knowledge
    queries: FloatArray
    """`(n_photos, dim)`."""
    pooling: AnchorPooling
    limit: int | None = None
    """Maximum number of anchors per species."""

    def counts(self, species: IntArray) -> IntArray:
        """Return the number of anchors of each species, at most `limit`."""
        counts = self.knowledge.anchor_counts[species]
        return counts if self.limit is None else np.minimum(counts, self.limit)

    def rough_mean(self, species: Pairs) -> Scores:
        """Return the mean cosine of each species to float32 precision, NaN without anchors."""
        # It is the product with the mean: fewer rows to read.
        means = self.knowledge.mean_anchors(self.limit)
        scores = rough_products(means, self.queries, species).astype(np.float64)
        scores[self.counts(species.items) == 0] = np.nan
        return scores

    def of_product(self, species: Pairs, product: FloatArray) -> Scores:
        """Return the score of each species from the products with all anchors, NaN without anchors."""
        scores = self.pooled(species, lambda rows: product[rows.photos, rows.items])
        if self.pooling == "centroid":
            stretched = np.flatnonzero(self._lengths(species.items) * STRETCH < 1)
            if len(stretched):
                scores[stretched] = self.exactly(species[stretched])
        return scores

    def exactly(self, species: Pairs) -> Scores:
        """Return the score of each species, NaN without anchors."""
        return self.pooled(species, self.cosines)

    def cosines(self, rows: Pairs) -> Scores:
        """Return the exact cosines of anchors."""
        return dot_pairs(self.knowledge.anchors.vectors, self.queries, rows)

    def pooled(self, species: Pairs, cosines_of: Callable[[Pairs], NDArray[np.floating]]) -> Scores:
        """Return the score of each species from the cosines of anchor rows, NaN without anchors."""
        counts = self.counts(species.items)
        n_with = np.count_nonzero(counts)
        if n_with < len(counts):
            pooled = np.full(len(counts), np.nan)
            if n_with:
                has = counts > 0
                pooled[has] = self._pooled(species[has], counts[has], cosines_of)
            return pooled
        return self._pooled(species, counts, cosines_of)

    def _pooled(self, species: Pairs, counts: IntArray, cosines_of: Callable[[Pairs], NDArray[np.floating]]) -> Scores:
        """Return `pooled` for species with anchors."""
        rows, firsts = rows_of(self.knowledge.anchor_starts, species, counts)
        cosines = cosines_of(rows)
        if self.pooling == "max":
            return np.maximum.reduceat(cosines, firsts).astype(np.float64, copy=False)
        pooled: Scores = np.add.reduceat(cosines, firsts) / counts
        return pooled / self._lengths(species.items) if self.pooling == "centroid" else pooled

    def _lengths(self, species: IntArray) -> Scores:
        """Return the lengths of the mean anchors, 1 for zero vectors."""
        lengths = self.knowledge.anchor_lengths[species]
        return np.where(lengths > _SHORTEST, lengths, 1.0)


def rows_of(starts: IntArray, species: Pairs, counts: IntArray) -> tuple[Pairs, IntArray]:
    """Return the first `counts` rows of each species in a table, and the position of each species' first row.

    Args:
        starts: first row of each species in the table.
        species: each with at least one row.
        counts: number of rows of each.
    """
    firsts = counts.cumsum() - counts
    rows = (starts[species.items] - firsts).repeat(counts)
    rows += np.arange(len(rows))
    return Pairs(species.photos.repeat(counts), rows), firsts


def mean_of(by_encoder: Scores) -> Scores:
    """Return the mean over encoders of `(n_encoders, n)`."""
    mean: Scores = np.add.reduce(by_encoder) / len(by_encoder)
    return mean


def rank_photos(
    n_photos: int, products: list[Product], rank: Callable[[slice, list[FloatArray]], list[Ranking]]
) -> list[Ranking]:
    """Return `rank(photos, scores)` for all photos, with the scores of `score_blocks` for each product.

    The scores are accurate to `DOUBT` / 2. Many photos are ranked on several threads.
    """
    rankings: list[Ranking] = []
    if n_photos <= _RANKED:
        for photos, blocks in score_blocks(n_photos, products):
            rankings += rank(photos, blocks)
        return rankings

    with ThreadPoolExecutor(n_threads()) as pool:
        for photos, blocks in score_blocks(n_photos, products):

            def rank_part(first: int, photos: slice = photos, blocks: list[FloatArray] = blocks) -> list[Ranking]:
                part = slice(first, min(first + _RANKED, photos.stop))
                at = slice(part.start - photos.start, part.stop - photos.start)
                return rank(part, [block[at] for block in blocks])

            for ranked in pool.map(rank_part, range(photos.start, photos.stop, _RANKED)):
                rankings += ranked
    return rankings


def text_product(knowledge: Knowledge, queries: Queries) -> Product:
    """Return the product that scores all chunks."""
    return Product(queries.text_image, tuple(table.vectors for table in knowledge.chunks))


def anchor_product(knowledge: Knowledge, queries: Queries) -> Product:
    """Return the product that scores all anchors."""
    return Product((queries.visual,), (knowledge.anchors.vectors,))


def named_encoders(knowledge: Knowledge, by_encoder: Scores) -> dict[str, Scores]:
    """Return name of the encoder -> scores."""
    return dict(zip(knowledge.names, by_encoder, strict=True))


def rankings(
    settled: Settled,
    species: Pairs,
    *,
    n_photos: int,
    n_shown: int,
    chunks: Pairs | None = None,
    n_without: IntArray | None = None,
) -> list[Ranking]:
    """Return the ranking of each photo.

    The heads of `settled` are the `species`, photo by photo, best first; `n_without` counts those in each pool without
    anchors.
    """
    scores = settled.scores[settled.heads]
    rows = Pairs(_NONE, _NONE) if chunks is None else chunks
    of_chunks = list(pairwise(rows.starts(n_photos).tolist()))
    without = [0] * n_photos if n_without is None else n_without.tolist()
    found, first_shown = [], 0
    for photo, (start, end) in enumerate(pairwise(species.starts(n_photos).tolist())):
        shown = slice(first_shown, first_shown + min(end - start, n_shown))
        first_shown = shown.stop
        found.append(
            Ranking(
                species=species.items[start:end],
                scores=scores[start:end],
                stages={stage: values[shown] for stage, values in settled.stages.items()},
                chunks=rows.items[slice(*of_chunks[photo])],
                n_without_anchors=without[photo],
            )
        )
    return found


_NONE: Final = np.empty(0, dtype=np.intp)
