"""Fits of confidence models: logistic regression around expected coefficients, and temperature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recognize.scoring.pairs import Scores

Truths = NDArray[np.bool_]

_ROUNDS: Final = 50
_DONE: Final = 1e-9  # largest step of a converged fit
_LIMIT: Final = 50.0  # of logits


def logistic(logits: Scores) -> Scores:
    """Return probabilities."""
    probabilities: Scores = 1 / (1 + np.exp(-np.clip(logits, -_LIMIT, _LIMIT)))
    return probabilities


def fit_near(rows: Scores, is_true: Truths, *, start: Scores, deviations: Scores) -> Scores:
    """Return the most probable coefficients of a logistic model, held near expected ones.

    Args:
        rows: `(n, n_features)`.
        is_true: `(n,)`.
        start: expected coefficients, `(n_features,)`; the result without rows.
        deviations: their standard deviations, `(n_features,)`.
    """
    return newton(rows, is_true, np.ones(len(rows)), deviations**-2.0, start)


def newton(rows: Scores, is_true: Truths, weights: Scores, penalty: Scores, start: Scores) -> Scores:
    """Return the coefficients with the least loss; `penalty` holds each one near its `start`."""
    signs = np.where(is_true, -1.0, 1.0)

    def loss(at: Scores) -> float:
        return float(weights @ np.logaddexp(0, signs * (rows @ at)) + penalty @ (at - start) ** 2 / 2)

    found, least = start, loss(start)
    for _ in range(_ROUNDS):
        chances = logistic(rows @ found)
        slope = rows.T @ (weights * (chances - is_true)) + penalty * (found - start)
        curvature = (rows * (weights * chances * (1 - chances))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(curvature + 1e-12 * np.eye(len(start)), slope)
        if np.abs(step).max() < _DONE:
            break
        while (now := loss(found - step)) > least and np.abs(step).max() >= _DONE:
            step = step / 2  # a full step may overshoot far from the optimum
        found, least = found - step, now
    return found


def fit_temperature(cases: Iterable[tuple[Scores, int | None, float]]) -> float:
    """Return the temperature with the highest likelihood from 0.002 to 20, by golden section: one for cosines too.

    Args:
        cases: for each photo the scores of its candidates, the position of the right one, and its weight; photos
            without the right one are ignored.
    """
    ranked: Sequence[tuple[Scores, int, float]] = [(scores, at, share) for scores, at, share in cases if at is not None]

    def loss(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return float(sum(w * (np.logaddexp.reduce(s * scale) - s[at] * scale) for s, at, w in ranked))

    ratio = (np.sqrt(5) - 1) / 2
    low, high = -6.0, 3.0
    for _ in range(32):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))
