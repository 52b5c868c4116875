"""Cases: photos ranked with their species in the vocabulary, or left out of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recognize.confidence.calibration import JudgedRank
from recognize.scoring.fusion import WEIGHTS
from recognize.scoring.stages import Ranking
from training.starter.cases import Case, FittingCases, ask, fitting_cases, lineages_of
from training.starter.study import Study

FUSION = WEIGHTS["starter"]["several"]


@pytest.mark.parametrize("is_unknown", [False, True])
def test_the_true_species_is_in_the_vocabulary_unless_unknown(study: Study, is_unknown: bool) -> None:
    photos = study.queries_of("unseen")[::3]
    cases = ask(study, study.seen, "three", photos, FUSION, is_unknown=is_unknown)
    assert [case.truth for case in cases] == study.collection.labels[photos].tolist()
    for case in cases:
        assert (case.truth in case.vocabulary) is not is_unknown
        assert len(case.vocabulary) == len(study.everything) - is_unknown
        assert (case.first == case.truth) is not is_unknown
        scores, at = case.scores()
        assert len(scores) == len(case.vocabulary)
        assert (at is None) is is_unknown


def test_only_species_of_the_vocabulary_are_answers(study: Study) -> None:
    photos = study.queries_of("seen")[:6]
    vocabulary = np.unique(study.collection.labels[photos])
    for case in ask(study, study.seen, "wiki", photos, FUSION, vocabulary=vocabulary):
        assert case.vocabulary.tolist() == vocabulary.tolist()
        assert set(case.vocabulary[case.ranking.species]) <= set(vocabulary)


def truths(found: FittingCases) -> set[int]:
    return {case.truth for group in (*found.present, *found.unknown) for case in group}


@pytest.mark.parametrize("fold", [0, 3])
def test_fitting_cases_without_a_fold_exclude_its_species(study: Study, fold: int) -> None:
    found = fitting_cases(study, "three", FUSION, without=fold)
    folds = study.collection.folds
    assert truths(found) == set(np.flatnonzero(folds != fold)) & truths(found)
    assert {int(folds[truth]) for truth in truths(found)} == {0, 1, 2, 3, 4} - {fold}


def test_fitting_cases_of_the_shipped_model_exclude_the_hidden_half(study: Study) -> None:
    found = fitting_cases(study, "three", FUSION)
    new, known = (len(group) for group in found.present)
    visible = np.setdiff1d(study.collection.queries, study.collection.hidden)
    assert (new, known) == (len(visible), 4 * len(study.held))
    assert [len(group) for group in found.unknown] == [new, known]
    # The model was trained on known species, not on new ones.
    assert {bool(np.isin(case.truth, case.vocabulary[case.knowledge.trained])) for case in found.present[0]} == {False}
    assert {bool(np.isin(case.truth, case.vocabulary[case.knowledge.trained])) for case in found.present[1]} == {True}


def test_a_case_is_right_at_a_rank_that_both_species_share() -> None:
    names = ("Setophaga pinus", "Setophaga petechia", "Cardellina pusilla", "Nobody knows", "Noone knows")
    lineages = lineages_of(names)

    def is_right(first: int, truth: int, rank: JudgedRank) -> bool:
        ranking = Ranking(species=np.array([first]), scores=np.ones(1), stages={})
        nothing: Any = None
        return Case(
            truth=truth, ranking=ranking, queries=nothing, knowledge=nothing, vocabulary=np.arange(5), lineages=lineages
        ).is_right(rank)

    pairs = ((0, 0), (0, 1), (0, 2), (3, 3), (3, 4))
    assert [is_right(*pair, "species") for pair in pairs] == [True, False, False, True, False]
    assert [is_right(*pair, "genus") for pair in pairs] == [True, True, False, True, False]
    assert [is_right(*pair, "family") for pair in pairs] == [True, True, True, True, False]
