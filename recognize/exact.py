"""Rankings that do not depend on the make-up of a batch: a fast pass, and exact sums wherever it leaves a doubt.

A matrix product rounds a score differently in a batch of one and of a thousand, sometimes even for equal rows. That
must not decide between two species, least of all between two with the same text. So scores that float32 cannot tell
apart are summed again in float64, and so are the scores that are shown. Equal scores, to twelve digits, keep the order
of their rows.

Many photos are ranked at once, as flat arrays of pairs: a call of NumPy costs more than what it does for one photo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray

Scores = NDArray[np.float64]

# Two scores closer than this may be in the wrong order. A product of unit vectors in float32 was off by 9e-7 at most
# (768 roundings of 6e-8, of either sign, where all partial sums are near 1), by 1e-7 where they are not.
DOUBT: Final = 4e-6
_DIGITS: Final = 12  # of exact scores; what differs beyond is rounding of float64, and a tie
_AT_ONCE: Final = 128  # rows in float64: 0.8 MB of 768 numbers, which the cache of a core can hold


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
    """Return the product of each photo's query with the row that it is paired with, in float64, `(n,)`."""
    products: Scores = dot_parts(matrix, queries, pairs, (slice(None),))[0]
    return products


def dot_parts(matrix: FloatArray, queries: FloatArray, pairs: Pairs, parts: Sequence[slice]) -> Scores:
    """Return the same over some columns, `(n_parts, n)`: of spaces that lie side by side in one matrix.

    Not by BLAS, which may add up a row in another order where it stands elsewhere.
    """
    products = np.empty((len(parts), len(pairs)))
    exact_queries = queries.astype(np.float64)
    buffer = np.empty((min(_AT_ONCE, len(pairs)), matrix.shape[1]))
    for gathered, runs in _gathered(matrix, pairs, len(queries)):
        exact = buffer[: len(gathered)]
        exact[:] = gathered
        for run in runs:
            rows = run.rows(exact)
            for columns, product in zip(parts, products, strict=True):
                asked = exact_queries[run.photos, columns]
                np.einsum("pij,pj->pi", rows[..., columns], asked, out=run.pairs(product))
    return products


def rough_products(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> FloatArray:
    """Return the products to float32 precision."""
    products = np.empty(len(pairs), dtype=np.float32)
    for gathered, runs in _gathered(matrix, pairs, len(queries)):
        for run in runs:
            # One row at a time: BLAS would share even this work between threads, which wait for each other longer.
            asked = queries[run.photos, None, :, None]
            np.matmul(run.rows(gathered)[:, :, None], asked, out=run.pairs(products)[..., None, None])
    return products


class _Run(NamedTuple):
    """Photos that have as many pairs each, all of them gathered or, of a single photo, some."""

    photos: slice
    first: int
    """Their first pair."""
    n: int
    """How many pairs a photo."""
    offset: int
    """Where their rows stand among those gathered."""

    def pairs(self, of_all: NDArray[Any]) -> NDArray[Any]:
        """Return what an array has for their pairs, `(n_photos, n)`."""
        n_photos = self.photos.stop - self.photos.start
        return of_all[self.first : self.first + n_photos * self.n].reshape(n_photos, self.n)

    def rows(self, gathered: NDArray[Any]) -> NDArray[Any]:
        """Return their rows, `(n_photos, n, dim)`."""
        n_photos = self.photos.stop - self.photos.start
        return gathered[self.offset : self.offset + n_photos * self.n].reshape(n_photos, self.n, -1)


def _gathered(matrix: FloatArray, pairs: Pairs, n_photos: int) -> Iterator[tuple[FloatArray, list[_Run]]]:
    """Yield rows of the matrix that are asked for, `(n, dim)`, for a moment, and whose they are.

    All use one piece of memory: to ask the system for new memory takes longer than to fill it.
    """
    buffer = np.empty((min(_AT_ONCE, len(pairs)), matrix.shape[1]), dtype=np.float32)
    for runs in _runs(pairs.starts(n_photos).tolist()):
        last = runs[-1]
        rows = buffer[: last.offset + (last.photos.stop - last.photos.start) * last.n]
        at = slice(runs[0].first, runs[0].first + len(rows))
        matrix.take(pairs.items[at], axis=0, out=rows, mode="clip")  # without a mode NumPy copies twice
        yield rows, runs


def _runs(starts: list[int]) -> Iterator[list[_Run]]:
    """Yield runs of photos that hold `_AT_ONCE` pairs at most, one after the other."""
    runs: list[_Run] = []
    used = 0
    for photo, (start, end) in enumerate(pairwise(starts)):
        while start < end:
            n = min(end - start, _AT_ONCE)
            if used + n > _AT_ONCE:
                yield runs
                runs, used = [], 0
            if runs and runs[-1].n == n and runs[-1].photos.stop == photo:
                runs[-1] = runs[-1]._replace(photos=slice(runs[-1].photos.start, photo + 1))
            else:
                runs.append(_Run(slice(photo, photo + 1), start, n, used))
            start, used = start + n, used + n
    if runs:
        yield runs


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
    photos, rows = (np.zeros_like(flat), flat) if n_photos == 1 else np.divmod(flat, n_rows)
    counts = np.bincount(photos, minlength=n_photos)
    if (counts == m).all():
        return Pairs(photos, rows)
    found = scores.ravel()[flat]
    padded = _padded(photos, found, counts)
    cuts = np.partition(padded, padded.shape[1] - m, axis=1)[:, padded.shape[1] - m][photos]
    # Whatever is so much worse than the m-th is not among the first m by exact score, whatever so much better is.
    kept = found >= cuts - np.float32(DOUBT)
    n_kept = np.bincount(photos[kept], minlength=n_photos)
    if (n_kept > m).any():
        sure = found > cuts + np.float32(DOUBT)
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
    """Return for each photo a value not above its `m`-th highest score, and seldom much below it.

    Sorting is what costs, so the scores are folded to maxima first: of the `m` best of these, each is a score of its
    own.
    """
    n_photos, n_rows = scores.shape
    fold = max(1, min(16, n_rows // (8 * m)))
    folded = scores[:, : n_rows // fold * fold].reshape(n_photos, fold, -1).max(axis=1)
    at = folded.shape[1] - m
    return np.partition(folded, at, axis=1)[:, at]


Stages = dict[str, Scores]
"""What is shown beside a score: the exact scores of each stage."""


class Settled(NamedTuple):
    """Pairs in the order in which they rank."""

    order: IntArray
    """Where the pairs stand that rank first, second, ..., photo by photo."""
    scores: Scores
    """Their scores: exact for those shown, and for those that others come too close to."""
    heads: IntArray
    """Places in that order: of all pairs, or of those that stand for others."""
    shown: IntArray
    """The first heads of each photo."""
    stages: Stages
    """Of those shown."""


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
        pairs: their photos ascend; their items do not matter.
        scores: one for each, good to half of what is in doubt.
        explain: gives the exact scores of the pairs at some positions, and those of the stages; asked only for those
            that are shown and those that others come too close to.
        n_shown: how many heads a photo are shown.
        doubts: for each photo how close that is, if not `DOUBT`.
        heads_of: order -> places, ascending, of the pairs that stand for others, if not each for itself.
    """
    photos = pairs.photos
    if not len(photos):
        return Settled(_NO_PLACES, np.empty(0), _NO_PLACES, _NO_PLACES, explain(_NO_PLACES)[1])
    counts = np.bincount(photos)
    starts = np.cumsum(counts) - counts
    within = np.argsort(-_padded(photos, scores, counts), axis=1)
    order = (within + starts[:, None])[np.arange(within.shape[1]) < counts[:, None]]
    ranked = scores[order].astype(np.float64)
    near = np.zeros(len(order) + 1, dtype=bool)  # to the one before
    closeness = DOUBT if doubts is None else doubts[photos[1:]]
    near[1:-1] = (ranked[:-1] - ranked[1:] <= closeness) & (photos[1:] == photos[:-1])
    asked = near[:-1] | near[1:]
    heads = np.arange(len(order)) if heads_of is None else heads_of(order)
    # Doubtful ones change places only with each other, so those shown in the end are among these.
    asked[_first_of_each(photos, heads, n_shown)] = True
    at = order[asked]
    exact, stages = explain(at)
    exact = rounded(exact)
    group = np.cumsum(~near[:-1])[asked]  # of scores that cannot be told apart; each has its places to itself
    again = np.lexsort((at, -exact, group))
    order[asked], ranked[asked] = at[again], exact[again]
    if heads_of is not None:
        heads = heads_of(order)
    shown = _first_of_each(photos, heads, n_shown)
    of_shown = again[(np.cumsum(asked) - 1)[shown]]
    return Settled(order, ranked, heads, shown, {stage: values[of_shown] for stage, values in stages.items()})


_NO_PLACES: Final = np.empty(0, dtype=np.intp)


def _first_of_each(photos: IntArray, places: IntArray, n: int) -> IntArray:
    """Return the first `n` places of each photo; `photos` is of all places, and both ascend."""
    of_places = photos[places]
    counts = np.bincount(of_places)
    starts = np.cumsum(counts) - counts
    return places[np.arange(len(places)) - starts[of_places] < n]


def _padded(photos: IntArray, scores: NDArray[np.floating], counts: IntArray) -> NDArray[np.floating]:
    """Return each photo's scores as a row, `(n_photos, n)`, filled up with minus infinity."""
    width = int(counts.max())
    if len(scores) == len(counts) * width:
        return scores.reshape(len(counts), width)
    padded = np.full((len(counts), width), -np.inf, dtype=scores.dtype)
    padded[photos, np.arange(len(photos)) - (np.cumsum(counts) - counts)[photos]] = scores
    return padded
