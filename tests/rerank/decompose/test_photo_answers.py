from dataclasses import replace
from typing import Any

import pytest

from data.errors import NoEvidence, TooManyUnscored
from data.records import Judgement, QuestionAnswer, RankedImage
from rerank.decompose.reranker import MissingAnswers, photo_scores

ROW = RankedImage(query_id="q", image_id="a", rank=1, score=0.0, first_stage_rank=1)


def answered(*probabilities: Any) -> RankedImage:
    """Return answers with these probabilities; None is a missing answer."""
    return replace(
        ROW,
        questions=tuple(
            QuestionAnswer(question=f"{i}?", answer=None, probability=probability, obtained_by="table")
            for i, probability in enumerate(probabilities)
        ),
    )


def judged(*probabilities: Any) -> list[Judgement]:
    return [Judgement(probability=each, answer=None, obtained_by="table") for each in probabilities]


def test_missing_answers_fail_only_above_the_limit_of_expected_and_at_the_end_of_asked_questions() -> None:
    missing = MissingAnswers(max_share=0.5, n_expected=4)
    missing.add(judged(None, None))
    missing.check()
    missing.add(judged(None))
    with pytest.raises(TooManyUnscored, match="no usable answer to 3 of 4 questions; at most 50%"):
        missing.check()
    missing = MissingAnswers(max_share=0.5, n_expected=100)
    missing.add(judged(None, None, 0.5))
    missing.check()
    with pytest.raises(TooManyUnscored, match="2 of 3 questions"):
        missing.check(is_last=True)


def without_evidence(*probabilities: Any) -> RankedImage:
    """Return answers with these probabilities; None is a question without evidence."""
    answers = answered(*probabilities).questions
    return replace(
        ROW,
        questions=tuple(replace(one, obtained_by="no evidence") if one.probability is None else one for one in answers),
    )


def test_questions_without_evidence_do_not_count_and_one_that_is_never_answered_counts_half() -> None:
    assert photo_scores([answered(0.8, None), answered(0.2, None)], 2, "mean") == pytest.approx([65, 35])
    rows = [without_evidence(0.8, None), without_evidence(0.2, None)]
    assert photo_scores(rows, 2, "zero") == photo_scores(rows, 2, "mean") == pytest.approx([80, 20])
    missing = MissingAnswers(max_share=0.0, n_expected=4)
    for row in rows:
        missing.add([Judgement(probability=one.probability, answer=None, obtained_by=one.obtained_by)
                     for one in row.questions])  # fmt: skip
        missing.check()
    missing.check(is_last=True)
    missing = MissingAnswers(max_share=0.0, n_expected=2)
    nothing = Judgement(probability=None, answer=None, obtained_by="no evidence", note="nothing to see of 'frogs'")
    missing.add([nothing])
    missing.check()
    with pytest.raises(NoEvidence, match="nothing to see of 'frogs'"):
        missing.check(is_last=True)
