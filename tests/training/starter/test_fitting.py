from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import default
from training.starter.fitting import as_fusion_weights, calibration_error, stage_scores


@pytest.fixture(scope="module")
def world() -> Any:
    """Forty species: some without text, some without anchors, every third one in the training set."""
    rng = np.random.default_rng(5)

    rows = lambda n: as_unit_rows(rng.normal(size=(n, 16)))  # noqa: E731
    owners = np.sort(rng.choice(np.arange(2, 40), 60))
    described, trained = np.setdiff1d(np.arange(40), [5, 7]), np.arange(0, 40, 3)
    knowledge = Knowledge(
        n_species=40,
        names=("a", "b"),
        chunks=tuple(
            VectorTable(ids=tuple(f"c{i}" for i in described), owners=described, vectors=rows(len(described)))
            for _ in range(2)
        ),
        anchors=VectorTable(ids=tuple(map(str, range(60))), owners=owners, vectors=rows(60)),
        images=tuple(VectorTable(ids=tuple(map(str, range(60))), owners=owners, vectors=rows(60)) for _ in range(2)),
        trained=trained,
        prototypes=rows(len(trained)),
    )
    return knowledge, Queries(text_image=(rows(12), rows(12)), visual=rows(12))


def test_weighted_stage_scores_equal_the_default_preset(world: Any) -> None:
    """Fitting and use give every species the same score."""
    knowledge, queries = world
    weights = np.array([0.4, 0.6, 1.5, 1.1, 2.2, 0.7])
    expected = stage_scores(knowledge, queries) @ weights
    rankings = default(knowledge, queries, weights=as_fusion_weights(weights), m=1000)
    for row, ranking in zip(expected, rankings, strict=True):
        assert len(ranking.species) > 35  # every species with a text or an anchor
        assert ranking.scores == pytest.approx(row[ranking.species], abs=1e-4)


def test_the_calibration_error_by_hand() -> None:
    """Two bins of two: confidence .1 and .3, none right; .6 and 1.0, one right: (.2 + .3) / 2."""
    sure, right = np.array([0.6, 0.1, 1.0, 0.3]), np.array([True, False, False, False])
    assert calibration_error(sure, right, n_bins=2) == pytest.approx(0.25)
