"""Measures under ties against all orders, scikit-learn and trec_eval's own code."""

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from data.metrics.ranked import average_precision, hit, ndcg, precision, recall, reciprocal_rank
from data.metrics.ties import (
    TieMass,
    best,
    blocks,
    expected_average_precision,
    expected_gains,
    expected_hit,
    expected_ndcg,
    expected_reciprocal_rank,
    grouped_average_precision,
    tie_mass,
    worst,
)

# Up to seven items of up to three scores, so that all orders can be counted.
small = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=7)


def as_list(items: Any) -> Any:
    items = sorted(items, key=lambda item: -item[0])
    return [float(score) for score, _ in items], [relevant for _, relevant in items]


def all_orders(scores: Any, relevant: Any) -> Any:
    """The relevance in every order that the scores allow."""
    return [
        [relevant[i] for i in order]
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]


def first(relevant: Any) -> Any:
    return relevant.index(True) + 1 if True in relevant else None


@given(small, st.integers(1, 8), st.integers(0, 2))
def test_expected_worst_and_best_are_those_over_all_orders(items: Any, k: Any, n_missed: Any) -> None:
    scores, relevant = as_list(items)
    ranked, n = blocks(scores, relevant), sum(relevant) + n_missed
    ideal = [1.0] * n
    figures = {
        "AP": lambda order: average_precision(order, n_relevant=n, k=k),
        "INQUIRE": lambda order: average_precision(order, n_relevant=n, k=k, divided_by="reachable"),
        "nDCG": lambda order: ndcg([float(found) for found in order], all_gains=ideal, k=k),
        "MRR": lambda order: reciprocal_rank(first(order), k),
        "hit": lambda order: hit(first(order), k),
        "P": lambda order: precision(order, k),
        "R": lambda order: recall(order, k, n_relevant=n),
    }
    expected = {
        "AP": expected_average_precision(ranked, n_relevant=n, k=k),
        "INQUIRE": expected_average_precision(ranked, n_relevant=n, k=k, divided_by="reachable"),
        "nDCG": expected_ndcg(ranked, n_relevant=n, k=k),
        "MRR": expected_reciprocal_rank(ranked, k),
        "hit": expected_hit(ranked, k),
        "P": sum(expected_gains(ranked)[:k]) / k,
        "R": sum(expected_gains(ranked)[:k]) / n if n else 0.0,
    }
    orders = all_orders(scores, relevant)
    for name, figure in figures.items():
        values = [figure(order) for order in orders]
        assert expected[name] == pytest.approx(np.mean(values), abs=1e-9), name
        assert figure(worst(ranked)) == pytest.approx(min(values), abs=1e-9), name
        assert figure(best(ranked)) == pytest.approx(max(values), abs=1e-9), name


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_grouped_average_precision_and_expected_ndcg_are_scikit_learns(items: Any) -> None:
    scores, relevant = as_list(items)
    ranked, n = blocks(scores, relevant), sum(relevant)
    if n == 0:
        assert grouped_average_precision(ranked, n_relevant=0) == 0.0
        assert expected_ndcg(ranked, n_relevant=0) == 0.0
        return
    expected = average_precision_score(relevant, scores)
    assert grouped_average_precision(ranked, n_relevant=n) == pytest.approx(expected, abs=1e-9)
    for k in (None, 1, 3, 10):
        expected = ndcg_score([[float(r) for r in relevant]], [scores], k=k)
        assert expected_ndcg(ranked, n_relevant=n, k=k) == pytest.approx(expected, abs=1e-9)


def test_a_constant_scorer_decides_nothing() -> None:
    ranked = blocks([0.5] * 4, [True, False, False, True])
    assert tie_mass(ranked).open_pairs == 1.0
    assert tie_mass(ranked).tied_items == 1.0
    assert [reciprocal_rank(first(order)) for order in (worst(ranked), best(ranked))] == [1 / 3, 1.0]
    # Chances that the first of two relevant items among four stands at place 1, 2, 3: 3/6, 2/6, 1/6.
    assert expected_reciprocal_rank(ranked) == pytest.approx(3 / 6 + 2 / 6 / 2 + 1 / 6 / 3)


def test_tied_images_of_one_kind_leave_no_pair_open() -> None:
    mass = tie_mass(blocks([0.9, 0.9, 0.1, 0.1, 0.0], [True, True, False, False, False]))
    assert (mass.tied_items, mass.open_pairs) == (0.8, 0.0)


def test_masses_add_up_over_lists_and_nothing_is_nothing() -> None:
    one, other = TieMass(n_items=2, n_tied=2, n_pairs=1, n_open_pairs=1), TieMass(n_items=2, n_pairs=3)
    assert (one + other).tied_items == 0.5
    assert (one + other).open_pairs == 0.25
    assert (TieMass().tied_items, TieMass().open_pairs) == (0.0, 0.0)


def test_a_list_that_is_not_sorted_is_refused() -> None:
    with pytest.raises(ValueError, match="falling order"):
        blocks([0.1, 0.2], [True, False])
