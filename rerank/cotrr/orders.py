"""Orders and windows in which photos are shown to a model, and the fusion of its rankings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

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
