"""Reliability tables and pictures, by hand and on made-up data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from recognize.confidence.calibration import Parameters
from recognize.confidence.evidence import Mode
from recognize.settings import MIN_CONFIDENCE
from tests.training.starter.test_measure import rows_of
from training.starter.confidence import reliability
from training.starter.confidence.calibrate import fit_parameters, fitting_runs, weights_of, world_of_fold
from training.starter.confidence.reliability import (
    SHARES,
    Answers,
    all_species_run,
    answers,
    by_share,
    frontier,
    measured_world,
    mixed,
    pictures,
)
from training.starter.confidence.worlds import Run, draw_runs
from training.starter.protocol import N_FOLDS
from training.starter.study import Study


def made(
    confidence: list[float],
    right: list[bool],
    *,
    held: list[bool] | None = None,
    new: list[bool] | None = None,
    groups: list[int] | None = None,
) -> Answers:
    """Return answers with these confidences; held species of one group each, if not given."""
    n = len(confidence)
    return Answers(
        confidence=np.array(confidence),
        names_species=np.array(confidence) >= MIN_CONFIDENCE,
        right=np.array(right),
        is_held=np.array(held or [True] * n),
        is_new=np.array(new or [False] * n),
        groups=np.array(groups or range(n)),
    )


class FixedRun:
    """Stand-in for a run: ninety held photos among 150."""

    is_held = np.tile([True, False, True, False, True], 30)


@pytest.mark.parametrize("share", SHARES)
def test_photos_are_mixed_to_a_share_of_unknown_birds(share: float) -> None:
    """With as many photos as there are: all held ones, or all others."""
    run: Any = FixedRun()
    rows = mixed(run, share, seed=0)
    is_held = run.is_held[rows]
    assert len(set(rows)) == len(rows)
    assert (~is_held).mean() == pytest.approx(share, abs=0.005)
    assert is_held.sum() == 90 or (~is_held).sum() == 60


def test_mixed_photos_are_drawn_by_seed() -> None:
    run: Any = FixedRun()
    assert mixed(run, 0.3, seed=1).tolist() == mixed(run, 0.3, seed=1).tolist() != mixed(run, 0.3, seed=2).tolist()


def test_a_ratio_by_hand() -> None:
    """Of three photos two are hits; drawn again by group they are one half, two thirds or all."""
    found = made([0.9] * 4, [True, False, True, True], groups=[0, 0, 1, 1])
    of, hits = np.array([True, True, True, False]), found.right
    assert found.ratio(hits, of) == ".667 (.500-1.000)"
    assert found.ratio(~hits, of) == ".333 (.000-.500)"
    assert found.ratio(hits, np.zeros(4, dtype=np.bool_)) == ""


def test_one_group_has_no_spread() -> None:
    found = made([0.9] * 4, [True, False, True, True], groups=[3, 3, 3, 3])
    assert found.ratio(found.right, found.is_held) == ".750 (.750-.750)"
    low, high = found.error().split("(")[1].rstrip(")").split("-")
    assert low == high == found.error().split(" ")[0]


def test_the_calibration_error_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bins: confidence .1 and none right, .8 and all right. Each group alone has the one gap or the other."""
    monkeypatch.setattr(reliability, "N_BINS", 2)
    found = made([0.1, 0.1, 0.8, 0.8], [False, False, True, True], groups=[0, 0, 1, 1])
    assert found.error() == ".150 (.100-.200)"


def test_the_frontier_by_hand() -> None:
    """Half of ten held photos are named right from .8, seven from .7. More never are: the other three are wrong."""
    right, wrong = [0.99, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7], [0.97, 0.6, 0.5]
    known, new = [0.85, 0.5], [0.1, 0.75]
    found = made(
        [*right, *wrong, *known, *new],
        [True] * 7 + [False] * 7,
        held=[True] * 10 + [False] * 4,
        new=[False] * 12 + [True] * 2,
        groups=[0] * 14,
    )
    rows = rows_of(frontier("Named", found), "Named")
    none, half = ".000 (.000-.000)", ".500 (.500-.500)"
    assert rows[".500"] == [half, none]
    assert rows[".720"] == [half, half]
    assert list(rows)[-1] == ".720"


def test_measured_photos_are_hidden_or_set_aside_and_nothing_was_fitted_on_them(wide: Study) -> None:
    world, collection = measured_world(wide), wide.collection
    photos = set(world.photos)
    assert world.model is wide.twin
    assert photos == set(collection.hidden) | set(collection.all_aside)
    assert not photos & set(collection.twin_training)
    for fold in range(N_FOLDS):
        fitting = world_of_fold(wide, fold)
        assert not photos & (set(fitting.photos) | set(fitting.anchors))
        assert not set(collection.all_aside) & set(collection.unseen_training(fold))


def test_anchors_to_measure_with_are_training_photos_of_the_twin_or_of_species_set_aside(wide: Study) -> None:
    world, collection = measured_world(wide), wide.collection
    assert set(world.anchors) == set(collection.twin_training) | set(collection.aside_new)
    assert not set(world.anchors) & (set(collection.hidden) - set(collection.aside_new))
    assert not set(world.anchors) & set(collection.aside_known)


def test_species_set_aside_are_the_unknown_birds_of_the_shipped_species(wide: Study) -> None:
    run, collection = all_species_run(wide), wide.collection
    assert {run.world.names[i] for i in run.species} == set(wide.twin.heads.species)
    np.testing.assert_array_equal(run.is_held, ~run.is_new)
    assert set(run.photos[run.is_new]) == set(collection.aside_new)
    assert not set(run.photos) & {int(photo) for photo in run.knowledge.anchors.ids}
    assert run.knowledge.background_names == ()


@pytest.fixture(scope="module")
def fitted(wide: Study) -> Mapping[Mode, Parameters]:
    runs = fitting_runs(wide, ["default"], n=5)["default"]
    modes: tuple[Mode, ...] = ("none", "single", "several")
    by_mode = {mode: [run for run in runs if run.mode == mode] for mode in modes}
    return {mode: fit_parameters(some or runs, weights_of("default", mode)) for mode, some in by_mode.items()}


@pytest.fixture(scope="module")
def runs(wide: Study) -> list[Run]:
    return draw_runs(measured_world(wide), ["default"], n=6, seed=reliability.SEED)["default"]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_answers_are_to_the_mixed_photos_of_each_run(
    runs: list[Run], fitted: Mapping[Mode, Parameters], share: float
) -> None:
    found = answers(runs, fitted, share)
    rows = [mixed(run, share, seed=number) for number, run in enumerate(runs)]
    assert found.groups.tolist() == [int(run.truth[i]) for run, at in zip(runs, rows, strict=True) for i in at]
    for name, expected in (
        ("is_held", [run.is_held[at] for run, at in zip(runs, rows, strict=True)]),
        ("is_new", [run.is_new[at] for run, at in zip(runs, rows, strict=True)]),
        ("right", [run.right[at, 0] for run, at in zip(runs, rows, strict=True)]),
    ):
        np.testing.assert_array_equal(getattr(found, name), np.concatenate(expected))
    assert not found.right[~found.is_held].any()
    assert (found.confidence[found.names_species] >= MIN_CONFIDENCE).all()


def test_answers_of_one_run_are_grouped_by_species(wide: Study, fitted: Mapping[Mode, Parameters]) -> None:
    run = all_species_run(wide)
    found = answers([run], fitted, 0.0)
    np.testing.assert_array_equal(found.groups, run.truth[run.is_held])


def test_more_unknown_birds_lower_the_confidence(runs: list[Run], fitted: Mapping[Mode, Parameters]) -> None:
    """The prior is estimated from each run: the same held photos get less of it beside many unknown birds."""
    confidences = []
    for share in (0.1, 0.7):
        found = answers(runs, fitted, share)
        photos = [(number, i) for number, run in enumerate(runs) for i in mixed(run, share, seed=number).tolist()]
        confidences.append(dict(zip(photos, found.confidence.tolist(), strict=True)))
        assert found.confidence[found.right].mean() > found.confidence[~found.right].mean() + 0.2
    few, many = confidences
    common = [photo for photo in few.keys() & many.keys() if runs[photo[0]].is_held[photo[1]]]
    assert len(common) > 20
    assert all(many[photo] <= few[photo] for photo in common)
    assert sum(many[photo] for photo in common) < sum(few[photo] for photo in common)


def test_the_table_has_a_row_for_each_share(runs: list[Run], fitted: Mapping[Mode, Parameters]) -> None:
    rows = rows_of(by_share("Random", runs, fitted), "Random")
    assert list(rows)[1:] == ["0%", "10%", "30%", "50%", "70%"]
    assert rows["0%"][-2:] == ["", ""]  # nobody is unknown
    found = answers(runs, fitted, 0.5)
    named, new = found.names_species, ~found.is_held & found.is_new
    assert rows["50%"][0] == str(len(found.right))
    assert float(rows["50%"][3].split(" ")[0]) == pytest.approx((named & found.right)[found.is_held].mean(), abs=6e-4)
    assert float(rows["50%"][5].split(" ")[0]) == pytest.approx(named[new].mean(), abs=6e-4)


def test_the_pictures_have_ten_bins_and_a_curve() -> None:
    rng = np.random.default_rng(0)
    sure = rng.random(400)
    svg = pictures(made(sure.tolist(), (rng.random(400) < sure).tolist()))
    assert set(svg) == {"reliability.svg", "risk_coverage.svg"}
    assert svg["reliability.svg"].count("<circle") == reliability.N_BINS
    assert "<circle" not in svg["risk_coverage.svg"]
