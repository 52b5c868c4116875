"""Figures of ranked lists that trec_eval does not compute: expectations over the orders of ties, and VisRet's nDCG.

trec_eval settles equal scores by their ids. Here a ranked list is a sequence of blocks, best first; the items of a
block have equal scores and no order, and a figure is its expected value over all orders of the ties. Without ties every
block has one item, and it is the plain figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import comb, log2


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Items with equal scores: `n` in all, `n_relevant` relevant."""

    n: int
    n_relevant: int


def blocks(scores: Sequence[float], relevant: Sequence[bool]) -> list[Block]:
    """Return the blocks of a list sorted by falling score.

    Raises:
        ValueError: if the scores are not sorted.
    """
    if any(above < below for above, below in pairwise(scores)):
        raise ValueError("expected scores in falling order")
    grouped = groupby(zip(scores, relevant, strict=True), key=lambda pair: pair[0])
    found = ([is_relevant for _, is_relevant in pairs] for _, pairs in grouped)
    return [Block(n=len(block), n_relevant=sum(block)) for block in found]


def settled(relevant: Sequence[bool]) -> list[Block]:
    """Return the blocks of a list without ties, from the relevance of its items, best first."""
    return [Block(n=1, n_relevant=int(is_relevant)) for is_relevant in relevant]


def tie_counts(ranked: Sequence[Block]) -> Counter[str]:
    """Return the counts `items`, `tied` (with the score of another), `pairs` and `open`.

    A pair is one relevant and one irrelevant item; it is open if their scores are equal, so that the order of ties
    alone decides it.
    """
    n, n_relevant = sum(block.n for block in ranked), sum(block.n_relevant for block in ranked)
    return Counter(
        items=n,
        tied=sum(block.n for block in ranked if block.n > 1),
        pairs=n_relevant * (n - n_relevant),
        open=sum(block.n_relevant * (block.n - block.n_relevant) for block in ranked),
    )


def gains(ranked: Sequence[Block]) -> list[float]:
    """Return the probability of a relevant item at each rank; precision, recall and nDCG are linear in it."""
    return [block.n_relevant / block.n for block in ranked for _ in range(block.n)]


def ndcg(ranked: Sequence[Block], *, n_relevant: int, k: int | None = None) -> float:
    """Return the discounted gain of the first `k` items over that of the ideal order; 0 without relevant items.

    The discount of rank r is 1 / log2(r + 1); a relevant item has gain 1.

    Source: McSherry and Najork, ECIR 2008, section 3; scikit-learn's `ndcg_score` averages ties in the same way.
    """
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(n_relevant, k or n_relevant) + 1))
    found = gains(ranked)[:k]
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(found, start=1)) / ideal if n_relevant else 0.0


def average_precision(ranked: Sequence[Block], *, n_relevant: int, k: int | None = None) -> float:
    """Return the sum of precision@i over the relevant ranks i up to `k`, divided by the number of relevant items.

    Source: McSherry and Najork, ECIR 2008, section 3: at the j-th place of a block of n items with r relevant, after R
    relevant ones, the expected term is r/n (R + 1 + (j - 1)(r - 1)/(n - 1)) / rank.
    """
    if n_relevant == 0:
        return 0.0
    total, rank, before = 0.0, 0, 0
    for block in ranked:
        for place in range(1, block.n + 1):
            rank += 1
            if k is None or rank <= k:
                others = (place - 1) * (block.n_relevant - 1) / (block.n - 1) if block.n > 1 else 0.0
                total += block.n_relevant / block.n * (before + 1 + others) / rank
        before += block.n_relevant
    return total / n_relevant


def grouped_average_precision(ranked: Sequence[Block], *, n_relevant: int, k: int | None = None) -> float:
    """Return average precision with the precision at the end of its block for every relevant item.

    This is the area under scikit-learn's precision-recall curve, in INQUIRE's normalisation: divided by the smaller of
    `n_relevant` and `k`. It is what INQUIRE's own code reports for a list of k images.
    """
    if n_relevant == 0:
        return 0.0
    total, seen, found = 0.0, 0, 0
    for block in ranked:
        seen, found = seen + block.n, found + block.n_relevant
        total += block.n_relevant * found / seen
    return total / min(n_relevant, k or n_relevant)


def reciprocal_rank(ranked: Sequence[Block]) -> float:
    """Return 1 / rank of the first relevant item; 0 if there is none."""
    first = 1
    for block in ranked:
        if block.n_relevant:
            n_orders = comb(block.n, block.n_relevant)
            # The first relevant item is at place j if all others come after it.
            chances = (comb(block.n - j, block.n_relevant - 1) / n_orders for j in range(1, block.n + 1))
            return sum(chance / rank for rank, chance in enumerate(chances, start=first))
        first += block.n
    return 0.0


def hit(ranked: Sequence[Block], k: int) -> float:
    """Return whether a relevant item is among the first `k`, as a probability."""
    first = 0
    for block in ranked:
        if first >= k:
            return 0.0
        if block.n_relevant:
            within = min(k - first, block.n)
            return 1 - comb(block.n - block.n_relevant, within) / comb(block.n, within)
        first += block.n
    return 0.0


def ndcg_visret(ranked: Sequence[Block], k: int) -> float:
    """Return the nDCG of VisRet's code: 1 where the relevant items of the first `k` lead, 0 where there are none.

    That code takes the ideal order of the first k for the truth, and the relevance for the score, so that ties of the
    relevance average the discount. With one relevant item it is 1 at rank 1, and .3937 (k = 10) or .2814 (k = 30) at
    any other rank up to k; relevant items beyond k count nowhere. It can fall when another relevant item is found.

    Source: VisRet (Wu et al., 2025), `ndcg_at_k` of the published code; its figures at k = 1 are those of hit@1.
    """
    expected, first, before = 0.0, 0, 0
    chances = gains(ranked)[:k]
    for block in ranked:
        if first + block.n >= len(chances):  # the last block within k: any number of its relevant items may be
            within = len(chances) - first
            n_orders = comb(block.n, within)
            for found in range(max(0, within - block.n + block.n_relevant), min(within, block.n_relevant) + 1):
                chance = comb(block.n_relevant, found) * comb(block.n - block.n_relevant, within - found) / n_orders
                top = [*chances[:first], *[found / within] * within] if within else chances
                expected += chance * _ndcg_of_ties(top, before + found)
            break
        first, before = first + block.n, before + block.n_relevant
    return expected


def _ndcg_of_ties(gain: Sequence[float], n_relevant: int) -> float:
    """Return nDCG of a list of two groups of ties: ranks 1 to `n_relevant`, and the others."""
    if n_relevant == 0:
        return 0.0
    discounts = [1 / log2(rank + 1) for rank in range(1, len(gain) + 1)]
    ideal, rest = sum(discounts[:n_relevant]), sum(discounts[n_relevant:])
    leading = sum(gain[:n_relevant])
    others = (n_relevant - leading) * rest / (len(gain) - n_relevant) if len(gain) > n_relevant else 0.0
    return (leading * ideal / n_relevant + others) / ideal
