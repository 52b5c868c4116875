from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from data.metrics import lists
from data.metrics.lists import blocks, hit, ndcg, ndcg_visret, reciprocal_rank, tie_counts

# Up to six items with up to three different scores, so that all orders can be enumerated.
small = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6)


def as_list(items: Any) -> tuple[list[float], list[bool]]:
    items = sorted(items, key=lambda item: -item[0])
    return [float(score) for score, _ in items], [relevant for _, relevant in items]


def visret(order: list[bool], k: int) -> float:
    """Return scikit-learn's nDCG of the relevance as score, as in VisRet's code; hit@1 for a single item."""
    top = [float(one) for one in order[:k]]
    return ndcg_score([sorted(top, reverse=True)], [top]) if len(top) > 1 and any(top) else float(any(top))


# Measure -> figure of a list of blocks, and of one settled order, each written down another way.
MEASURES: dict[str, tuple[Any, Any]] = {
    "AP": (
        lambda ranked, n, k: lists.average_precision(ranked, n_relevant=n, k=k),
        lambda order, n, k: sum(sum(order[: i + 1]) / (i + 1) for i in range(len(order[:k])) if order[i]) / max(n, 1),
    ),
    "nDCG": (
        lambda ranked, n, k: ndcg(ranked, n_relevant=n, k=k),
        lambda order, n, k: (
            sum(1 / np.log2(i + 2) for i, one in enumerate(order[:k]) if one)
            / sum(1 / np.log2(i + 2) for i in range(min(n, k)))
            if n
            else 0.0
        ),
    ),
    "MRR": (
        lambda ranked, _n, _k: reciprocal_rank(ranked),
        lambda order, _n, _k: 1 / (order.index(True) + 1) if any(order) else 0.0,
    ),
    "hit": (lambda ranked, _n, k: hit(ranked, k), lambda order, _n, k: float(any(order[:k]))),
    "ndcg_visret": (lambda ranked, _n, k: ndcg_visret(ranked, k), lambda order, _n, k: visret(order, k)),
}


@given(small, st.integers(1, 8), st.integers(0, 2))
@settings(max_examples=50)
def test_a_figure_is_the_mean_over_all_orders_of_the_ties(items: Any, k: int, n_missed: int) -> None:
    scores, relevant = as_list(items)
    ranked, n = blocks(scores, relevant), sum(relevant) + n_missed
    orders = [
        [relevant[i] for i in order]
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    for name, (of_blocks, of_order) in MEASURES.items():
        values = [of_order(order, n, k) for order in orders]
        assert of_blocks(ranked, n, k) == pytest.approx(np.mean(values), abs=1e-9), name


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_grouped_average_precision_and_ndcg_equal_scikit_learn(items: Any) -> None:
    scores, relevant = as_list(items)
    ranked, n = blocks(scores, relevant), sum(relevant)
    if n == 0:
        assert lists.grouped_average_precision(ranked, n_relevant=0) == ndcg(ranked, n_relevant=0) == 0.0
        return
    expected = average_precision_score(relevant, scores)
    assert lists.grouped_average_precision(ranked, n_relevant=n) == pytest.approx(expected, abs=1e-9)
    for k in (None, 1, 3, 10):
        expected = ndcg_score([[float(r) for r in relevant]], [scores], k=k)
        assert ndcg(ranked, n_relevant=n, k=k) == pytest.approx(expected, abs=1e-9)


def test_ties_are_counted_and_an_unsorted_list_is_refused() -> None:
    constant = blocks([0.5] * 4, [True, False, False, True])
    assert tie_counts(constant) == {"items": 4, "tied": 4, "pairs": 4, "open": 4}
    # Probabilities that the first of two relevant items among four is at rank 1, 2, 3: 3/6, 2/6, 1/6.
    assert reciprocal_rank(constant) == pytest.approx(3 / 6 + 2 / 6 / 2 + 1 / 6 / 3)
    of_one_kind = tie_counts(blocks([0.9, 0.9, 0.1, 0.1, 0.0], [True, True, False, False, False]))
    assert of_one_kind == {"items": 5, "tied": 4, "pairs": 6, "open": 0}
    assert (hit([], 5), reciprocal_rank([])) == (0, 0)
    with pytest.raises(ValueError, match="falling order"):
        blocks([0.1, 0.2], [True, False])
