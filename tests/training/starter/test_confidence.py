import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from training.starter.confidence.calibrate import fit_logistic, world_of_fold
from training.starter.confidence.reliability import measured_world
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
