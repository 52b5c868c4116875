"""Figures of one ranked list, with a stated rule for ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data.metrics import lists
from data.metrics.lists import Block
from rerank.evaluation.request import TiePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedList:
    """Images of one query by falling score, ties in first-stage order."""

    image_ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()

    def relevance(self, relevant: frozenset[str]) -> list[bool]:
        """Return whether each image is relevant."""
        return [image_id in relevant for image_id in self.image_ids]

    def within(self, image_ids: frozenset[str]) -> RankedList:
        """Return the list without other images."""
        kept = [i for i, image_id in enumerate(self.image_ids) if image_id in image_ids]
        return RankedList(image_ids=tuple(self.image_ids[i] for i in kept), scores=tuple(self.scores[i] for i in kept))

    def blocks(self, relevant: frozenset[str]) -> list[Block]:
        """Return the groups of equal scores."""
        return lists.blocks(self.scores, self.relevance(relevant))


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
    if any(k < 1 for k in cutoffs):
        raise ValueError(f"expected cutoffs >= 1, got {', '.join(map(str, cutoffs))}")
    n, blocks = len(relevant), ranked.blocks(relevant)
    if ties == "expected":
        return _figures(blocks, n, cutoffs)
    if ties in ("worst", "best"):
        return _figures((lists.worst if ties == "worst" else lists.best)(blocks), n, cutoffs)
    if ties == "trec":
        # Python's sort is stable, so the second key goes first; ids compare as bytes, as in C.
        order = sorted(range(len(ranked.scores)), key=lambda i: ranked.image_ids[i].encode(), reverse=True)
        order.sort(key=lambda i: -ranked.scores[i])
        return _figures(lists.settled([ranked.image_ids[i] in relevant for i in order]), n, cutoffs)
    found = _figures(lists.settled(ranked.relevance(relevant)), n, cutoffs)
    return found | _as_inquire(ranked, relevant, cutoffs) if ties == "inquire" else found


def _figures(blocks: Sequence[Block], n: int, cutoffs: Sequence[int]) -> dict[str, float]:
    whole = max(1, sum(block.n for block in blocks))
    found = {
        "AP": lists.average_precision(blocks, n_relevant=n),
        "AP (INQUIRE)": lists.average_precision(blocks, n_relevant=n, k=whole, divided_by="reachable"),
        "nDCG": lists.ndcg(blocks, n_relevant=n),
        "MRR": lists.reciprocal_rank(blocks),
    }
    for k in cutoffs:
        found |= {
            f"hit@{k}": lists.hit(blocks, k),
            f"P@{k}": lists.precision(blocks, k),
            f"R@{k}": lists.recall(blocks, k, n_relevant=n),
            f"AP@{k}": lists.average_precision(blocks, n_relevant=n, k=k),
            f"AP@{k} (INQUIRE)": lists.average_precision(blocks, n_relevant=n, k=k, divided_by="reachable"),
            f"mAP@{k}": lists.average_precision(blocks, n_relevant=n, k=k, divided_by="reachable"),
            f"nDCG@{k}": lists.ndcg(blocks, n_relevant=n, k=k),
            f"ndcg_visret@{k}": lists.ndcg_visret(blocks, k),
        }
    return found


def _as_inquire(ranked: RankedList, relevant: frozenset[str], cutoffs: Sequence[int]) -> dict[str, float]:
    """Return the figures that INQUIRE's code computes differently for ties."""
    n, blocks = len(relevant), ranked.blocks(relevant)
    whole = max(1, len(ranked.scores))
    order = sorted(range(len(ranked.scores)), key=lambda i: (-ranked.scores[i], -i))  # ties: last first
    found = {
        # For a list shorter than the relevant images, INQUIRE's ideal is the best list of that length.
        "AP (INQUIRE)": lists.grouped_average_precision(blocks, n_relevant=n, k=whole),
        "nDCG": lists.ndcg(blocks, n_relevant=n, k=whole),
        "MRR": lists.reciprocal_rank(lists.settled([ranked.image_ids[i] in relevant for i in order])),
    }
    for k in cutoffs:
        top = RankedList(image_ids=ranked.image_ids[:k], scores=ranked.scores[:k]).blocks(relevant)
        found[f"AP@{k} (INQUIRE)"] = lists.grouped_average_precision(top, n_relevant=n, k=k)
        found[f"nDCG@{k}"] = lists.ndcg(blocks, n_relevant=n, k=k)
    return found
