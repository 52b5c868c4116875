"""Rankings that do not depend on the make-up of a batch: a fast pass, and exact sums wherever it leaves a doubt.

A matrix product rounds a score differently in a batch of one and of a thousand, sometimes even for equal rows. That
must not decide between two species, least of all between two with the same text. So scores that float32 cannot tell
apart are summed again in float64, and so are the scores that are shown. Equal scores, to twelve digits, keep the order
of their rows.

Many photos are ranked at once, as flat arrays of pairs: a call of NumPy costs more than what it does for one photo.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from recognize.scoring.pairs import Pairs, Scores

# Two scores near 1 that are closer than this may be in the wrong order, two of a quarter or less if a quarter as close:
# sums round relative to what is added up. Measured, not proven: products in float32 of what encoders give were off by
# 1e-6 at most, of unit rows of few distinct values, where all sums round the same way, by 6.5e-6 (OpenBLAS; by ONNX
# Runtime a third of that). Only where such sums cancel, to a quarter or less, were they off by more than is allowed
# for: by 3.5e-6. No encoder gives such rows, and what is proven, dim * 6e-8, would have most of a pool summed again.
DOUBT: Final = 1.6e-5
_DIGITS: Final = 12  # of exact scores; what differs beyond is rounding of float64, and a tie

Rescore = Callable[[Pairs], Scores]
"""Photos and rows -> exact scores."""


def rounded(scores: Scores) -> Scores:
    """Return exact scores to the digits that count."""
    return np.round(scores, _DIGITS)


def doubts_of(best: NDArray[np.floating]) -> Scores:
    """Return how close is too close among the best scores of photos, `(n_photos,)`, given the best of each."""
    # `np.clip` is several functions deep, which a single photo feels.
    doubts: Scores = DOUBT * np.minimum(np.maximum(np.abs(best).astype(np.float64), 0.25), 1.0)
    return doubts


def or_zero(scores: Scores) -> Scores:
    """Return the scores with 0 for what a stage says nothing of."""
    return np.where(np.isnan(scores), 0.0, scores)  # `nan_to_num` looks for infinities too, and takes ten times as long


def find_pools(scores: FloatArray, m: int, rescore: Rescore) -> Pairs:
    """Return for each photo the rows of the `m` highest scores by exact score, in ascending order.

    Where equal scores compete for the last places the first rows win.

    Args:
        scores: `(n_photos, n_rows)`, finite, good to `DOUBT` / 2.
        m: how many, of each photo; all rows where there are no more.
        rescore: gives the exact scores of some rows; asked only for those that compete for the last places.
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
    # Whatever is so much worse than the m-th is not among the first m by exact score, whatever so much better is.
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
    """Return for each photo a value not above its `m`-th highest score, and seldom much below it.

    Sorting is what costs, so the scores are folded to maxima first: of the `m` best of these, each is a score of its
    own.
    """
    n_photos, n_rows = scores.shape
    fold = max(1, min(32, n_rows // (4 * m)))
    folded = np.maximum.reduce(scores[:, : n_rows // fold * fold].reshape(n_photos, fold, -1), axis=1)
    at = folded.shape[1] - m
    folded.partition(at, axis=1)
    bounds: FloatArray = folded[:, at]
    return bounds


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
        doubts: for each photo how close that is, if not `doubts_of` its best score.
        heads_of: order -> places, ascending, of the pairs that stand for others, if not each for itself.
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
    near = np.zeros(len(order) + 1, dtype=bool)  # to the one before
    doubts = doubts_of(ranked[np.minimum(starts, len(order) - 1)]) if doubts is None else doubts
    np.logical_and(ranked[:-1] - ranked[1:] <= doubts[photos[1:]], photos[1:] == photos[:-1], out=near[1:-1])
    asked = near[:-1] | near[1:]
    heads = np.arange(len(order)) if heads_of is None else heads_of(order)
    shown = _first_of_each(photos, heads, n_shown)
    asked[shown] = True  # doubtful ones change places only with each other: those shown in the end are among all these
    at = order[asked]
    exact, stages = explain(at)
    exact = rounded(exact)
    group = (~near[:-1]).cumsum()[asked]  # of scores that cannot be told apart; each has its places to itself
    again = np.lexsort((at, -exact, group))
    order[asked], ranked[asked] = at[again], exact[again]
    if heads_of is not None:
        heads = heads_of(order)
        shown = _first_of_each(photos, heads, n_shown)
    of_shown = again[asked.cumsum()[shown] - 1]
    return Settled(order, ranked, heads, shown, {stage: values[of_shown] for stage, values in stages.items()})


_NO_PLACES: Final = np.empty(0, dtype=np.intp)


def _first_of_each(photos: IntArray, places: IntArray, n: int) -> IntArray:
    """Return the first `n` places of each photo; `photos` is of all places, and both ascend."""
    of_places = photos[places]
    counts = np.bincount(of_places)
    starts = counts.cumsum() - counts
    return places[np.arange(len(places)) - starts[of_places] < n]


def _padded(photos: IntArray, scores: NDArray[np.floating], counts: IntArray) -> NDArray[np.floating]:
    """Return each photo's numbers as a row, `(n_photos, n)`, filled up with infinity."""
    width = int(np.maximum.reduce(counts))
    if len(scores) == len(counts) * width:
        return scores.reshape(len(counts), width)
    padded = np.full((len(counts), width), np.inf, dtype=scores.dtype)
    padded[photos, np.arange(len(photos)) - (counts.cumsum() - counts)[photos]] = scores
    return padded
