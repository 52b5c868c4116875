import numpy as np
import pytest
from scipy.stats import permutation_test

from data.metrics.ranked import hit, holm, measure, paired_test, rank_of, reciprocal_rank


def test_ranks_hits_and_reciprocal_ranks() -> None:
    assert rank_of(["robin", "wren", "robin"], "robin") == 1
    assert rank_of(["robin"], "wren") is None
    assert [hit(3, k) for k in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert (hit(None, 5), reciprocal_rank(4), reciprocal_rank(4, 3), reciprocal_rank(None)) == (0, 0.25, 0, 0)


def test_micro_averages_items_and_macro_averages_groups() -> None:
    values, groups = [1.0, 1.0, 1.0, 0.0], ["robin", "robin", "robin", "wren"]
    measured = measure("top-1", values, groups)
    assert (measured.micro, measured.macro) == (0.75, 0.5)
    assert measure("top-1", values, groups) == measured, "the same seed gives the same interval"
    with pytest.raises(ValueError, match="at least one"):
        measure("x", [], [])
    with pytest.raises(ValueError, match="as many groups"):
        measure("x", [1.0], ["a", "b"])


def test_the_interval_resamples_groups() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(100), 5)
    by_group = rng.random(100)
    measured = measure("x", by_group[groups].tolist(), groups.tolist())
    # All values of a group are equal, so the standard error comes from 100 means, not 500.
    error = by_group.std(ddof=1) / 10
    low, high = measured.macro_interval
    assert low == pytest.approx(measured.macro - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(measured.macro + 1.96 * error, abs=0.3 * error)
    assert measured.micro_interval == pytest.approx(measured.macro_interval)


def test_all_sign_patterns_of_a_few_queries_are_counted() -> None:
    # Of 2**3 patterns, the sum is as large as 0.6 in two.
    assert paired_test([0.1, 0.2, 0.3]).p_value == 2 / 8
    # 0.1 + 0.2 - 0.3 = 0: every pattern is as large.
    assert paired_test([0.1, 0.2, -0.3]).p_value == 1.0
    none, one = paired_test([0.0] * 30), paired_test([0.5])
    assert (none.difference, none.interval, none.p_value, none.n_better, none.n_worse) == (0.0, (0.0, 0.0), 1.0, 0, 0)
    assert (one.n, one.error, one.interval) == (1, None, (0.5, 0.5)), "a single query has no standard error"
    assert paired_test([0.1, 0.5, 0.3]).error == pytest.approx(0.2 / np.sqrt(3))
    # The observed signs count among the random ones: of 40 equal differences hardly any pattern is as large.
    assert paired_test([1.0] * 40, n_resamples=100).p_value == pytest.approx(1 / 101)


def test_the_p_value_equals_scipys_permutation_test() -> None:
    rng = np.random.default_rng(3)
    differences = rng.normal(0.05, 0.2, size=40)
    expected = permutation_test(
        (differences, np.zeros(40)), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=20_000, rng=4
    ).pvalue
    assert paired_test(differences.tolist(), n_resamples=20_000).p_value == pytest.approx(expected, abs=0.015)


def test_holms_correction_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
