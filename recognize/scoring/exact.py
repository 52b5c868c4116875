"""Products of photos and rows, and rankings that do not depend on the batch.

A matrix product rounds a score differently in a batch of one and of a thousand, sometimes even for equal rows. Scores
that float32 cannot separate, and the scores of results, are therefore computed again in float64. Scores that are equal
to twelve digits keep the order of their rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray

Scores = NDArray[np.float64]

_AT_ONCE: Final = 128  # rows in float64: 0.8 MB for 768 dimensions, which fits the cache of a core


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of photos and rows of a table or species, `(n,)` each; the photos ascend."""

    photos: IntArray
    items: IntArray

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: IntArray | NDArray[np.bool_]) -> Pairs:
        return Pairs(self.photos[at], self.items[at])

    def starts(self, n_photos: int) -> IntArray:
        """Return the first pair of each photo, then the number of pairs: `(n_photos + 1,)`."""
        return self.photos.searchsorted(np.arange(n_photos + 1))

    def is_new(self) -> NDArray[np.bool_]:
        """Return whether each pair differs from the previous one."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (self.items[1:] != self.items[:-1]) | (self.photos[1:] != self.photos[:-1])
        return new


def dot_pairs(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> Scores:
    """Return the product of photo and row of each pair in float64, `(n,)`."""
    products: Scores = dot_spaces((matrix,), (queries,), pairs)[0]
    return products


def dot_spaces(
    matrices: Sequence[FloatArray], queries: Sequence[FloatArray], pairs: Pairs, columns: Sequence[slice] = ()
) -> Scores:
    """Return `dot_pairs` in several spaces, `(n_spaces, n)`.

    Without BLAS, whose order of summation depends on the position of a row.

    Args:
        matrices: `(n_rows, dim)` for each space, or one matrix with the columns of all spaces.
        queries: `(n_photos, dim)` for each space.
        pairs: photos and rows.
        columns: columns of each space in one matrix for all.
    """
    products = np.empty((len(queries), len(pairs)))
    exact = [query.astype(np.float64) for query in queries]
    spaces = range(len(queries))
    for photo, of_photo in _by_photo(pairs, len(queries[0])):
        for number, matrix in enumerate(matrices):
            rows = matrix[pairs.items[of_photo]].astype(np.float64)
            for space in spaces if columns else (number,):
                part = rows[:, columns[space]] if columns else rows
                np.einsum("ij,j->i", part, exact[space][photo], out=products[space, of_photo])
    return products


def rough_products(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> FloatArray:
    """Return `dot_pairs` to float32 precision."""
    products = np.empty(len(pairs), dtype=np.float32)
    for photo, of_photo in _by_photo(pairs, len(queries)):
        np.einsum("ij,j->i", matrix[pairs.items[of_photo]], queries[photo], out=products[of_photo])
    return products


def _by_photo(pairs: Pairs, n_photos: int) -> Iterator[tuple[int, slice]]:
    """Yield each photo with a part of its pairs, at most `_AT_ONCE`."""
    for photo, (start, end) in enumerate(pairwise(pairs.starts(n_photos).tolist())):
        for first in range(start, end, _AT_ONCE):
            yield photo, slice(first, min(first + _AT_ONCE, end))


_BLOCK: Final = 512  # photos in one product: 50 MB of scores


class Product(NamedTuple):
    """Queries and the matrices to multiply them with."""

    queries: tuple[FloatArray, ...]
    """`(n_photos, dim)` for each encoder."""
    matrices: tuple[FloatArray, ...]
    """`(n_rows, dim)` for each encoder, or one matrix with the columns of all encoders."""


def score_blocks(n_photos: int, products: Sequence[Product]) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Yield blocks of photos and their float32 scores `(n, n_rows)` for each product, the mean over encoders."""
    for first in range(0, n_photos, _BLOCK):
        photos = slice(first, min(first + _BLOCK, n_photos))
        yield photos, [_mean_product(product, photos) for product in products]


def _mean_product(product: Product, photos: slice) -> FloatArray:
    share = np.float32(1 / max(1, len(product.queries)))
    blocks = [queries[photos] * share for queries in product.queries]
    if len(product.matrices) == 1:
        blocks = [np.concatenate(blocks, axis=1)]
    products = (multiply(block, matrix) for block, matrix in zip(blocks, product.matrices, strict=True))
    scores = next(products, np.zeros((photos.stop - photos.start, 0), dtype=np.float32))
    for term in products:
        scores += term
    return scores


def multiply(queries: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the product, `(n_photos, n_rows)`."""
    product: FloatArray = queries @ matrix.T
    return product


def n_threads() -> int:
    """Return the number of cores, or the smaller limit of OpenBLAS in the environment."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return min(cores, int(first))
    return cores


# Closer scores near 1 may be in the wrong order; for scores up to a quarter, a quarter of this. Measured, not proven:
# the largest float32 error was 1e-6 for vectors of encoders, 6.5e-6 for unit rows with few distinct values (OpenBLAS;
# a third of that with ONNX Runtime). Only such rows whose sums cancel exceeded the bound, by 3.5e-6; no encoder gives
# them. The proven bound, dim * 6e-8, would sum most of a pool again.
DOUBT: Final = 1.6e-5
_DIGITS: Final = 12  # of exact scores; smaller differences are rounding, and a tie

Rescore = Callable[[Pairs], Scores]
"""Photos and rows -> exact scores."""


def rounded(scores: Scores) -> Scores:
    """Return exact scores rounded to `_DIGITS`."""
    return np.round(scores, _DIGITS)


def doubts_of(best: NDArray[np.floating]) -> Scores:
    """Return the difference below which scores are in doubt, `(n_photos,)`, from the best score of each photo."""
    # `np.clip` is slow for a single photo.
    doubts: Scores = DOUBT * np.minimum(np.maximum(np.abs(best).astype(np.float64), 0.25), 1.0)
    return doubts


def or_zero(scores: Scores) -> Scores:
    """Return the scores with 0 in place of NaN."""
    return np.where(np.isnan(scores), 0.0, scores)  # ten times as fast as `nan_to_num`


def find_pools(scores: FloatArray, m: int, rescore: Rescore) -> Pairs:
    """Return for each photo the rows of the `m` highest exact scores, in ascending order; the first rows win ties.

    Args:
        scores: `(n_photos, n_rows)`, finite, accurate to `DOUBT` / 2.
        m: rows per photo, at most all.
        rescore: exact scores of pairs, for rows that compete for the last places.
    """
    n_photos, n_rows = scores.shape
    if m >= n_rows or m <= 0:
        size = min(max(m, 0), n_rows)
        return Pairs(np.repeat(np.arange(n_photos), size), np.tile(np.arange(size), n_photos))
    flat = (scores >= (_lower_bounds_of_top(scores, m) - np.float32(DOUBT))[:, None]).ravel().nonzero()[0]
    photos, rows = (np.zeros_like(flat), flat) if n_photos == 1 else np.divmod(flat, n_rows)
    if len(flat) == n_photos * m:  # no photo has fewer
        return Pairs(photos, rows)
    found = scores.ravel()[flat]
    least = _padded(photos, -found, np.bincount(photos, minlength=n_photos))
    least.partition(m - 1, axis=1)
    cuts, doubts = -least[:, m - 1], doubts_of(np.minimum.reduce(least[:, :m], axis=1)).astype(np.float32)
    # Rows far below the m-th are out, rows far above are in; the others are decided by exact score.
    kept = found >= (cuts - doubts)[photos]
    if np.count_nonzero(kept) > n_photos * m:
        n_kept = np.bincount(photos[kept], minlength=n_photos)
        sure = found > (cuts + doubts)[photos]
        n_free = m - np.bincount(photos[sure], minlength=n_photos)
        contested = np.flatnonzero(kept & ~sure & (n_kept > m)[photos])
        kept[contested] = False
        pairs = Pairs(photos[contested], rows[contested])
        order = np.lexsort((pairs.items, -rounded(rescore(pairs)), pairs.photos))
        starts = pairs.starts(n_photos)
        place = np.arange(len(order)) - starts[pairs.photos]
        kept[contested[order[place < n_free[pairs.photos]]]] = True
    return Pairs(photos[kept], rows[kept])


def _lower_bounds_of_top(scores: FloatArray, m: int) -> FloatArray:
    """Return for each photo a close lower bound of its `m`-th highest score.

    It is the `m`-th highest of maxima over groups of scores, because sorting all scores is slow.
    """
    n_photos, n_rows = scores.shape
    fold = max(1, min(32, n_rows // (4 * m)))
    folded = np.maximum.reduce(scores[:, : n_rows // fold * fold].reshape(n_photos, fold, -1), axis=1)
    at = folded.shape[1] - m
    folded.partition(at, axis=1)
    bounds: FloatArray = folded[:, at]
    return bounds


Stages = dict[str, Scores]
"""Stage -> exact scores."""


class Settled(NamedTuple):
    """Ranked pairs."""

    order: IntArray
    """Positions of the pairs by rank, photo by photo."""
    scores: Scores
    """Scores in that order, exact for shown and close pairs."""
    heads: IntArray
    """Ranks of the heads: all pairs, or the best pair of each species."""
    shown: IntArray
    """The first heads of each photo."""
    stages: Stages
    """Scores of the shown heads."""


def settle(
    pairs: Pairs,
    scores: NDArray[np.floating],
    explain: Callable[[IntArray], tuple[Scores, Stages]],
    *,
    n_shown: int,
    doubts: Scores | None = None,
    heads_of: Callable[[IntArray], IntArray] | None = None,
) -> Settled:
    """Return the pairs ranked by exact score, equal ones in input order.

    Args:
        pairs: pairs with ascending photos.
        scores: a score for each, accurate to half of `doubts`.
        explain: positions -> exact scores and scores of the stages; called for shown and close pairs.
        n_shown: shown heads per photo.
        doubts: for each photo, the difference below which scores are in doubt; default: `doubts_of` its best score.
        heads_of: order -> ascending ranks of the heads; default: all.
    """
    photos = pairs.photos
    if not len(photos):
        return Settled(_NO_PLACES, np.empty(0), _NO_PLACES, _NO_PLACES, explain(_NO_PLACES)[1])
    counts = np.bincount(photos)
    starts = counts.cumsum() - counts
    within = _padded(photos, -scores, counts).argsort(axis=1)
    order = (within + starts[:, None]).ravel()
    if len(order) != len(photos):
        order = order[(np.arange(within.shape[1]) < counts[:, None]).ravel()]
    ranked = scores[order].astype(np.float64)
    near = np.zeros(len(order) + 1, dtype=bool)  # to the previous pair
    doubts = doubts_of(ranked[np.minimum(starts, len(order) - 1)]) if doubts is None else doubts
    np.logical_and(ranked[:-1] - ranked[1:] <= doubts[photos[1:]], photos[1:] == photos[:-1], out=near[1:-1])
    is_rescored = near[:-1] | near[1:]
    heads = np.arange(len(order)) if heads_of is None else heads_of(order)
    shown = _first_of_each(photos, heads, n_shown)
    is_rescored[shown] = True  # close pairs swap only among themselves, so this includes all pairs shown in the end
    at = order[is_rescored]
    exact, stages = explain(at)
    exact = rounded(exact)
    group = (~near[:-1]).cumsum()[is_rescored]  # of close scores
    again = np.lexsort((at, -exact, group))
    order[is_rescored], ranked[is_rescored] = at[again], exact[again]
    if heads_of is not None:
        heads = heads_of(order)
        shown = _first_of_each(photos, heads, n_shown)
    of_shown = again[is_rescored.cumsum()[shown] - 1]
    return Settled(order, ranked, heads, shown, {stage: values[of_shown] for stage, values in stages.items()})


_NO_PLACES: Final = np.empty(0, dtype=np.intp)


def _first_of_each(photos: IntArray, places: IntArray, n: int) -> IntArray:
    """Return the first `n` of the places for each photo; places and photos ascend."""
    of_places = photos[places]
    counts = np.bincount(of_places)
    starts = counts.cumsum() - counts
    return places[np.arange(len(places)) - starts[of_places] < n]


def _padded(photos: IntArray, scores: NDArray[np.floating], counts: IntArray) -> NDArray[np.floating]:
    """Return the numbers of each photo as a row, `(n_photos, n)`, padded with infinity."""
    width = int(np.maximum.reduce(counts))
    if len(scores) == len(counts) * width:
        return scores.reshape(len(counts), width)
    padded = np.full((len(counts), width), np.inf, dtype=scores.dtype)
    padded[photos, np.arange(len(photos)) - (counts.cumsum() - counts)[photos]] = scores
    return padded
