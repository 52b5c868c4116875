"""Rankings in replies: parsing, counted repairs; windows over long lists; comparison and fusion of orders."""

import itertools
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from data.errors import MalformedAnswer
from rerank.cotrr.orders import fuse_ranks, input_orders, kendall_tau, position_bias, ranks_of, windows
from rerank.cotrr.rankings import parse_ranking

# Reply, photos, positions, faults.
RANKINGS = (
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
    ("\n\n- 3 \n\n  * 1\n\n2\n\n", 3, (2, 0, 1), {"not_json": 1}),
    ("3, 1, 2", 3, (2, 0, 1), {"not_json": 1}),
    ("11, 1, 12", 12, (10, 0, 11), {"not_json": 1, "missing": 9}),
    ("[3, 1, 2]", 3, (2, 0, 1), {"not_json": 1}),
)
NO_RANKINGS = (
    "", "I cannot rank these.", '{"ranking": []}', '{"ranking": "none"}', '{"order": [1]}', '{"ranking": [9, 8]}',
    "Of the 3 photos none fits.", "3, the heron, is a fine bird", "null", '{"ranking": [1, 2',
    'First {"ranking": [3, 1]}, then {"ranking": [2, 1]}', '{"comparison": "", "ranking": [1]}{"ranking": [2]}',
    '{"ranking": [\n3,\n1\n]}\n{"ranking": [\n2,\n1\n]}',
    "First [1] > [2] > [3], then [3] > [2] > [1]", "[1] > [2]\n[2] > [1]",
)  # fmt: skip


def test_a_ranking_is_parsed_and_its_repairs_are_counted() -> None:
    for text, n, positions, faults in RANKINGS:
        ranking = parse_ranking(text, n)
        assert (ranking.positions, ranking.faults) == (positions, Counter(faults)), text
    some = parse_ranking('{"ranking": [5, 2]}', 10, n_wanted=3)
    assert (some.positions, some.faults["missing"]) == ((4, 1), 1), "only wanted places are missing"


def test_a_reply_without_a_ranking_is_refused() -> None:
    for text in NO_RANKINGS:
        with pytest.raises(MalformedAnswer, match="expected a"):
            parse_ranking(text, 3)
            pytest.fail(text)


def test_a_reply_of_empty_lines_takes_no_time() -> None:
    """A model that repeats itself holds up no other query."""
    began = time.process_time()
    with pytest.raises(MalformedAnswer, match="expected a"):
        parse_ranking("\n" * 1_500 + "none", 3)
    assert time.process_time() - began < 2


# --- windows -------------------------------------------------------------------------------------------------------


SIZES = st.tuples(st.integers(0, 60), st.integers(2, 15)).flatmap(
    lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(1, pair[1] - 1))
)


@given(SIZES, st.randoms(use_true_random=False))
def test_windows_cover_the_list_and_move_the_best_items_to_its_front(sizes: Any, random: Any) -> None:
    n, size, step = sizes
    found = windows(n, size, step)
    assert {i for start, end in found for i in range(start, end)} == set(range(n))
    assert all(end - start == min(n, size) for start, end in found)
    assert all(after[1] > before[0] for before, after in itertools.pairwise(found))
    assert not found or found[-1][0] == 0
    items = list(range(n))  # lower is better
    random.shuffle(items)
    for start, end in found:
        items[start:end] = sorted(items[start:end])
    assert items[: size - step] == list(range(min(n, size - step)))


# --- orders --------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 1000))
def test_kendall_tau_matches_scipy(one: Any, seed: Any) -> None:
    other = np.random.default_rng(seed).integers(0, 4, len(one)).tolist()
    expected = kendalltau(one, other).statistic if len(set(one)) > 1 and len(set(other)) > 1 else None
    assert kendall_tau(one, other) == (expected if expected is None else pytest.approx(expected))


def test_ranks_are_fused_by_their_mean_or_by_reciprocals_with_the_constant_60() -> None:
    assert fuse_ranks([[2.0, 1.0, 3.0]] * 2, "mean-rank") == [-2, -1, -3]
    found = fuse_ranks([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], "rrf")
    assert found == pytest.approx([1 / 61 + 1 / 63, 2 / 62, 1 / 63 + 1 / 61], abs=1e-15)
    assert found[0] == found[2] > found[1]  # one first place weighs more than two second ones


def bias_of(weight: Any, n_orders: int = 8) -> Any:
    """Return the bias of a made-up ranker for which each place further back costs `weight`."""
    worth = np.random.default_rng(1).permutation(12).tolist()
    shown = input_orders(12, n_orders, seed="q")
    rankings = []
    for order in shown:
        pull = {item: worth[item] - weight * place for place, item in enumerate(order)}
        rankings.append(ranks_of(sorted(range(12), key=lambda item, pull=pull: -pull[item]), 12))  # type: ignore[misc]
    return position_bias(shown, rankings)


def test_position_bias_is_that_of_a_ranker_with_a_known_one() -> None:
    assert (bias_of(0).effect, bias_of(0).agreement) == (pytest.approx(0), pytest.approx(1))
    assert (bias_of(1e6).effect, bias_of(-1e6).effect) == (pytest.approx(1), pytest.approx(-1))
    effects = [bias_of(weight).effect for weight in (0, 0.3, 1, 3)]
    assert effects == sorted(effects) and effects[1] > 0.02
    assert bias_of(-1).effect < -0.1
    assert bias_of(1, n_orders=1).effect is None
