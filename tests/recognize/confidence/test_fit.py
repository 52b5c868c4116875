"""Fits of logistic models and temperatures, against independent ones."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from recognize.confidence.fit import fit_logistic, fit_near, fit_temperature, logistic


def made(n: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.ones((n, 1)), rng.normal(size=(n, 2)) * [3.0, 0.5] + [1.0, 4.0]], axis=1)
    chances = 1 / (1 + np.exp(-(rows @ [-3.0, 0.8, 0.6])))
    return rows, rng.random(n) < chances


def test_the_fit_equals_scikit_learn_with_the_same_ridge() -> None:
    rows, truth = made(3_000, seed=1)
    mean, deviation = rows[:, 1:].mean(axis=0), rows[:, 1:].std(axis=0)
    other = LogisticRegression(C=1 / (1e-3 * 3_000), tol=1e-10).fit((rows[:, 1:] - mean) / deviation, truth)
    found = fit_logistic(rows, truth, np.full(3_000, 1 / 3_000))
    assert found[1:] * deviation == pytest.approx(other.coef_[0], abs=1e-4)


def test_a_constant_feature_gets_no_weight() -> None:
    rows, truth = made(500)
    found = fit_logistic(np.concatenate([rows, np.full((500, 1), 7.0)], axis=1), truth, np.full(500, 1 / 500))
    assert found[3] == 0
    assert np.isfinite(found).all()


def test_coefficients_stay_finite_for_separable_classes() -> None:
    """The ridge gives a finite maximum."""
    rows, _ = made(200)
    assert np.isfinite(fit_logistic(rows, rows[:, 1] > 1, np.full(200, 1 / 200))).all()


# --- around expected coefficients --------------------------------------------------------------------------------


def drawn(n: Any, offset: Any, scale: Any, seed: int = 0) -> Any:
    """Rows of 1 and a logit, and outcomes by another offset and scale."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=n) * 2 + 0.5
    return np.stack([np.ones(n), logits], axis=1), rng.random(n) < logistic(offset + scale * logits)


START, DEVIATIONS = np.array([0.0, 1.0]), np.array([1.0, 0.3])


def test_without_photos_coefficients_are_the_expected_ones() -> None:
    found = fit_near(np.empty((0, 2)), np.empty(0, dtype=bool), start=START, deviations=DEVIATIONS)
    np.testing.assert_array_equal(found, START)


@pytest.mark.parametrize("n", [8, 500])
def test_the_fit_has_the_least_penalised_loss(n: Any) -> None:
    rows, is_true = drawn(n, 0.4, 1.3, seed=n)

    def loss(at: Any) -> Any:
        signed = np.where(is_true, -1, 1) * (rows @ at)
        return np.logaddexp(0, signed).sum() + (((at - START) / DEVIATIONS) ** 2).sum() / 2

    found = fit_near(rows, is_true, start=START, deviations=DEVIATIONS)
    assert found == pytest.approx(minimize(loss, START, tol=1e-12).x, abs=1e-4)


def test_a_fit_far_from_its_start_converges() -> None:
    """Full Newton steps from here swing between two points for ever."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=600) * 5 - 1
    rows, is_true = np.stack([np.ones(600), logits], axis=1), rng.random(600) < logistic(2 + 0.3 * logits)
    found = fit_near(rows, is_true, start=START, deviations=DEVIATIONS)
    assert logistic(rows @ found).mean() == pytest.approx(is_true.mean(), abs=0.005)


# --- temperature -------------------------------------------------------------------------------------------------


def test_the_fit_recovers_the_true_temperature() -> None:
    rng, true = np.random.default_rng(2), 0.02
    scores = np.sort(rng.normal(size=(4_000, 8)) * 3 * true, axis=1)[:, ::-1]
    powers = np.exp((scores - scores[:, :1]) / true)
    cases: Any = [(row, rng.choice(8, p=power / power.sum()), 1.0) for row, power in zip(scores, powers, strict=True)]
    found = fit_temperature(cases)
    assert found == pytest.approx(true, rel=0.05)
    assert fit_temperature([*cases, (scores[0], None, 1.0)]) == found
