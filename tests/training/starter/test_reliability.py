"""Tables and charts of how far chances can be trusted, worked by hand and on the small world."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from data.arrays import IntArray
from recognize.confidence.calibration import RANKS
from recognize.evaluation.protocol import N_FOLDS
from tests.training.starter.test_measure import rows_of
from training.starter import cases, reliability
from training.starter.cases import Case, Lesson
from training.starter.reliability import (
    Judged,
    absent_table,
    answers_table,
    asked_of_fold,
    calibration_table,
    joined,
    measure,
    reliability_chart,
    risk_chart,
    risk_table,
)
from training.starter.study import Model, Study


def judged(
    sure: list[float],
    right: list[bool],
    *,
    genus: list[float] | None = None,
    absent: list[float] | None = None,
    without: list[float] | None = None,
    duplicates: list[bool] | None = None,
) -> Judged:
    """Photos, each of its own species, with these chances; genus and family are right wherever they are asked."""
    n = len(sure)
    higher = np.array(genus or sure)
    return Judged(
        species=np.arange(n),
        is_duplicate=np.array(duplicates or [False] * n),
        confidence={"species": np.array(sure), "genus": higher, "family": higher},
        is_right={"species": np.array(right), "genus": np.ones(n, dtype=bool), "family": np.ones(n, dtype=bool)},
        absent=np.array(absent or [0.1] * n),
        absent_without=np.array(without or [0.9] * n),
    )


FOUR = judged(
    [0.95, 0.8, 0.4, 0.2], [True, True, False, False], absent=[0.1, 0.2, 0.3, 0.5], without=[0.5, 0.6, 0.7, 0.4]
)


def test_photos_are_picked_and_joined_with_all_that_is_said_of_them() -> None:
    kept = joined([FOUR[np.array([True, False, False, True])], FOUR[np.array([False, True, False, False])]])
    assert kept.species.tolist() == [0, 3, 1]
    assert kept.confidence["species"].tolist() == [0.95, 0.2, 0.8]
    assert kept.is_right["species"].tolist() == [True, False, True]
    assert (kept.absent.tolist(), kept.absent_without.tolist()) == ([0.1, 0.5, 0.2], [0.5, 0.4, 0.6])


def test_absent_birds_are_told_from_present_ones_as_often_as_pairs_say() -> None:
    """Of 16 pairs 14 are in the right order and one is a tie; only 0.6 and 0.7 are above 95 % of the present ones."""
    found = rows_of(absent_table("three", {"unseen": FOUR, "seen": FOUR}), "unknown species")
    assert found["unseen"][0].startswith(".906 (")
    assert found["unseen"][1].startswith(".750 (")
    assert found["both"][:2] != ["", ""]


def test_answers_at_least_so_sure_are_right_that_often() -> None:
    found = rows_of(risk_table("three", {"unseen": FOUR, "seen": FOUR[FOUR.confidence["species"] > 0.3]}), "correct")
    assert found["unseen"] == ["0.667 of .750".lstrip("0"), "1.000 of .500", "1.000 of .500", "1.000 of .250"]
    assert found["seen"][0] == ".667 of 1.000"


def test_near_duplicates_of_anchors_count_only_where_the_row_says_so() -> None:
    """Without the duplicate, which is sure and right, the sureness of 0.6 is right half the time."""
    many = judged([0.6] * 10 + [1.0] * 10, [True, False] * 5 + [True] * 10, duplicates=[False] * 10 + [True] * 10)
    found = rows_of(
        calibration_table("three", {"unseen": many, "seen": many}, {"unseen": many, "seen": many}, many),
        "calibration error",
    )
    assert found["both"][0] == "20"
    assert found["both, with near-duplicates of anchors"][0] == "40"
    assert found["both"][4:] == [".600", ".500"]
    assert found["both, with near-duplicates of anchors"][4:] == [".800", ".750"]


def test_each_photo_gets_one_answer_and_the_shares_add_up() -> None:
    """Sure of the species; sure of the genus alone; sure of nothing; more likely absent than not."""
    four = judged(
        [0.99, 0.1, 0.1, 0.99],
        [True, False, False, True],
        genus=[0.99, 0.99, 0.1, 0.99],
        absent=[0.01, 0.01, 0.01, 0.999],
    )
    found = rows_of(answers_table("three", {"unseen": four, "seen": four}), "answers at")
    assert found["unseen"] == [".250, 1.000 correct", ".250, 1.000 correct", ".000, - correct", ".250", ".250"]
    assert found["unseen, as unknown species"][-1] != ""


Found = tuple[dict[str, Judged], dict[str, Judged]]


@pytest.fixture(scope="module")
def found(noisy: Study) -> Found:
    return measure(noisy, "three")


def test_every_photo_left_over_is_judged_once(noisy: Study, found: Found) -> None:
    opened, bounded = found
    for settings in (opened, bounded):
        assert sorted(settings["unseen"].species) == sorted(noisy.collection.labels[noisy.collection.left_over])
        assert sorted(settings["seen"].species) == sorted(noisy.collection.labels[noisy.collection.hidden])
    assert sum(opened["unseen"].is_duplicate) == 1


def test_parameters_for_a_fold_are_fitted_without_it_and_asked_with_all_species_or_those_of_queries(
    noisy: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, object]] = []

    def lesson(*args: object, without: int) -> Lesson:
        calls.append(("lesson", without))
        return cases.lesson(*args, without=without)  # type: ignore[arg-type]

    def ask(study: Study, model: Model, mode: str, photos: IntArray, *args: object, **more: object) -> list[Case]:
        fold = set(study.collection.folds[study.collection.labels[photos]].tolist())
        calls.append(("ask", (fold, len(more["vocabulary"]))))  # type: ignore[arg-type]
        return cases.ask(study, model, mode, photos, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reliability, "lesson", lesson)
    monkeypatch.setattr(reliability, "ask", ask)
    few = replace(noisy, collection=replace(noisy.collection, photos=noisy.collection.photos[:-4]))
    measure(few, "three")
    fold = -1
    sizes = []
    for name, what in calls:
        if name == "lesson":
            fold = what
        else:
            folds, n = what
            assert folds <= {fold}
            sizes.append(n)
    # The last species has three photos here, all of them anchors: it is in the open vocabulary alone.
    assert sizes == ([20] * 2 + [19] * 2) * 2 * N_FOLDS


def test_photos_of_a_fold_are_of_its_species(noisy: Study) -> None:
    for setting in reliability.SETTINGS:
        parts = [asked_of_fold(noisy, fold, setting) for fold in range(N_FOLDS)]
        for fold, photos in enumerate(parts):
            assert set(noisy.collection.folds[noisy.collection.labels[photos]]) <= {fold}


def test_chances_that_were_fitted_nested_say_something_and_are_near_the_truth(
    found: Found,
) -> None:
    both = joined(list(found[0].values()))
    right, sure = both.is_right["species"], both.confidence["species"]
    assert sure[right].mean() > sure[~right].mean()
    assert abs(sure.mean() - right.mean()) < 0.15
    for low, high in pairwise(RANKS):
        assert (both.confidence[low] <= both.confidence[high]).all()
    assert both.absent_without.mean() > both.absent.mean()


def test_the_charts_draw_ten_bins_a_line_and_the_share_answered(
    found: Found,
) -> None:
    chart = reliability_chart({"three": found[0]})
    assert chart.count("<circle") == 3 * reliability.N_BINS
    assert "three reference photos" in chart
    risk = risk_chart({"three": found[0], "wiki": found[0]})
    assert risk.count('fill="none" stroke="#b45309"') == 2
    assert "<circle" not in risk
