"""Fitting of the shipped calibration over random knowledge bases."""

from __future__ import annotations

import numpy as np
import pytest

from recognize.confidence.calibration import chances_by
from recognize.confidence.ranks import RANKS
from recognize.scoring.fusion import WEIGHTS
from recognize.scoring.presets import PRESETS
from training.starter.confidence import calibrate
from training.starter.confidence.calibrate import (
    MODES,
    fit_all,
    fit_parameters,
    fitting_runs,
    weights_of,
    world_of_fold,
)
from training.starter.confidence.reliability import measured_world
from training.starter.confidence.worlds import Run, draw_runs
from training.starter.protocol import N_FOLDS
from training.starter.study import Study

FEW = ("anchors-only", "default")


@pytest.fixture(scope="module")
def runs(wide: Study) -> dict[str, list[Run]]:
    return fitting_runs(wide, FEW, n=6)


@pytest.mark.parametrize("fold", range(N_FOLDS))
def test_the_world_of_a_fold_has_no_photo_that_is_hidden_or_set_aside(wide: Study, fold: int) -> None:
    world, collection = world_of_fold(wide, fold), wide.collection
    kept_out = set(collection.hidden) | set(collection.all_aside)
    assert not (set(world.photos) | set(world.anchors)) & kept_out
    assert len(kept_out) > 300


@pytest.mark.parametrize("fold", range(N_FOLDS))
def test_photos_to_identify_are_tuning_ones_and_those_of_species_new_to_the_model(wide: Study, fold: int) -> None:
    world, collection = world_of_fold(wide, fold), wide.collection
    tuning, many = set(collection.tuning), set(collection.tuning) & set(collection.left_over)
    assert many <= set(world.photos)
    assert not tuning & set(world.anchors)
    others = np.array(sorted(set(world.photos) - tuning))
    assert len(others) > 30
    assert (world.prototype_rows[world.labels[others]] < 0).all()
    assert not set(world.photos) & set(collection.unseen_training(fold))


def test_runs_for_fitting_use_no_photo_that_is_hidden_or_set_aside(wide: Study, runs: dict[str, list[Run]]) -> None:
    kept_out = set(wide.collection.hidden) | set(wide.collection.all_aside)
    for run in (run for some in runs.values() for run in some):
        assert not set(run.photos) & kept_out
        assert not {int(photo) for photo in run.knowledge.anchors.ids} & kept_out


def test_every_fold_has_its_own_random_knowledge_bases(wide: Study, runs: dict[str, list[Run]]) -> None:
    models = [run.world.model for run in runs["default"]]
    assert [[model is fold for model in models].count(True) for fold in wide.folds] == [6] * N_FOLDS
    assert len({tuple(run.species) for run in runs["default"]}) == len(models)


def test_held_photos_and_others_share_the_weight_of_a_knowledge_base() -> None:
    """One half each; a knowledge base without one kind has half the weight."""
    shares = calibrate._shares(np.array([True, False, False, True, False, True, True]))
    assert shares.tolist() == pytest.approx([1 / 8, 1 / 6, 1 / 6, 1 / 8, 1 / 6, 1 / 8, 1 / 8])
    assert calibrate._shares(np.array([True, True])).tolist() == [0.25, 0.25]


def test_every_preset_has_parameters_for_each_anchor_mode_that_occurs(
    wide: Study, runs: dict[str, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "PRESETS", {name: PRESETS[name] for name in FEW})
    fitted = fit_all(wide, n=6)
    assert set(fitted) == set(FEW)
    for preset in FEW:
        assert list(fitted[preset]) == [mode for mode in MODES if mode in {run.mode for run in runs[preset]}]
        for mode, parameters in fitted[preset].items():
            assert parameters.weights == weights_of(preset, mode)
            assert set(parameters.held) == set(RANKS)
            assert set(parameters.not_held) == set(RANKS) - {"species"}
    assert "none" not in fitted["anchors-only"]
    assert set(fitted["default"]) == set(MODES)


def test_only_the_default_preset_has_weights() -> None:
    """A knowledge base without anchors uses those for one."""
    assert weights_of("vr-rag-v1", "single") is None
    found = [weights_of("default", mode) for mode in MODES]
    assert found == [WEIGHTS["starter"][mode] for mode in ("single", "single", "several")]


def test_a_fit_separates_held_species_from_others_on_photos_that_nothing_has_seen(
    wide: Study, runs: dict[str, list[Run]]
) -> None:
    several = [run for run in runs["default"] if run.mode == "several"]
    parameters = fit_parameters(several, WEIGHTS["starter"]["several"])
    tests = [run for run in draw_runs(measured_world(wide), ["default"], n=12, seed=99)["default"]
             if run.mode == "several"]  # fmt: skip
    rows = np.concatenate([run.evidence(parameters.temperature) for run in tests])
    held = np.concatenate([run.is_held for run in tests])
    right = np.concatenate([run.right[:, 0] for run in tests])
    unknown = chances_by(parameters.unknown, rows)
    assert unknown[~held].mean() > unknown[held].mean() + 0.3
    order = unknown[~held][:, None] - unknown[held][None]
    assert (order > 0).mean() > 0.85
    species = chances_by(parameters.held["species"], rows[held])
    assert species.mean() == pytest.approx(right[held].mean(), abs=0.1)


def test_a_knowledge_base_counts_the_same_however_many_photos_it_has(runs: dict[str, list[Run]]) -> None:
    """Fitting a run twice changes its weight; with all of them twice the parameters stay."""
    several = [run for run in runs["anchors-only"] if run.mode == "several"][:4]
    once, twice = fit_parameters(several, None), fit_parameters(several * 2, None)
    assert twice.temperature == pytest.approx(once.temperature, rel=1e-3)
    assert twice.unknown == pytest.approx(once.unknown, rel=1e-2, abs=1e-3)
    assert fit_parameters([*several, several[0]], None).unknown["bias"] != once.unknown["bias"]
