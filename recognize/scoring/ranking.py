"""Products of photos and rows, pools, and rankings that do not depend on the batch.

A matrix product rounds a score differently in a batch of one and of a thousand, on some processors at each place of a
batch. Products are exact here, of numbers rounded to 2^-24, so that a photo has the same bits alone and among others.
They differ from products in float64 by less than 1e-6. Equal scores keep the order of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray, exact_cosines
from recognize.scoring.knowledge import Knowledge, Queries

Scores = NDArray[np.float64]
Stages = Mapping[str, NDArray[np.floating]]
"""Stage -> score of each species, NaN if the stage does not apply."""

BLOCK: Final = 64
"""Photos that are ranked together."""
_N_THREADS: Final = 4  # blocks at once: one is sorted while another is multiplied


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of photos and rows of a table or species, `(n,)` each; the photos ascend."""

    photos: IntArray
    items: IntArray

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: IntArray) -> Pairs:
        return Pairs(self.photos[at], self.items[at])

    def starts(self, n_photos: int) -> IntArray:
        """Return the first pair of each photo, then the number of pairs: `(n_photos + 1,)`."""
        return self.photos.searchsorted(np.arange(n_photos + 1))

    def ranked(self, scores: NDArray[np.floating]) -> IntArray:
        """Return the positions of the pairs photo by photo, best first, equal ones in their order."""
        order = np.argsort(-scores, kind="stable")
        # A block has few photos: numbers of 16 bits are sorted by radix, several times as fast as `lexsort`.
        return order[np.argsort(self.photos[order].astype(np.int16), kind="stable")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranked species of a photo, best first, each once."""

    species: IntArray
    """Positions in `KnowledgeStore.taxon_ids`."""
    scores: Scores
    """Final scores, descending."""
    stages: Stages = field(default_factory=dict)
    """Scores of the species by stage: `text`, `visual`, each encoder by name, and further stages of the preset."""
    chunks: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Rows of the ranked chunks, best first, for presets that rank chunks."""


def cosines(vectors: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the products of photos `(n, dim)` and rows `(n_rows, dim)`, `(n, n_rows)` float32."""
    return exact_cosines(vectors, matrix).astype(np.float32)


def pair_cosines(vectors: FloatArray, matrix: FloatArray, pairs: Pairs) -> Scores:
    """Return the products of the photos and rows of pairs, `(n,)`; NaN for row -1.

    Without BLAS, whose order of summation depends on the position of a row.
    """
    found = np.full(len(pairs), np.nan)
    for photo, (start, end) in enumerate(pairwise(pairs.starts(len(vectors)).tolist())):
        rows = pairs.items[start:end]
        has = rows >= 0
        found[start:end][has] = np.einsum("ij,j->i", matrix[rows[has]], vectors[photo])
    return found


def text_cosines(knowledge: Knowledge, queries: Queries) -> list[FloatArray]:
    """Return the cosines of photos and chunks, `(n, n_chunks)` for each encoder."""
    return [cosines(*pair) for pair in zip(queries.text_image, (t.vectors for t in knowledge.chunks), strict=True)]


def mean_of(by_encoder: list[FloatArray]) -> FloatArray:
    """Return the mean over encoders, at least one; of one encoder its own array."""
    if len(by_encoder) == 1:
        return by_encoder[0]
    mean = by_encoder[0] + by_encoder[1]
    for scores in by_encoder[2:]:
        mean += scores
    mean /= np.float32(len(by_encoder))
    return mean


def best_rows(scores: FloatArray, m: int) -> Pairs:
    """Return the `m` best rows of each photo in ascending order; the first rows win ties.

    `scores` are `(n_photos, n_rows)`; `m` is at least 1.
    """
    n_photos, n_rows = scores.shape
    if m >= n_rows:
        return Pairs(np.repeat(np.arange(n_photos), n_rows), np.tile(np.arange(n_rows), n_photos))
    cuts = np.partition(scores, n_rows - m, axis=1)[:, n_rows - m]
    # `nonzero` of two dimensions takes four times as long.
    pairs = Pairs(*np.divmod(np.flatnonzero(scores >= cuts[:, None]), n_rows))
    if len(pairs) > n_photos * m:
        order = pairs.ranked(scores[pairs.photos, pairs.items])
        place = np.arange(len(pairs)) - pairs.starts(n_photos)[pairs.photos]
        pairs = pairs[np.sort(order[place < m])]
    return pairs


def taken(scores: FloatArray, rows: Pairs) -> Scores:
    """Return the scores of pairs, `(n,)`; NaN for row -1."""
    found = np.full(len(rows), np.nan)
    has = rows.items >= 0
    found[has] = scores[rows.photos[has], rows.items[has]]
    return found


def anchored(species: Pairs, knowledge: Knowledge) -> Pairs:
    """Return the pairs with -1 in place of species without anchors."""
    return Pairs(species.photos, np.where(knowledge.anchor_counts[species.items] > 0, species.items, -1))


def or_zero(scores: NDArray[np.floating]) -> Scores:
    """Return the scores with 0 in place of NaN."""
    return np.where(np.isnan(scores), 0.0, scores)  # ten times as fast as `nan_to_num`


def rank_blocks(queries: Queries, rank: Callable[[Queries], list[Ranking]]) -> list[Ranking]:
    """Return the rankings of all photos, of at most `BLOCK` at a time on several threads."""
    blocks = [queries[first : first + BLOCK] for first in range(0, len(queries), BLOCK)]
    if len(blocks) < 2:
        return [ranking for block in blocks for ranking in rank(block)]
    with ThreadPoolExecutor(_N_THREADS) as pool:
        return [ranking for of_block in pool.map(rank, blocks) for ranking in of_block]


def rankings(
    n_photos: int,
    species: Pairs,
    scores: Scores,
    stages: Stages,
    *,
    chunks: IntArray | None = None,
) -> list[Ranking]:
    """Return the ranking of each photo by pairs of photo and species; a species takes its best pair.

    The pairs of a species are neighbours. `scores` and `stages` are those of the pairs, `(n,)`; `chunks` are the rows
    of the pairs for presets that rank chunks.
    """
    order = species.ranked(scores)
    ranked = species[order]
    is_new = np.ones(len(species), dtype=bool)
    is_new[1:] = (species.items[1:] != species.items[:-1]) | (species.photos[1:] != species.photos[:-1])
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    heads = np.sort(np.minimum.reduceat(places, np.flatnonzero(is_new))) if len(order) else order
    first = ranked[heads]
    scores = scores[order[heads]]
    stages = {name: values[order[heads]].astype(np.float32) for name, values in stages.items()}
    chunks = np.empty(0, dtype=np.intp) if chunks is None else chunks[order]
    of_chunks = list(pairwise(ranked.starts(n_photos).tolist()))
    return [
        Ranking(
            species=first.items[start:end],
            scores=scores[start:end],
            stages={name: values[start:end] for name, values in stages.items()},
            chunks=chunks[slice(*of_chunks[photo])],
        )
        for photo, (start, end) in enumerate(pairwise(first.starts(n_photos).tolist()))
    ]
