"""Measures of ranked lists against hand-worked tables, all orders of ties, scikit-learn and trec_eval's own code."""

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from data.metrics.lists import (
    TieMass,
    average_precision,
    best,
    blocks,
    grouped_average_precision,
    hit,
    ndcg,
    ndcg_visret,
    precision,
    recall,
    reciprocal_rank,
    settled,
    tie_mass,
    worst,
)

# Up to seven items with up to three different scores, so that all orders can be enumerated.
small = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=7)
relevances = st.lists(st.booleans(), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("relevant", "n_relevant", "k", "standard", "inquire"),
    [
        ([1, 0, 1, 0], 2, None, (1 + 2 / 3) / 2, (1 + 2 / 3) / 2),
        ([1, 0, 1, 0], 4, 2, 1 / 4, 1 / 2),  # one hit in two places, four to find
        ([0, 0, 1], 1, 2, 0.0, 0.0),  # beyond the cutoff
        ([1, 1, 1], 10, 3, 3 / 10, 1.0),  # perfect within the list
        ([0, 1, 1], 3, None, (1 / 2 + 2 / 3) / 3, (1 / 2 + 2 / 3) / 3),  # one never found
        ([0, 0], 0, None, 0.0, 0.0),
        ([], 2, None, 0.0, 0.0),
    ],
)
def test_average_precision_by_hand(relevant: Any, n_relevant: int, k: int | None, standard: Any, inquire: Any) -> None:
    ranked = settled([bool(r) for r in relevant])
    assert average_precision(ranked, n_relevant=n_relevant, k=k) == pytest.approx(standard)
    assert average_precision(ranked, n_relevant=n_relevant, k=k, divided_by="reachable") == pytest.approx(inquire)


@given(relevances)
def test_average_precision_equals_scikit_learn(relevant: Any) -> None:
    if not any(relevant):
        return
    scores = -np.arange(len(relevant))
    expected = average_precision_score(relevant, scores)
    assert average_precision(settled(relevant), n_relevant=sum(relevant)) == pytest.approx(expected)


@given(relevances, st.integers(1, 50), st.integers(0, 5))
def test_inquire_average_precision_is_scaled_by_the_share_of_hits(relevant: Any, k: Any, n_missed: Any) -> None:
    n_relevant = sum(relevant) + n_missed
    hits = sum(relevant[:k])
    expected = 0.0
    if hits:
        top = relevant[:k]
        expected = average_precision_score(top, -np.arange(len(top))) * hits / min(n_relevant, k)
    got = average_precision(settled(relevant), n_relevant=n_relevant, k=k, divided_by="reachable")
    assert got == pytest.approx(expected)


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.integers(1, 40))
def test_ndcg_equals_scikit_learn(relevant: Any, k: Any) -> None:
    n = sum(relevant)
    if n == 0:
        assert ndcg(settled(relevant), n_relevant=n, k=k) == 0.0
        return
    expected = ndcg_score([[float(one) for one in relevant]], [-np.arange(len(relevant))], k=k)
    assert ndcg(settled(relevant), n_relevant=n, k=k) == pytest.approx(expected)


def test_ndcg_counts_missing_relevant_items() -> None:
    # One of two relevant items found, at rank 2: (1 / log2 3) / (1 + 1 / log2 3).
    expected = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert ndcg(settled([False, True]), n_relevant=2) == pytest.approx(expected)


def test_ndcg_at_rank_four_has_the_standard_discount() -> None:
    assert ndcg(settled([False, False, False, True]), n_relevant=1) == pytest.approx(1 / math.log2(5))


def test_precision_divides_by_k_and_recall_by_relevant_items() -> None:
    assert precision(settled([True, False]), 4) == 0.25
    assert recall(settled([True, False, True]), 2, n_relevant=4) == 0.25
    assert recall(settled([False]), 1, n_relevant=0) == 0


@given(relevances, st.integers(1, 50))
def test_every_measure_is_between_0_and_1(relevant: Any, k: Any) -> None:
    n = sum(relevant)
    ranked = settled(relevant)
    found = [
        average_precision(ranked, n_relevant=n, k=k),
        average_precision(ranked, n_relevant=n, k=k, divided_by="reachable"),
        ndcg(ranked, n_relevant=n, k=k),
        precision(ranked, k),
        recall(ranked, k, n_relevant=n),
    ]
    assert all(0 <= value <= 1 + 1e-12 for value in found)


def as_list(items: Any) -> Any:
    items = sorted(items, key=lambda item: -item[0])
    return [float(score) for score, _ in items], [relevant for _, relevant in items]


def all_orders(scores: Any, relevant: Any) -> Any:
    """Return the relevance in every order that the scores allow."""
    return [
        [relevant[i] for i in order]
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]


MEASURES: Any = {
    "AP": lambda ranked, n, k: average_precision(ranked, n_relevant=n, k=k),
    "INQUIRE": lambda ranked, n, k: average_precision(ranked, n_relevant=n, k=k, divided_by="reachable"),
    "nDCG": lambda ranked, n, k: ndcg(ranked, n_relevant=n, k=k),
    "MRR": lambda ranked, n, k: reciprocal_rank(ranked, k),
    "hit": lambda ranked, n, k: hit(ranked, k),
    "P": lambda ranked, n, k: precision(ranked, k),
    "R": lambda ranked, n, k: recall(ranked, k, n_relevant=n),
}


@given(small, st.integers(1, 8), st.integers(0, 2))
def test_ties_average_over_all_orders_between_worst_and_best(items: Any, k: Any, n_missed: Any) -> None:
    scores, relevant = as_list(items)
    ranked, n = blocks(scores, relevant), sum(relevant) + n_missed
    orders = [settled(order) for order in all_orders(scores, relevant)]
    for name, measured in MEASURES.items():
        values = [measured(order, n, k) for order in orders]
        assert measured(ranked, n, k) == pytest.approx(np.mean(values), abs=1e-9), name
        assert measured(worst(ranked), n, k) == pytest.approx(min(values), abs=1e-9), name
        assert measured(best(ranked), n, k) == pytest.approx(max(values), abs=1e-9), name


def test_ranks_of_the_first_relevant_item() -> None:
    ranked = settled([False, False, True, True])
    assert [hit(ranked, k) for k in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert [reciprocal_rank(ranked, k) for k in (2, 3, None)] == [0, 1 / 3, 1 / 3]
    assert (hit([], 5), reciprocal_rank([])) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_grouped_average_precision_and_ndcg_equal_scikit_learn(items: Any) -> None:
    scores, relevant = as_list(items)
    ranked, n = blocks(scores, relevant), sum(relevant)
    if n == 0:
        assert grouped_average_precision(ranked, n_relevant=0) == 0.0
        assert ndcg(ranked, n_relevant=0) == 0.0
        return
    expected = average_precision_score(relevant, scores)
    assert grouped_average_precision(ranked, n_relevant=n) == pytest.approx(expected, abs=1e-9)
    for k in (None, 1, 3, 10):
        expected = ndcg_score([[float(r) for r in relevant]], [scores], k=k)
        assert ndcg(ranked, n_relevant=n, k=k) == pytest.approx(expected, abs=1e-9)


def test_a_constant_score_leaves_all_pairs_open() -> None:
    ranked = blocks([0.5] * 4, [True, False, False, True])
    assert tie_mass(ranked).open_pairs == 1.0
    assert tie_mass(ranked).tied_items == 1.0
    assert [reciprocal_rank(order) for order in (worst(ranked), best(ranked))] == [1 / 3, 1.0]
    # Probabilities that the first of two relevant items among four is at rank 1, 2, 3: 3/6, 2/6, 1/6.
    assert reciprocal_rank(ranked) == pytest.approx(3 / 6 + 2 / 6 / 2 + 1 / 6 / 3)


def test_ties_of_equal_relevance_leave_no_pair_open() -> None:
    mass = tie_mass(blocks([0.9, 0.9, 0.1, 0.1, 0.0], [True, True, False, False, False]))
    assert (mass.tied_items, mass.open_pairs) == (0.8, 0.0)


def test_tie_masses_add_up_over_lists() -> None:
    one, other = TieMass(n_items=2, n_tied=2, n_pairs=1, n_open_pairs=1), TieMass(n_items=2, n_pairs=3)
    assert (one + other).tied_items == 0.5
    assert (one + other).open_pairs == 0.25
    assert (TieMass().tied_items, TieMass().open_pairs) == (0.0, 0.0)


def test_an_unsorted_list_is_refused() -> None:
    with pytest.raises(ValueError, match="falling order"):
        blocks([0.1, 0.2], [True, False])


@given(small, st.integers(1, 8))
def test_the_ndcg_of_visret_is_scikit_learns_of_the_relevance_as_score_over_all_orders(items: Any, k: Any) -> None:
    scores, relevant = as_list(items)
    values = []
    for order in all_orders(scores, relevant):
        top = [float(one) for one in order[:k]]
        ideal = sorted(top, reverse=True)
        # scikit-learn refuses lists of one item; the authors take hit@1 there.
        values.append(ndcg_score([ideal], [top]) if len(top) > 1 and any(top) else float(any(top)))
    assert ndcg_visret(blocks(scores, relevant), k) == pytest.approx(np.mean(values), abs=1e-9)


def test_the_ndcg_of_visret_forgets_ranks_below_the_first() -> None:
    for k, expected in ((10, 0.3937), (30, 0.2814)):
        found = [ndcg_visret(settled([place == rank for place in range(60)]), k) for rank in (0, 1, k - 1, k)]
        assert found == pytest.approx([1, expected, expected, 0], abs=5e-5)
