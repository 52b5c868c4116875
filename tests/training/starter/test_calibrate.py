"""Fitted calibration, and the shipped calibration file."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from data.starter.knowledge import read_species
from recognize.confidence.calibration import RANKS, read_calibration
from recognize.scoring.fusion import WEIGHTS
from recognize.starter.encoders import load_starter
from training.starter.calibrate import fit_logistic, fit_temperature
from training.starter.fitting import softmax

SHIPPED = Path(str(files("data"))) / "starter" / "calibration.json"


def made(n: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.ones((n, 1)), rng.normal(size=(n, 2)) * [3.0, 0.5] + [1.0, 4.0]], axis=1)
    chances = 1 / (1 + np.exp(-(rows @ [-3.0, 0.8, 0.6])))
    return rows, rng.random(n) < chances


def test_the_fit_recovers_the_true_coefficients() -> None:
    rows, truth = made(20_000)
    found = fit_logistic(rows, truth, np.full(20_000, 1 / 20_000))
    assert found[1:] == pytest.approx([0.8, 0.6], abs=0.1)
    assert (1 / (1 + np.exp(-(rows @ found)))).mean() == pytest.approx(truth.mean(), abs=1e-6)


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


class Scored:
    """A case with nothing but scores."""

    def __init__(self, scores: Any, at: Any) -> None:
        self._found = scores, at

    def scores(self) -> Any:
        return self._found


def test_the_fit_recovers_the_true_temperature() -> None:
    rng = np.random.default_rng(2)
    scores = np.sort(rng.normal(size=(4_000, 8)) * 3, axis=1)[:, ::-1]
    cases = [Scored(row, rng.choice(8, p=softmax(row / 1.7))) for row in scores]
    assert fit_temperature([cases]) == pytest.approx(1.7, rel=0.05)
    assert fit_temperature([[*cases, Scored(scores[0], None)]]) == pytest.approx(1.7, rel=0.05)


# --- the shipped file --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped() -> Any:
    return read_calibration(SHIPPED)


@pytest.mark.parametrize("mode", ["several", "single"])
def test_the_shipped_calibration_fits_the_starter_knowledge(shipped: Any, mode: str) -> None:
    """If spaces, vocabulary or weights change, the calibration must be fitted again."""
    encoders = load_starter()
    taxon_ids = [species.taxon.taxon_id for species in read_species()]
    assert not shipped.misfit(
        profile="starter", preset="default", spaces=encoders.spaces, taxon_ids=taxon_ids, mode=mode,
        weights=WEIGHTS["starter"][mode],
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["several", "single"])
def test_more_probability_mass_gives_more_confidence(shipped: Any, mode: str) -> None:
    fitted = shipped.parameters[mode]
    assert all(getattr(fitted, rank)["mass"] > 0 for rank in RANKS)
    assert fitted.unknown["mass"] < 0
    assert 0.5 < fitted.temperature < 2
