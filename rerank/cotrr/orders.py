"""Orders in which photos are shown to a model: position bias measured, and ranks of several orders fused. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final

from rerank.cotrr.settings import Fusion

RRF_K: Final = 60  # Cormack et al. 2009; not tuned here


def ranks_of(positions: Sequence[int], n: int) -> list[float]:
    """Return the rank of each of `n` items; unnamed items share the mean of the remaining ranks.

    Example:
        >>> ranks_of([2, 0], 4)
        [2.0, 3.5, 1.0, 3.5]
    """
    ranks = [(len(positions) + 1 + n) / 2] * n
    for rank, position in enumerate(positions, start=1):
        ranks[position] = float(rank)
    return ranks


def fuse_ranks(rankings: Sequence[Sequence[float]], rule: Fusion = "mean-rank") -> list[float]:
    """Return a score for each item from its ranks in several rankings, higher is better.

    `mean-rank` is minus the mean rank (Borda count); `rrf` is the sum of 1 / (60 + rank), which favours first places.

    Example:
        >>> fuse_ranks([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
        [-1.0, -2.5, -2.5]
    """
    items = zip(*rankings, strict=True)
    if rule == "rrf":
        return [sum(1 / (RRF_K + rank) for rank in ranks) for ranks in items]
    return [-sum(ranks) / len(ranks) for ranks in items]


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same items, None if one of them ties all items.

    Example:
        >>> kendall_tau([1, 2, 3], [1, 2, 3]), kendall_tau([1, 2, 3], [3, 2, 1])
        (1.0, -1.0)
    """
    agree = ties_one = ties_other = n_pairs = 0
    for i, j in combinations(range(len(one)), 2):
        a, b = _sign(one[i] - one[j]), _sign(other[i] - other[j])
        agree += a * b
        ties_one += a == 0
        ties_other += b == 0
        n_pairs += 1
    scale = float((n_pairs - ties_one) * (n_pairs - ties_other)) ** 0.5
    return agree / scale if scale else None


def input_orders(n: int, n_orders: int, *, seed: str) -> list[list[int]]:
    """Return orders to show `n` items in: the given one, its reverse, then shuffles, each followed by its reverse.

    Over an order and its reverse every item has the same mean position, so position bias cancels to first order.

    Example:
        >>> input_orders(3, 2, seed="q")
        [[0, 1, 2], [2, 1, 0]]
    """
    random = Random(seed)
    orders: list[list[int]] = []
    while len(orders) < n_orders:
        order = list(range(n))
        if orders:
            random.shuffle(order)
        orders += [order, order[::-1]]
    return orders[:n_orders]


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias:
    """Dependence of rankings on the order in which the items were shown."""

    effect: float | None
    """Mean Kendall's tau between input and output order, over pairs of an order and its reverse. 0: no bias; 1: the
    input order is returned; negative: later items are preferred."""
    agreement: float | None
    """Mean Kendall's tau between the rankings from different orders; 1: no bias."""


def position_bias(shown: Sequence[Sequence[int]], rankings: Sequence[Sequence[float]]) -> PositionBias:
    """Return the position bias of rankings of the same items.

    Args:
        shown: the orders from `input_orders`.
        rankings: the rank of each item, one list per order.
    """
    effects: list[float] = []
    for i in range(0, len(shown) - 1, 2):
        # Over an order and its reverse, the merit of the items cancels out.
        pair = [kendall_tau(_places(shown[j]), rankings[j]) for j in (i, i + 1)]
        known = [tau for tau in pair if tau is not None]
        if len(known) == 2:
            effects.append(sum(known) / 2)
    taus = [kendall_tau(one, other) for one, other in combinations(rankings, 2)]
    return PositionBias(effect=_mean(effects), agreement=_mean([tau for tau in taus if tau is not None]))


def _places(order: Sequence[int]) -> list[float]:
    places = [0.0] * len(order)
    for place, item in enumerate(order, start=1):
        places[item] = float(place)
    return places


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None
