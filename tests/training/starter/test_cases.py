"""Cases: photos asked with their species in the knowledge base, or left out of it."""

from __future__ import annotations

import numpy as np
import pytest

from recognize.scoring.fusion import WEIGHTS
from training.starter.cases import Lesson, Lineages, ask, lesson
from training.starter.study import Study

FUSION = WEIGHTS["starter"]["several"]


@pytest.mark.parametrize("is_absent", [False, True])
def test_the_own_species_is_in_the_knowledge_base_unless_it_is_left_out(study: Study, is_absent: bool) -> None:
    photos = study.asked("unseen")[::3]
    cases = ask(study, study.seen, "three", photos, FUSION, is_absent=is_absent)
    assert [case.truth for case in cases] == study.collection.labels[photos].tolist()
    for case in cases:
        assert (case.truth in case.kept) is not is_absent
        assert len(case.kept) == len(study.everything) - is_absent
        assert (case.first == case.truth) is not is_absent
        scores, at = case.scores()
        assert len(scores) == len(case.kept)
        assert (at is None) is is_absent


def test_only_species_of_the_vocabulary_are_answers(study: Study) -> None:
    photos = study.asked("seen")[:6]
    vocabulary = np.unique(study.collection.labels[photos])
    for case in ask(study, study.seen, "wiki", photos, FUSION, vocabulary=vocabulary):
        assert case.kept.tolist() == vocabulary.tolist()
        assert set(case.kept[case.ranking.species]) <= set(vocabulary)


def truths(found: Lesson) -> set[int]:
    return {case.truth for group in (*found.present, *found.absent) for case in group}


@pytest.mark.parametrize("fold", [0, 3])
def test_a_lesson_without_a_fold_has_no_photo_of_its_species(study: Study, fold: int) -> None:
    found = lesson(study, "three", FUSION, without=fold)
    folds = study.collection.folds
    assert truths(found) == set(np.flatnonzero(folds != fold)) & truths(found)
    assert {int(folds[truth]) for truth in truths(found)} == {0, 1, 2, 3, 4} - {fold}


def test_the_shipped_lesson_asks_new_and_known_species_without_the_hidden_half(study: Study) -> None:
    found = lesson(study, "three", FUSION)
    new, known = (len(group) for group in found.present)
    visible = np.setdiff1d(study.collection.queries, study.collection.hidden)
    assert (new, known) == (len(visible), 4 * len(study.held))
    assert [len(group) for group in found.absent] == [new, known]
    # Known species are learnt, new ones are not.
    assert {bool(np.isin(case.truth, case.kept[case.trained])) for case in found.present[0]} == {False}
    assert {bool(np.isin(case.truth, case.kept[case.trained])) for case in found.present[1]} == {True}


def test_species_of_one_genus_are_the_same_at_its_rank_and_names_that_are_not_known_only_as_themselves() -> None:
    names = ["Setophaga pinus", "Setophaga petechia", "Cardellina pusilla", "Nobody knows", "Noone knows"]
    lineages = Lineages(names)
    firsts, others = np.array([0, 0, 0, 3, 3]), np.array([0, 1, 2, 3, 4])
    assert lineages.same(firsts, others, "species").tolist() == [True, False, False, True, False]
    assert lineages.same(firsts, others, "genus").tolist() == [True, True, False, True, False]
    assert lineages.same(firsts, others, "family").tolist() == [True, True, True, True, False]
