"""Paired tests against hand-worked cases, scipy, and their nominal error rate."""

import numpy as np
import pytest
from scipy.stats import permutation_test

from data.metrics.significance import holm, paired_test


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


def test_the_false_positive_rate_is_about_5_percent() -> None:
    rng = np.random.default_rng(5)
    found = [paired_test(rng.normal(0, 1, size=25).tolist(), n_resamples=500).p_value <= 0.05 for _ in range(400)]
    assert 0.02 <= np.mean(found) <= 0.09


def test_holms_correction_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
