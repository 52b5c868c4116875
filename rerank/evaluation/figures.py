"""Figures of one ranked list, with a stated rule for ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data.metrics import ties as tied
from data.metrics.ranked import average_precision, hit, ndcg, precision, recall, reciprocal_rank
from data.metrics.ties import Block
from rerank.evaluation.request import TiePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedList:
    """Images of one query by falling score, ties in first-stage order."""

    image_ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()

    def relevance(self, relevant: frozenset[str]) -> list[bool]:
        """Return whether each image is relevant."""
        return [image_id in relevant for image_id in self.image_ids]

    def blocks(self, relevant: frozenset[str]) -> list[Block]:
        """Return the groups of equal scores."""
        return tied.blocks(self.scores, self.relevance(relevant))


def figures_of(
    ranked: RankedList, relevant: frozenset[str], *, cutoffs: Sequence[int], ties: TiePolicy = "first-stage"
) -> dict[str, float]:
    """Return measure -> value of one list; `data.metrics.ranked.DEFINITIONS` defines the measures.

    Relevant images that are not in the list count as missed. Without relevant images every figure is 0. `AP`,
    `AP (INQUIRE)`, `nDCG` and `MRR` are over the whole list, the others at each cutoff.

    Example:
        >>> tie = RankedList(image_ids=("a", "b"), scores=(0.5, 0.5))
        >>> [figures_of(tie, frozenset("b"), cutoffs=(1,), ties=t)["MRR"] for t in ("first-stage", "expected", "best")]
        [0.5, 0.75, 1.0]
    """
    n, blocks = len(relevant), ranked.blocks(relevant)
    if ties == "expected":
        return _expected(blocks, n, cutoffs)
    if ties == "trec":
        # Python's sort is stable, so the second key goes first; ids compare as bytes, as in C.
        order = sorted(range(len(ranked.scores)), key=lambda i: ranked.image_ids[i].encode(), reverse=True)
        order.sort(key=lambda i: -ranked.scores[i])
        return _settled([ranked.image_ids[i] in relevant for i in order], n, cutoffs)
    if ties in ("worst", "best"):
        return _settled((tied.worst if ties == "worst" else tied.best)(blocks), n, cutoffs)
    found = _settled(ranked.relevance(relevant), n, cutoffs)
    return found | _as_inquire(ranked, relevant, cutoffs) if ties == "inquire" else found


def _settled(is_relevant: Sequence[bool], n: int, cutoffs: Sequence[int]) -> dict[str, float]:
    first = is_relevant.index(True) + 1 if True in is_relevant else None
    gains, ideal = [float(found) for found in is_relevant], [1.0] * n
    whole = max(1, len(is_relevant))
    found = {
        "AP": average_precision(is_relevant, n_relevant=n),
        "AP (INQUIRE)": average_precision(is_relevant, n_relevant=n, k=whole, divided_by="reachable"),
        "nDCG": ndcg(gains, all_gains=ideal),
        "MRR": reciprocal_rank(first),
    }
    for k in cutoffs:
        found |= {
            f"hit@{k}": hit(first, k),
            f"P@{k}": precision(is_relevant, k),
            f"R@{k}": recall(is_relevant, k, n_relevant=n),
            f"AP@{k}": average_precision(is_relevant, n_relevant=n, k=k),
            f"AP@{k} (INQUIRE)": average_precision(is_relevant, n_relevant=n, k=k, divided_by="reachable"),
            f"nDCG@{k}": ndcg(gains, all_gains=ideal, k=k),
        }
    return found


def _expected(blocks: Sequence[Block], n: int, cutoffs: Sequence[int]) -> dict[str, float]:
    gains = tied.expected_gains(blocks)
    whole = max(1, len(gains))
    found = {
        "AP": tied.expected_average_precision(blocks, n_relevant=n),
        "AP (INQUIRE)": tied.expected_average_precision(blocks, n_relevant=n, k=whole, divided_by="reachable"),
        "nDCG": tied.expected_ndcg(blocks, n_relevant=n),
        "MRR": tied.expected_reciprocal_rank(blocks),
    }
    for k in cutoffs:
        in_reach = sum(gains[:k])
        found |= {
            f"hit@{k}": tied.expected_hit(blocks, k),
            f"P@{k}": in_reach / k,
            f"R@{k}": in_reach / n if n else 0.0,
            f"AP@{k}": tied.expected_average_precision(blocks, n_relevant=n, k=k),
            f"AP@{k} (INQUIRE)": tied.expected_average_precision(blocks, n_relevant=n, k=k, divided_by="reachable"),
            f"nDCG@{k}": tied.expected_ndcg(blocks, n_relevant=n, k=k),
        }
    return found


def _as_inquire(ranked: RankedList, relevant: frozenset[str], cutoffs: Sequence[int]) -> dict[str, float]:
    """Return the figures that INQUIRE's code computes differently for ties."""
    n, blocks = len(relevant), ranked.blocks(relevant)
    whole = max(1, len(ranked.scores))
    last_first = [found for block in _grouped(ranked, relevant) for found in reversed(block)]
    found = {
        # For a list shorter than the relevant images, INQUIRE's ideal is the best list of that length.
        "AP (INQUIRE)": tied.grouped_average_precision(blocks, n_relevant=n, k=whole),
        "nDCG": tied.expected_ndcg(blocks, n_relevant=n, k=whole),
        "MRR": reciprocal_rank(last_first.index(True) + 1 if True in last_first else None),
    }
    for k in cutoffs:
        top = RankedList(image_ids=ranked.image_ids[:k], scores=ranked.scores[:k]).blocks(relevant)
        found[f"AP@{k} (INQUIRE)"] = tied.grouped_average_precision(top, n_relevant=n, k=k)
        found[f"nDCG@{k}"] = tied.expected_ndcg(blocks, n_relevant=n, k=k)
    return found


def _grouped(ranked: RankedList, relevant: frozenset[str]) -> list[list[bool]]:
    is_relevant = iter(ranked.relevance(relevant))
    return [[next(is_relevant) for _ in range(block.n)] for block in ranked.blocks(relevant)]
