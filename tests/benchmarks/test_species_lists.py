"""Tables of `benchmarks.species_lists`, on a made-up collection."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import species_lists
from benchmarks.species_lists import at_random, hits, prior_of, rank_photos, temperatures
from tests.training.starter.test_measure import rows_of
from tests.training.starter.world import features_of, study_of, write_collection
from training.starter.protocol import StudyCollection
from training.starter.study import Study, rank_of


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    collection: StudyCollection = write_collection(tmp_path_factory.mktemp("world"))
    return study_of(collection, features_of(collection, noise=0.3))


def test_a_right_list_raises_accuracy_and_a_wrong_one_lowers_it(study: Study) -> None:
    cases = rank_photos(study, "unseen", study.nested_weights("three"), study.queries_of("unseen"))
    names = study.collection.vocabulary
    ranks: dict[str, list[int]] = {"none": [], "right": [], "wrong": []}
    for case in cases.values():
        right, wrong = {names[case.truth]}, set(names) - {names[case.truth]}
        ranks["none"].append(rank_of(case.ranking, case.truth))
        ranks["right"].append(rank_of(prior_of(study, right, 0.01).apply(case.ranking, None), case.truth))
        ranks["wrong"].append(rank_of(prior_of(study, wrong, 0.01).apply(case.ranking, None), case.truth))
    assert hits(ranks["right"], 1) > hits(ranks["none"], 1) > hits(ranks["wrong"], 1)
    assert sorted(cases) == sorted(study.queries_of("unseen"))


def test_random_lists_have_two_rows_per_size(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(species_lists, "SIZES", (4, 9))
    cases = rank_photos(study, "unseen", study.nested_weights("three"), study.queries_of("unseen"))
    rows = [line.split(" | ") for line in at_random(study, "unseen", cases) if line.startswith("| all")]
    assert [(row[3], row[4]) for row in rows] == [("4", "1.000"), ("4", ".000"), ("9", "1.000"), ("9", ".000")]
    gains = [float(row[10].split()[0]) for row in rows]
    assert gains[0] >= gains[2] > gains[1]


def test_every_preset_has_a_temperature_per_anchor_mode(study: Study) -> None:
    lines = temperatures(study)
    found = rows_of(["", *lines], "")
    assert set(list(found)[1:]) == {"default", "vr-rag-v1", "vr-rag-v2", "text-only", "anchors-only"}
    assert len(lines) == 2 + 2 * 5
    assert all(np.isfinite(float(line.split("|")[3])) and float(line.split("|")[3]) > 0 for line in lines[2:])
