"""Rankings that do not depend on the make-up of a batch: a fast pass, and exact sums wherever it leaves a doubt.

A matrix product rounds a score differently in a batch of one and of a thousand, sometimes even for equal rows. That
must not decide between two species, least of all between two with the same text. So scores that float32 cannot tell
apart are summed again in float64, and so are the scores that are shown. Equal scores, to twelve digits, keep the order
of their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray

Scores = NDArray[np.float64]
Rescore = Callable[[IntArray], Scores]
"""Positions -> exact scores."""

# Two scores closer than this may be in the wrong order. A product of unit vectors in float32 is off by some 5e-7 at
# worst (768 roundings of 6e-8, of either sign, where all partial sums are near 1).
DOUBT: Final = 4e-6
_DIGITS: Final = 12  # of exact scores; what differs beyond is rounding of float64, and a tie


def dot_rows(rows: FloatArray, query: FloatArray) -> Scores:
    """Return the products of each row with the query in float64: to fifteen digits the same wherever the row stands."""
    products: Scores = rows.astype(np.float64) @ query.astype(np.float64)
    return products


def rounded(scores: Scores) -> Scores:
    """Return exact scores to the digits that count."""
    return np.round(scores, _DIGITS)


def or_zero(scores: Scores) -> Scores:
    """Return the scores with 0 for what a stage says nothing of."""
    return np.where(np.isnan(scores), 0.0, scores)  # `nan_to_num` looks for infinities too, and takes ten times as long


def find_pool(scores: FloatArray, m: int, rescore: Rescore) -> IntArray:
    """Return the positions of the `m` highest scores by exact score, in ascending order of position.

    Where equal scores compete for the last places the first rows win.
    """
    n = len(scores)
    if m >= n:
        return np.arange(n)
    if m <= 0:
        return np.empty(0, dtype=np.intp)
    pool = np.flatnonzero(scores >= _lower_bound_of_top(scores, m) - DOUBT)
    if len(pool) > m:
        order, _ = settle(scores[pool], lambda members: rescore(pool[members]), n_needed=m)
        pool = np.sort(pool[order[:m]])
    return pool


def _lower_bound_of_top(scores: FloatArray, m: int) -> float:
    """Return a value not above the `m`-th highest score, and seldom much below it.

    Sorting is what costs, so the scores are folded to their pairwise maxima first: of the `m` best of these, each is a
    score of its own.
    """
    folded = scores
    for _ in range(2):
        half = len(folded) // 2
        if half < 8 * m:
            break
        folded = np.maximum(folded[:half], folded[half : 2 * half])
    return float(np.partition(folded, len(folded) - m)[len(folded) - m])


def settle(scores: NDArray[np.floating], rescore: Rescore, *, n_needed: int | None = None) -> tuple[IntArray, Scores]:
    """Return the positions in descending order of exact score, ties in input order, and the scores in that order.

    Args:
        scores: `(n,)`, good to `DOUBT` / 2.
        rescore: gives the exact scores of some positions; asked only for those that others come too close to.
        n_needed: if given, only which are the first `n_needed` must be right, not their order.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order].astype(np.float64)
    near = ranked[:-1] - ranked[1:] <= DOUBT
    if n_needed is not None:
        if not near[n_needed - 1]:
            return order, ranked
        near &= _run_around(near, n_needed - 1)
    if not near.any():
        return order, ranked
    group = np.concatenate([[0], np.cumsum(~near)])  # of scores that cannot be told apart, by rank
    doubtful = np.zeros(len(order), dtype=bool)
    doubtful[:-1] |= near
    doubtful[1:] |= near
    ranked[doubtful] = rounded(rescore(order[doubtful]))
    again = np.lexsort((order, -ranked, group))
    return order[again], ranked[again]


def _run_around(near: NDArray[np.bool_], at: int) -> NDArray[np.bool_]:
    """Return which of `near` belong to the unbroken run of true values that holds `at`."""
    run = np.zeros(len(near), dtype=bool)
    breaks = np.flatnonzero(~near)
    where = int(np.searchsorted(breaks, at))
    first = breaks[where - 1] + 1 if where else 0
    end = breaks[where] if where < len(breaks) else len(near)
    run[first:end] = True
    return run
