"""Orders and windows in which photos are shown to a model: position bias measured, ranks fused. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final

import numpy as np

from rerank.settings import RankFusion

RRF_K: Final = 60  # Cormack et al. 2009; not tuned here


def ranks_of(positions: Sequence[int], n: int) -> list[float]:
    """Return the rank of each of `n` items; unnamed items share the mean of the remaining ranks."""
    ranks = [(len(positions) + 1 + n) / 2] * n
    for rank, position in enumerate(positions, start=1):
        ranks[position] = float(rank)
    return ranks


def fuse_ranks(rankings: Sequence[Sequence[float]], rule: RankFusion = "mean-rank") -> list[float]:
    """Return a score for each item from its ranks in several rankings, higher is better.

    `mean-rank` is minus the mean rank (Borda count); `rrf` is the sum of 1 / (60 + rank), which favours first places.
    """
    items = zip(*rankings, strict=True)
    if rule == "rrf":
        return [sum(1 / (RRF_K + rank) for rank in ranks) for ranks in items]
    return [-sum(ranks) / len(ranks) for ranks in items]


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same items, None if one of them ties all items."""
    a, b = (np.sign(np.subtract.outer(ranks, ranks)) for ranks in (one, other))
    scale = float(np.sum(a * a) * np.sum(b * b)) ** 0.5
    return float(np.sum(a * b)) / scale if scale else None


def input_orders(n: int, n_orders: int, *, seed: str) -> list[list[int]]:
    """Return orders to show `n` items in: the given one, its reverse, then shuffles, each followed by its reverse.

    Over an order and its reverse every item has the same mean position, so position bias cancels to first order.
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
    """Return the position bias of rankings of the same items."""
    taus = [kendall_tau(_places(order), ranks) for order, ranks in zip(shown, rankings, strict=True)]
    # Over an order and its reverse, the merit of the items cancels out.
    pairs = zip(taus[::2], taus[1::2], strict=False)
    return PositionBias(
        effect=mean((one + other) / 2 for one, other in pairs if one is not None and other is not None),
        agreement=mean(kendall_tau(one, other) for one, other in combinations(rankings, 2)),
    )


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values, None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _places(order: Sequence[int]) -> list[float]:
    return [float(order.index(item)) for item in range(len(order))]


def windows(n: int, size: int, step: int) -> list[tuple[int, int]]:
    """Return the half-open ranges to rank in turn, last range first, so that good items move to the front.

    Neighbouring ranges overlap by `size - step`: so many items can move from one to the other. The first `size - step`
    places of the result are right if the items that belong there win each of their rankings.

    Source:
        Sun et al., EMNLP 2023, section 3.2 (sliding windows).
    """
    ranges = []
    end = n
    while end > size:
        ranges.append((end - size, end))
        end -= step
    if n:
        ranges.append((0, min(n, size)))
    return ranges
