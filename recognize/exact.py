"""Rankings that do not depend on the make-up of a batch: a fast pass, and exact sums wherever it leaves a doubt.

A matrix product rounds a score differently in a batch of one and of a thousand, sometimes even for equal rows. That
must not decide between two species, least of all between two with the same text. So scores that float32 cannot tell
apart are summed again in float64, and so are the scores that are shown. Equal scores, to twelve digits, keep the order
of their rows.

Many photos are ranked at once, as flat arrays of pairs: a call of NumPy costs more than what it does for one photo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray

Scores = NDArray[np.float64]

# Two scores closer than this may be in the wrong order. A product of unit vectors in float32 was off by 9e-7 at most
# (768 roundings of 6e-8, of either sign, where all partial sums are near 1), by 1e-7 where they are not.
DOUBT: Final = 4e-6
_DIGITS: Final = 12  # of exact scores; what differs beyond is rounding of float64, and a tie
_AT_ONCE: Final = 128  # rows in float64: 0.8 MB of 768 numbers, which the cache of a core can hold
_FEW: Final = 8  # rows a photo
_SMALL: Final = 16  # rows: memory for them is at hand, and need not be asked of the system


@dataclass(frozen=True, slots=True)
class Pairs:
    """Photos paired with rows of a table or with species, `(n,)` each; the photos ascend."""

    photos: IntArray
    items: IntArray

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: IntArray | NDArray[np.bool_]) -> Pairs:
        return Pairs(self.photos[at], self.items[at])

    def starts(self, n_photos: int) -> IntArray:
        """Return where each photo's pairs start, and where the last one's end: `(n_photos + 1,)`."""
        return np.searchsorted(self.photos, np.arange(n_photos + 1))

    def is_new(self) -> NDArray[np.bool_]:
        """Return which pairs differ from the one before: where items ascend within a photo, the first of each."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (self.items[1:] != self.items[:-1]) | (self.photos[1:] != self.photos[:-1])
        return new


Rescore = Callable[[Pairs], Scores]
"""Photos and rows -> exact scores."""


def dot_rows(rows: FloatArray, query: FloatArray) -> Scores:
    """Return the products of each row with the query in float64: to fifteen digits the same wherever the row stands."""
    products: Scores = rows.astype(np.float64) @ query.astype(np.float64)
    return products


def dot_pairs(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> Scores:
    """Return the product of each photo's query with the row that it is paired with, in float64.

    Not by BLAS, which may add up a row in another order where it stands elsewhere.
    """
    products = np.empty(len(pairs))
    exact_queries = queries.astype(np.float64)
    if len(pairs) < _FEW * len(queries):  # a call of NumPy for each photo would cost more than to copy its query
        for first in range(0, len(pairs), _SMALL):
            part = slice(first, first + _SMALL)
            rows = matrix[pairs.items[part]].astype(np.float64)
            np.einsum("ij,ij->i", rows, exact_queries[pairs.photos[part]], out=products[part])
        return products
    buffer = np.empty((min(_AT_ONCE, len(pairs)), matrix.shape[1]))
    for photos, part, rough in _gathered(matrix, pairs, len(queries)):
        exact = buffer[: part.stop - part.start].reshape(rough.shape)
        exact[:] = rough
        np.einsum("pij,pj->pi", exact, exact_queries[photos], out=products[part].reshape(rough.shape[:2]))
    return products


def rough_products(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> FloatArray:
    """Return the same to float32 precision."""
    products = np.empty(len(pairs), dtype=np.float32)
    for photos, part, rows in _gathered(matrix, pairs, len(queries)):
        np.matmul(rows, queries[photos, :, None], out=products[part].reshape(*rows.shape[:2], 1))
    return products


def _gathered(matrix: FloatArray, pairs: Pairs, n_photos: int) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Yield some photos, which pairs are their own, and the rows of the matrix, `(n_photos, n, dim)`, for a moment.

    All use one piece of memory: to ask the system for new memory takes longer than to fill it.
    """
    buffer = np.empty((min(_AT_ONCE, len(pairs)), matrix.shape[1]), dtype=np.float32)
    starts = pairs.starts(n_photos).tolist()
    size = len(pairs) // max(1, n_photos)
    # Where all photos have as many rows, several go together.
    step = _AT_ONCE // size if 0 < size <= _AT_ONCE and starts == list(range(0, len(pairs) + 1, size)) else 1
    for photo in range(0, n_photos, step):
        photos = slice(photo, min(photo + step, n_photos))
        start, end = starts[photos.start], starts[photos.stop]
        for first in range(start, end, _AT_ONCE):
            part = slice(first, min(first + _AT_ONCE, end))
            rows = buffer[: part.stop - first]
            matrix.take(pairs.items[part], axis=0, out=rows, mode="clip")  # without a mode NumPy copies twice
            yield photos, part, rows.reshape(photos.stop - photo, -1, matrix.shape[1])


def rounded(scores: Scores) -> Scores:
    """Return exact scores to the digits that count."""
    return np.round(scores, _DIGITS)


def or_zero(scores: Scores) -> Scores:
    """Return the scores with 0 for what a stage says nothing of."""
    return np.where(np.isnan(scores), 0.0, scores)  # `nan_to_num` looks for infinities too, and takes ten times as long


def find_pools(scores: FloatArray, m: int, rescore: Rescore) -> Pairs:
    """Return for each photo the rows of the `m` highest scores by exact score, in ascending order.

    Where equal scores compete for the last places the first rows win.

    Args:
        scores: `(n_photos, n_rows)`, good to `DOUBT` / 2.
        m: how many, of each photo; all rows where there are no more.
        rescore: gives the exact scores of some rows; asked only for those that compete for the last places.
    """
    n_photos, n_rows = scores.shape
    if m >= n_rows or m <= 0:
        size = min(max(m, 0), n_rows)
        return Pairs(np.repeat(np.arange(n_photos), size), np.tile(np.arange(size), n_photos))
    flat = np.flatnonzero(scores >= _lower_bounds_of_top(scores, m)[:, None] - np.float32(DOUBT))
    photos, rows = np.divmod(flat, n_rows)
    found = scores.ravel()[flat]
    counts = np.bincount(photos, minlength=n_photos)
    if (counts == m).all():
        return Pairs(photos, rows)
    padded = _padded(photos, found, counts)
    cuts = np.partition(padded, padded.shape[1] - m, axis=1)[:, padded.shape[1] - m][photos]
    # Whatever is so much better than the m-th is among the first m by exact score too, whatever so much worse is not.
    sure = found > cuts + np.float32(DOUBT)
    open_ = ~sure & (found >= cuts - np.float32(DOUBT))
    n_free = m - np.bincount(photos[sure], minlength=n_photos)
    contested = np.flatnonzero(open_ & (np.bincount(photos[open_], minlength=n_photos) > n_free)[photos])
    kept = sure | open_
    if len(contested):
        kept[contested] = False
        pairs = Pairs(photos[contested], rows[contested])
        order = np.lexsort((pairs.items, -rounded(rescore(pairs)), pairs.photos))
        starts = pairs.starts(n_photos)
        place = np.arange(len(order)) - starts[pairs.photos]
        kept[contested[order[place < n_free[pairs.photos]]]] = True
    return Pairs(photos[kept], rows[kept])


def _lower_bounds_of_top(scores: FloatArray, m: int) -> FloatArray:
    """Return for each photo a value not above its `m`-th highest score, and seldom much below it.

    Sorting is what costs, so the scores are folded to maxima first: of the `m` best of these, each is a score of its
    own.
    """
    n_photos, n_rows = scores.shape
    fold = max(1, min(16, n_rows // (8 * m)))
    folded = scores[:, : n_rows // fold * fold].reshape(n_photos, fold, -1).max(axis=1)
    at = folded.shape[1] - m
    return np.partition(folded, at, axis=1)[:, at]


def settle(
    pairs: Pairs, scores: NDArray[np.floating], rescore: Callable[[IntArray], Scores], *, doubts: Scores | None = None
) -> tuple[IntArray, Scores]:
    """Return where the pairs stand that rank first, second, ..., photo by photo, and their scores in that order.

    They rank by exact score, equal ones in input order.

    Args:
        pairs: their photos ascend; their items do not matter.
        scores: one for each, good to half of what is in doubt.
        rescore: gives the exact scores of the pairs at some positions; asked only for those that others come too close
            to.
        doubts: for each photo how close that is, if not `DOUBT`.
    """
    photos = pairs.photos
    if not len(photos):
        return np.empty(0, dtype=np.intp), np.empty(0)
    counts = np.bincount(photos)
    starts = np.cumsum(counts) - counts
    within = np.argsort(-_padded(photos, scores, counts), axis=1)
    order = (within + starts[:, None])[np.arange(within.shape[1]) < counts[:, None]]
    ranked = scores[order].astype(np.float64)
    near = np.zeros(len(order) + 1, dtype=bool)  # to the one before
    closeness = DOUBT if doubts is None else doubts[photos[1:]]
    near[1:-1] = (ranked[:-1] - ranked[1:] <= closeness) & (photos[1:] == photos[:-1])
    doubtful = near[:-1] | near[1:]
    if not doubtful.any():
        return order, ranked
    at = order[doubtful]
    exact = rounded(rescore(at))
    group = np.cumsum(~near[:-1])[doubtful]  # of scores that cannot be told apart; each has its places to itself
    again = np.lexsort((at, -exact, group))
    order[doubtful], ranked[doubtful] = at[again], exact[again]
    return order, ranked


def _padded(photos: IntArray, scores: NDArray[np.floating], counts: IntArray) -> NDArray[np.floating]:
    """Return each photo's scores as a row, `(n_photos, n)`, filled up with minus infinity."""
    width = int(counts.max())
    if len(scores) == len(counts) * width:
        return scores.reshape(len(counts), width)
    padded = np.full((len(counts), width), -np.inf, dtype=scores.dtype)
    padded[photos, np.arange(len(photos)) - (np.cumsum(counts) - counts)[photos]] = scores
    return padded
