"""Figures of ranked lists by ir-measures (trec_eval's code), with a stated rule for ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.errors import MissingDependency
from data.metrics import lists
from data.metrics.lists import Block
from rerank.evaluation.request import TiePolicy

Figures = dict[str, float]
"""Measure -> value."""


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


def names_of(cutoffs: Sequence[int]) -> list[str]:
    """Return the names of the measures in the order of reports."""
    of_k = ("hit@{}", "P@{}", "R@{}", "AP@{}", "AP@{} (INQUIRE)", "mAP@{}", "nDCG@{}", "ndcg_visret@{}")
    return ["AP", "AP (INQUIRE)", "nDCG", "MRR", *(name.format(k) for k in cutoffs for name in of_k)]


def figures_of(
    ranked: Mapping[str, RankedList],
    relevant: Mapping[str, frozenset[str]],
    *,
    cutoffs: Sequence[int],
    ties: TiePolicy = "first-stage",
) -> dict[str, Figures]:
    """Return query -> measure -> value; `data.metrics.ranked.DEFINITIONS` defines the measures.

    Relevant images that are not in the list count as missed. Without relevant images every figure is 0. `AP`,
    `AP (INQUIRE)`, `nDCG` and `MRR` are over the whole list, the others at each cutoff.

    Raises:
        MissingDependency: if ir-measures is not installed.
    """
    if any(k < 1 for k in cutoffs):
        raise ValueError(f"expected cutoffs >= 1, got {', '.join(map(str, cutoffs))}")
    names = names_of(cutoffs)
    if ties == "expected":
        expected = {query: _expected(of, relevant[query], cutoffs) for query, of in ranked.items()}
        return {query: {name: of[name] for name in names} for query, of in expected.items()}
    orders = {query: _order(of, relevant[query], ties) for query, of in ranked.items()}
    found = _by_trec_eval(orders, relevant, cutoffs)
    for query, order in orders.items():
        gains = lists.settled([image_id in relevant[query] for image_id in order])
        found[query] |= {f"ndcg_visret@{k}": lists.ndcg_visret(gains, k) for k in cutoffs}
        found[query] = _complete(found[query], len(relevant[query]), len(order), cutoffs)
        if ties == "inquire":
            found[query] |= _as_inquire(ranked[query], relevant[query], cutoffs)
    return {query: {name: of[name] for name in names} for query, of in found.items()}


def _order(ranked: RankedList, relevant: frozenset[str], ties: TiePolicy) -> list[str]:
    """Return the images in the order that a rule for ties gives."""
    ids, score = list(ranked.image_ids), dict(zip(ranked.image_ids, ranked.scores, strict=True))
    # Python's sort is stable, so the second key goes first; ids compare as bytes, as in C.
    if ties == "trec":
        ids.sort(key=str.encode, reverse=True)
    elif ties in ("best", "worst"):
        ids.sort(key=lambda image_id: (image_id in relevant) == (ties == "worst"))
    return sorted(ids, key=lambda image_id: -score[image_id])


def _by_trec_eval(
    orders: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]], cutoffs: Sequence[int]
) -> dict[str, Figures]:
    """Return the figures of lists in a given order; 0 for an empty list, and without relevant images."""
    try:
        import ir_measures
    except ModuleNotFoundError as error:
        raise MissingDependency("ir-measures", extra="eval") from error
    names: dict[Any, str] = {ir_measures.AP: "AP", ir_measures.nDCG: "nDCG", ir_measures.RR: "MRR"}
    for k in cutoffs:
        names |= {ir_measures.Success @ k: f"hit@{k}", ir_measures.P @ k: f"P@{k}", ir_measures.R @ k: f"R@{k}"}
        names |= {ir_measures.AP @ k: f"AP@{k}", ir_measures.nDCG @ k: f"nDCG@{k}"}
    found = {query: dict.fromkeys(names.values(), 0.0) for query in orders}
    measured = [query for query, order in orders.items() if order and relevant[query]]
    judged = {query: dict.fromkeys(relevant[query], 1) for query in measured}
    # The place decides, not the score: trec_eval would settle equal scores by their ids.
    run = {query: {name: -float(place) for place, name in enumerate(orders[query])} for query in measured}
    for each in ir_measures.iter_calc(list(names), judged, run) if measured else ():
        found[each.query_id][names[each.measure]] = float(each.value)
    return found


def _complete(found: Figures, n_relevant: int, n_listed: int, cutoffs: Sequence[int]) -> Figures:
    """Return the figures with the ones which divide AP by the smaller of the relevant images and k."""
    n = max(n_relevant, 1)
    found["AP (INQUIRE)"] = found["AP"] * n / min(n, max(n_listed, 1))
    for k in cutoffs:
        found[f"mAP@{k}"] = found[f"AP@{k} (INQUIRE)"] = found[f"AP@{k}"] * n / min(n, k)
    return found


def _expected(ranked: RankedList, relevant: frozenset[str], cutoffs: Sequence[int]) -> Figures:
    """Return the mean figures over all orders of equal scores, which trec_eval does not compute."""
    n, blocks = len(relevant), ranked.blocks(relevant)
    found = {
        "AP": lists.average_precision(blocks, n_relevant=n),
        "nDCG": lists.ndcg(blocks, n_relevant=n),
        "MRR": lists.reciprocal_rank(blocks),
    }
    for k in cutoffs:
        n_found = sum(lists.gains(blocks)[:k])
        found |= {
            f"hit@{k}": lists.hit(blocks, k),
            f"P@{k}": n_found / k,
            f"R@{k}": n_found / max(n, 1),
            f"AP@{k}": lists.average_precision(blocks, n_relevant=n, k=k),
            f"nDCG@{k}": lists.ndcg(blocks, n_relevant=n, k=k),
            f"ndcg_visret@{k}": lists.ndcg_visret(blocks, k),
        }
    return _complete(found, n, len(ranked.scores), cutoffs)


def _as_inquire(ranked: RankedList, relevant: frozenset[str], cutoffs: Sequence[int]) -> Figures:
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
