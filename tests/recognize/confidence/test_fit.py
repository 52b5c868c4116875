"""Fits of logistic models around expected coefficients, and of temperatures."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from recognize.confidence.fit import fit_near, fit_temperature, logistic


def drawn(n: int, offset: float, scale: float, *, seed: int, spread: float = 2, mean: float = 0.5) -> Any:
    """Rows of 1 and a logit, and outcomes by another offset and scale."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=n) * spread + mean
    return np.stack([np.ones(n), logits], axis=1), rng.random(n) < logistic(offset + scale * logits)


START, DEVIATIONS = np.array([0.0, 1.0]), np.array([1.0, 0.3])


@pytest.mark.parametrize("n", [0, 8, 500])
def test_the_fit_has_the_least_penalised_loss(n: Any) -> None:
    rows, is_true = drawn(n, 0.4, 1.3, seed=n)

    def loss(at: Any) -> Any:
        signed = np.where(is_true, -1, 1) * (rows @ at)
        return np.logaddexp(0, signed).sum() + (((at - START) / DEVIATIONS) ** 2).sum() / 2

    found = fit_near(rows, is_true, start=START, deviations=DEVIATIONS)
    assert n or found.tolist() == START.tolist(), "without photos coefficients are the expected ones"
    assert found == pytest.approx(minimize(loss, START, tol=1e-12).x, abs=1e-4)


def test_a_fit_far_from_its_start_converges() -> None:
    """Full Newton steps from here swing between two points for ever."""
    rows, is_true = drawn(600, 2, 0.3, seed=4, spread=5, mean=-1)
    found = fit_near(rows, is_true, start=START, deviations=DEVIATIONS)
    assert logistic(rows @ found).mean() == pytest.approx(is_true.mean(), abs=0.005)


def test_the_fit_recovers_the_true_temperature() -> None:
    rng, true = np.random.default_rng(2), 0.02
    scores = np.sort(rng.normal(size=(600, 8)) * 3 * true, axis=1)[:, ::-1]
    powers = np.exp((scores - scores[:, :1]) / true)
    cases: Any = [(row, rng.choice(8, p=power / power.sum()), 1.0) for row, power in zip(scores, powers, strict=True)]
    found = fit_temperature(cases)
    assert found == pytest.approx(true, rel=0.1)
    assert fit_temperature([*cases, (scores[0], None, 1.0)]) == found
