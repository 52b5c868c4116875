"""The shipped calibration is fitted and measured on photos that nothing else has seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from recognize.confidence.calibration import chances_by
from recognize.scoring.fusion import WEIGHTS
from training.starter.confidence.calibrate import fit_logistic, fit_parameters, fitting_runs, world_of_fold
from training.starter.confidence.reliability import measured_world
from training.starter.confidence.worlds import draw_runs
from training.starter.protocol import N_FOLDS
from training.starter.study import Study


def test_measured_photos_are_hidden_or_set_aside_and_nothing_was_fitted_on_them(wide: Study) -> None:
    world, collection = measured_world(wide), wide.collection
    photos = set(world.photos)
    assert world.model is wide.twin
    assert photos == set(collection.hidden) | set(collection.all_aside)
    assert len(photos) > 300
    assert not photos & set(collection.twin_training)
    for fold in range(N_FOLDS):
        fitting = world_of_fold(wide, fold)
        assert not photos & (set(fitting.photos) | set(fitting.anchors))
        assert not set(collection.all_aside) & set(collection.unseen_training(fold))


@pytest.mark.thorough
def test_a_fit_separates_held_species_from_others(wide: Study) -> None:
    several = [run for run in fitting_runs(wide, ["default"], n=6)["default"] if run.mode == "several"]
    parameters = fit_parameters(several, WEIGHTS["starter"]["several"])
    tests = [run for run in draw_runs(measured_world(wide), ["default"], n=12, seed=99)["default"]
             if run.mode == "several"]  # fmt: skip
    for run in tests:
        assert not set(run.photos.tolist()) & {int(photo) for photo in run.knowledge.anchors.ids}
    rows = np.concatenate([run.evidence(parameters.temperature) for run in tests])
    held = np.concatenate([run.is_held for run in tests])
    right = np.concatenate([run.right[:, 0] for run in tests])
    unknown = chances_by(parameters.unknown, rows)
    assert unknown[~held].mean() > unknown[held].mean() + 0.3
    assert (unknown[~held][:, None] > unknown[held][None]).mean() > 0.85
    species = chances_by(parameters.held["species"], rows[held])
    assert species.mean() == pytest.approx(right[held].mean(), abs=0.1)


def test_a_logistic_fit_equals_scikit_learn_with_the_same_ridge() -> None:
    rng, n = np.random.default_rng(1), 2_000
    features = rng.normal(size=(n, 2)) * [3.0, 0.5] + [1.0, 4.0]
    truth = rng.random(n) < 1 / (1 + np.exp(3 - features @ [0.8, 0.6]))
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    other = LogisticRegression(C=1 / (1e-3 * n), tol=1e-10).fit((features - mean) / deviation, truth)
    rows = np.column_stack([np.ones(n), features, np.full(n, 7.0)])
    found = fit_logistic(rows, truth, np.full(n, 1 / n))
    assert found[1:3] * deviation == pytest.approx(other.coef_[0], abs=1e-4)
    assert found[3] == 0, "a constant feature gets no weight"
    separable = fit_logistic(rows, rows[:, 1] > 1, np.full(n, 1 / n))
    assert np.isfinite(separable).all(), "the ridge gives a finite maximum"
