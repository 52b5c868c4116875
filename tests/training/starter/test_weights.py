"""Fitting of the default preset's weights."""

from __future__ import annotations

import numpy as np

from training.starter.confidence.calibrate import world_of_fold
from training.starter.fitting import as_fusion_weights, fit_weights
from training.starter.study import Study
from training.starter.weights import samples_of


def test_fitted_weights_name_most_photos_right(wide: Study) -> None:
    """More than the texts alone."""
    samples = [s for fold in range(2) for s in samples_of(world_of_fold(wide, fold), 3).values()]
    weights = fit_weights(samples)

    def share_right(used: np.ndarray) -> float:
        return float(np.mean([((s.stages @ used).argmax(axis=1) == s.truth).mean() for s in samples]))

    texts = np.where(np.isin(np.arange(6), (0, 3)), 1.0, 0.0)
    assert share_right(weights) > max(0.8, share_right(texts) + 0.1)
    assert as_fusion_weights(weights).visual > 0
