"""The measures against hand-worked tables and scikit-learn."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from data.metrics.ranked import (
    average_precision,
    hit,
    measure,
    ndcg,
    precision,
    rank_of,
    recall,
    reciprocal_rank,
)

relevances = st.lists(st.booleans(), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("relevant", "n_relevant", "k", "standard", "inquire"),
    [
        ([1, 0, 1, 0], 2, None, (1 + 2 / 3) / 2, (1 + 2 / 3) / 2),
        ([1, 0, 1, 0], 4, 2, 1 / 4, 1 / 2),  # one hit in two places, four to find
        ([0, 0, 1], 1, 2, 0.0, 0.0),  # beyond the cutoff
        ([1, 1, 1], 10, 3, 3 / 10, 1.0),  # perfect as far as it goes
        ([0, 1, 1], 3, None, (1 / 2 + 2 / 3) / 3, (1 / 2 + 2 / 3) / 3),  # one never found
        ([0, 0], 0, None, 0.0, 0.0),
        ([], 2, None, 0.0, 0.0),
    ],
)
def test_average_precision_by_hand(relevant: Any, n_relevant: int, k: int | None, standard: Any, inquire: Any) -> None:
    relevant = [bool(r) for r in relevant]
    assert average_precision(relevant, n_relevant=n_relevant, k=k) == pytest.approx(standard)
    assert average_precision(relevant, n_relevant=n_relevant, k=k, divided_by="reachable") == pytest.approx(inquire)


@given(relevances)
def test_average_precision_is_that_of_scikit_learn(relevant: Any) -> None:
    if not any(relevant):
        return
    scores = -np.arange(len(relevant))
    expected = average_precision_score(relevant, scores)
    assert average_precision(relevant, n_relevant=sum(relevant)) == pytest.approx(expected)


@given(relevances, st.integers(1, 50), st.integers(0, 5))
def test_the_inquire_form_is_the_average_over_hits_scaled_by_their_share(relevant: Any, k: Any, n_missed: Any) -> None:
    n_relevant = sum(relevant) + n_missed
    hits = sum(relevant[:k])
    expected = 0.0
    if hits:
        top = relevant[:k]
        expected = average_precision_score(top, -np.arange(len(top))) * hits / min(n_relevant, k)
    got = average_precision(relevant, n_relevant=n_relevant, k=k, divided_by="reachable")
    assert got == pytest.approx(expected)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.integers(1, 40))
def test_ndcg_is_that_of_scikit_learn(gains: Any, k: Any) -> None:
    if not any(gains):
        assert ndcg(gains, all_gains=gains, k=k) == 0.0
        return
    expected = ndcg_score([gains], [-np.arange(len(gains))], k=k)
    assert ndcg(gains, all_gains=gains, k=k) == pytest.approx(expected)


def test_ndcg_counts_what_the_list_missed() -> None:
    # One of two relevant items found, at rank 2: (1 / log2 3) / (1 + 1 / log2 3).
    expected = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert ndcg([0, 1], all_gains=[1, 1]) == pytest.approx(expected)


def test_ndcg_at_rank_four_is_not_the_constant_of_a_known_wrong_formula() -> None:
    assert ndcg([0, 0, 0, 1], all_gains=[1]) == pytest.approx(1 / math.log2(5))


def test_ranks_hits_and_reciprocal_ranks() -> None:
    assert rank_of(["robin", "wren", "robin"], "robin") == 1
    assert rank_of(["robin"], "wren") is None
    assert [hit(3, k) for k in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert hit(None, 5) == 0
    assert reciprocal_rank(4) == 0.25
    assert reciprocal_rank(4, 3) == 0
    assert reciprocal_rank(None) == 0


def test_precision_divides_by_k_and_recall_by_what_there_is() -> None:
    assert precision([True, False], 4) == 0.25
    assert recall([True, False, True], 2, n_relevant=4) == 0.25
    assert recall([False], 1, n_relevant=0) == 0


@given(relevances, st.integers(1, 50))
def test_every_measure_lies_between_0_and_1(relevant: Any, k: Any) -> None:
    n = sum(relevant)
    gains = [float(r) for r in relevant]
    found = [
        average_precision(relevant, n_relevant=n, k=k),
        average_precision(relevant, n_relevant=n, k=k, divided_by="reachable"),
        ndcg(gains, all_gains=gains, k=k),
        precision(relevant, k),
        recall(relevant, k, n_relevant=n),
    ]
    assert all(0 <= value <= 1 + 1e-12 for value in found)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="k >= 1"):
        hit(1, 0)
    with pytest.raises(ValueError, match="expected n_relevant >= 2"):
        average_precision([True, True], n_relevant=1)
    with pytest.raises(ValueError, match="at least one"):
        measure("x", [], [])
    with pytest.raises(ValueError, match="as many groups"):
        measure("x", [1.0], ["a", "b"])


def test_micro_is_by_item_and_macro_by_group() -> None:
    measured = measure("top-1", [1, 1, 1, 0], ["robin", "robin", "robin", "wren"])
    assert (measured.micro, measured.macro) == (0.75, 0.5)


def test_the_interval_is_that_of_drawing_groups() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(100), 5)
    by_group = rng.random(100)
    measured = measure("x", by_group[groups].tolist(), groups.tolist())
    # All values of a group are equal, so the standard error is that of 100 means, not of 500.
    error = by_group.std(ddof=1) / 10
    low, high = measured.macro_interval
    assert low == pytest.approx(measured.macro - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(measured.macro + 1.96 * error, abs=0.3 * error)
    assert measured.micro_interval == pytest.approx(measured.macro_interval)


def test_the_same_seed_gives_the_same_interval() -> None:
    values, groups = [0.0, 1.0, 1.0, 0.0], ["a", "b", "c", "d"]
    assert measure("x", values, groups) == measure("x", values, groups)
    assert measure("x", values, groups, seed=1).micro == measure("x", values, groups).micro
