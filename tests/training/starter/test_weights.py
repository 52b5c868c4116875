"""Fitting of the default preset's weights."""

from __future__ import annotations

import numpy as np
import pytest

from training.starter.confidence.calibrate import world_of_fold
from training.starter.fitting import as_fusion_weights, fit_weights
from training.starter.protocol import N_FOLDS
from training.starter.study import Study
from training.starter.weights import ANCHORS, samples_of


@pytest.mark.parametrize("n_anchors", ANCHORS.values())
def test_samples_are_of_new_and_known_species_among_all(wide: Study, n_anchors: int) -> None:
    world = world_of_fold(wide, 1)
    samples = samples_of(world, n_anchors)
    assert {kind: sample.share for kind, sample in samples.items()} == {"new": 0.5, "known": 0.5}
    for kind, sample in samples.items():
        assert sample.stages.shape == (len(sample.truth), len(world.names), 6)
        assert set(world.prototype_rows[sample.truth] < 0) == {kind == "new"}
        assert len(sample.truth) > 30


def test_anchors_are_not_among_the_photos_of_samples(wide: Study) -> None:
    """With three anchors a species, each species of the fold has up to two photos fewer than with one."""
    world = world_of_fold(wide, 1)
    counts = [np.bincount(samples_of(world, n)["new"].truth, minlength=len(world.names)) for n in (1, 3)]
    free = np.bincount(world.labels[world.photos], minlength=len(world.names))
    is_new = world.prototype_rows < 0
    possible = np.bincount(world.labels[world.anchors], minlength=len(world.names))
    for n, found in zip((1, 3), counts, strict=True):
        np.testing.assert_array_equal(found[is_new], (free - np.minimum(possible, n))[is_new])
        assert not found[~is_new].any()


def test_fitted_weights_name_most_photos_right(wide: Study) -> None:
    """More than the texts alone."""
    samples = [s for fold in range(N_FOLDS) for s in samples_of(world_of_fold(wide, fold), 3).values()]
    weights = fit_weights(samples)

    def share_right(used: np.ndarray) -> float:
        return float(np.mean([((s.stages @ used).argmax(axis=1) == s.truth).mean() for s in samples]))

    texts = np.where(np.isin(np.arange(6), (0, 3)), 1.0, 0.0)
    assert share_right(weights) > max(0.8, share_right(texts) + 0.1)
    assert as_fusion_weights(weights).visual > 0
