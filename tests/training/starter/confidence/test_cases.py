"""Cases: photos ranked with their species in the vocabulary, or left out of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recognize.confidence.calibration import JudgedRank
from recognize.scoring.fusion import WEIGHTS
from recognize.scoring.stages import Ranking
from training.starter.confidence.cases import Case, ask, lineages_of
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
