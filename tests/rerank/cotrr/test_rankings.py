"""Rankings in replies: parsing, counted repairs, and the comparison and fusion of orders."""

import json
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from data.errors import MalformedAnswer
from rerank.cotrr.orders import fuse_ranks, input_orders, kendall_tau, position_bias, ranks_of
from rerank.cotrr.rankings import json_in, parse_ranking


@pytest.mark.parametrize(
    ("text", "n", "positions", "faults"),
    [
        ('{"ranking": [2, 3, 1]}', 3, (1, 2, 0), {}),
        ('{"ranking": [2, 2, 3, 1, 2]}', 3, (1, 2, 0), {"duplicates": 2}),
        ('{"ranking": [7, 2, 0, -1, 1, 3]}', 3, (1, 0, 2), {"invalid": 3}),
        ('{"ranking": [2]}', 3, (1,), {"missing": 2}),
        ('{"ranking": ["3", "[1]", "photo 2", 2.0]}', 3, (2, 0, 1), {"duplicates": 1}),
        ('{"ranking": [true, null, [1], 1.5, "three", 2]}', 2, (1,), {"invalid": 5, "missing": 1}),
        ('```json\n{"ranking": [2, 1]}\n```', 2, (1, 0), {"not_json": 1}),
        ('{"ranking": [2, 1]}, and once more: {"ranking": [2, 1]}', 2, (1, 0), {"not_json": 1}),
        ("[11] > [1] > [12]", 12, (10, 0, 11), {"not_json": 1, "missing": 9}),
        ("The best come first.\n3\n1\n2", 3, (2, 0, 1), {"not_json": 1}),
        ("3, 1, 2", 3, (2, 0, 1), {"not_json": 1}),
        ("11, 1, 12", 12, (10, 0, 11), {"not_json": 1, "missing": 9}),
        ("[3, 1, 2]", 3, (2, 0, 1), {"not_json": 1}),
    ],
)
def test_a_ranking_is_parsed_and_its_repairs_are_counted(text: str, n: int, positions: Any, faults: Any) -> None:
    ranking = parse_ranking(text, n)
    assert ranking.positions == positions
    assert ranking.faults == Counter(faults)


@pytest.mark.parametrize(
    "text",
    [
        "", "I cannot rank these.", '{"ranking": []}', '{"ranking": "none"}', '{"order": [1]}', '{"ranking": [9, 8]}',
        "Of the 3 photos none fits.", "3, the heron, is a fine bird", "null", '{"ranking": [1, 2',
        'First {"ranking": [3, 1]}, then {"ranking": [2, 1]}', '{"comparison": "", "ranking": [1]}{"ranking": [2]}',
        '{"ranking": [\n3,\n1\n]}\n{"ranking": [\n2,\n1\n]}',
        "First [1] > [2] > [3], then [3] > [2] > [1]", "[1] > [2]\n[2] > [1]",
    ],
)  # fmt: skip
def test_a_reply_without_a_ranking_is_refused(text: str) -> None:
    with pytest.raises(MalformedAnswer, match="expected a"):
        parse_ranking(text, 3)


def test_a_reply_of_empty_lines_takes_no_time() -> None:
    """A model that repeats itself holds up no other query."""
    began = time.process_time()
    with pytest.raises(MalformedAnswer, match="expected a"):
        parse_ranking("\n" * 1_500 + "none", 3)
    assert time.process_time() - began < 2


def test_a_list_may_have_empty_lines_and_marks() -> None:
    ranking = parse_ranking("\n\n- 3 \n\n  * 1\n\n2\n\n", 3)
    assert ranking.positions == (2, 0, 1)


def test_a_top_list_counts_only_wanted_places_as_missing() -> None:
    ranking = parse_ranking('{"ranking": [5, 2]}', 10, n_wanted=3)
    assert (ranking.positions, ranking.faults["missing"]) == ((4, 1), 1)


@given(st.integers(1, 12), st.lists(st.one_of(st.integers(-3, 15), st.text(max_size=3), st.none()), max_size=30))
def test_photos_are_unique_and_every_fault_is_counted(n: Any, entries: Any) -> None:
    try:
        ranking = parse_ranking(json.dumps({"ranking": entries}), n)
    except MalformedAnswer:
        return
    assert len(set(ranking.positions)) == len(ranking.positions)
    assert set(ranking.positions) <= set(range(n))
    faults = ranking.faults
    assert len(ranking.positions) + faults["duplicates"] + faults["invalid"] == len(entries)
    assert faults["missing"] == n - len(ranking.positions)


def test_a_json_array_is_refused() -> None:
    with pytest.raises(MalformedAnswer, match="expected a JSON object"):
        json_in("[1, 2]")


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 1000))
def test_kendall_tau_matches_scipy(one: Any, seed: Any) -> None:
    other = np.random.default_rng(seed).integers(0, 4, len(one)).tolist()
    expected = kendalltau(one, other).statistic if len(set(one)) > 1 and len(set(other)) > 1 else None
    found = kendall_tau(one, other)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected)


def test_unranked_items_share_the_mean_of_the_remaining_ranks() -> None:
    assert ranks_of([1], 3) == [2.5, 1.0, 2.5]
    assert sum(ranks_of([4, 0], 6)) == sum(range(1, 7))


def test_orders_come_in_reversed_pairs_and_depend_on_the_seed() -> None:
    orders = input_orders(6, 4, seed="q")
    assert orders[0] == [0, 1, 2, 3, 4, 5]
    assert orders[1] == orders[0][::-1]
    assert orders[3] == orders[2][::-1]
    assert sorted(orders[2]) == orders[0]
    assert orders == input_orders(6, 4, seed="q")
    assert orders[2] != input_orders(6, 3, seed="p")[2]
    assert len(input_orders(6, 3, seed="q")) == 3


@pytest.mark.parametrize("rule", ["mean-rank", "rrf"])
def test_fusing_equal_rankings_keeps_their_order(rule: str) -> None:
    ranks = [2.0, 1.0, 3.0]
    scores = fuse_ranks([ranks, ranks], rule)
    assert sorted(range(3), key=lambda i: -scores[i]) == [1, 0, 2]


def test_rrf_favours_first_places_more_than_mean_rank() -> None:
    rankings = [[1.0, 2.0], [9.0, 8.0]]
    assert fuse_ranks(rankings, "mean-rank")[0] == fuse_ranks(rankings, "mean-rank")[1]
    assert fuse_ranks(rankings, "rrf")[0] > fuse_ranks(rankings, "rrf")[1]


# --- position bias of made-up rankers with a known bias ----------------------------------------------------------


def rank_with_bias(order: Any, worth: Any, weight: Any) -> Any:
    """Return the ranks of items when each place further back costs `weight`."""
    pull = {item: worth[item] - weight * place for place, item in enumerate(order)}
    best = sorted(range(len(worth)), key=lambda item: -pull[item])
    return ranks_of(best, len(worth))


def bias_of(weight: Any, n_orders: int = 8) -> Any:
    worth = np.random.default_rng(1).permutation(12).tolist()
    shown = input_orders(12, n_orders, seed="q")
    return position_bias(shown, [rank_with_bias(order, worth, weight) for order in shown])


def test_a_ranker_without_position_bias_has_full_agreement() -> None:
    found = bias_of(0)
    assert found.effect == pytest.approx(0)
    assert found.agreement == pytest.approx(1)


def test_a_ranker_that_copies_the_order_has_full_position_bias() -> None:
    assert bias_of(1e6).effect == pytest.approx(1)
    assert bias_of(-1e6).effect == pytest.approx(-1)


def test_position_bias_grows_with_the_weight_of_the_place() -> None:
    effects = [bias_of(weight).effect for weight in (0, 0.3, 1, 3)]
    assert effects == sorted(effects)
    assert effects[1] > 0.02
    assert bias_of(-1).effect < -0.1


def test_position_bias_needs_more_than_one_order() -> None:
    assert bias_of(1, n_orders=1).effect is None


def test_rrf_adds_reciprocal_ranks_with_the_constant_60() -> None:
    found = fuse_ranks([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], "rrf")
    assert found == pytest.approx([1 / 61 + 1 / 63, 2 / 62, 1 / 63 + 1 / 61], abs=1e-15)
    assert found[0] == found[2] > found[1]  # one first place weighs more than two second ones
