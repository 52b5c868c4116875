"""What came out for photos: scores, what is missing, and rows as they are kept."""

from dataclasses import replace

import pytest

from data.errors import TooManyUnscored
from data.records import Judgement, QuestionAnswer
from rerank.decompose.rows import Missing, Row, row_in, row_of, scores_of, text_of_row
from rerank.decompose.settings import settings_of


def answered(*probabilities):
    """A row of answers; None for one that could not be told."""
    return Row(
        answers=tuple(
            QuestionAnswer(question=f"{i}?", answer=None, probability=probability, obtained_by="table")
            for i, probability in enumerate(probabilities)
        )
    )


PAPER, MEAN = settings_of("paper"), replace(settings_of("paper"), unscored="mean")


def test_what_was_not_asked_counts_as_no_whatever_counts_for_what_could_not_be_told():
    rows = [answered(0.9, 0.6), answered(0.3), answered(0.8, None)]
    assert scores_of(rows, 2, PAPER) == pytest.approx([75, 15, 40])
    assert scores_of(rows, 2, MEAN) == pytest.approx([75, 15, 70])  # 0.6 is all that is known of the second question


def test_a_question_that_nobody_answered_counts_half_where_the_mean_counts():
    assert scores_of([answered(0.8, None), answered(0.2, None)], 2, MEAN) == pytest.approx([65, 35])
    assert scores_of([answered(0.8, None), answered(0.2, None)], 2, PAPER) == pytest.approx([40, 10])


def test_an_image_without_answers_is_below_one_that_fits_nothing():
    assert scores_of([Row(error="down"), answered(0.0, 0.0)], 2, PAPER) == [-1.0, 0.0]


def test_as_many_as_may_be_missing_are_no_fault_and_one_more_is():
    missing = Missing(max_share=0.5, n_most=4)
    missing.add(answered(None, None).answers)
    missing.check()
    missing.add(answered(None).answers)
    with pytest.raises(TooManyUnscored, match="could not tell for 3 of 4 answers, at most 50%"):
        missing.check()


def test_at_the_end_the_share_is_of_what_was_asked():
    missing = Missing(max_share=0.5, n_most=100)
    missing.add(answered(None, None, 0.5).answers)
    missing.check()
    with pytest.raises(TooManyUnscored, match="2 of 3 answers"):
        missing.check(is_last=True)


def test_a_row_comes_back_as_it_was_kept_and_is_whole_where_all_was_told():
    judged = [
        Judgement(probability=0.75, answer="yes", obtained_by="logprobs", note="A crest,\nand long.", cost_usd=0.5),
        Judgement(probability=None, answer=None, obtained_by="refused", note="no", cost_usd=0.25),
    ]
    answers = [
        QuestionAnswer(question=f"{i}?", answer=one.answer, probability=one.probability, obtained_by=one.obtained_by)
        for i, one in enumerate(judged)
    ]
    row = row_of(answers, judged)
    assert (row.cost_usd, row.notes, row.is_whole) == (0.75, ("1. A crest, and long.", "2. no"), False)
    assert row_in(text_of_row(row)) == row
    assert row_of(answers[:1], judged[:1]).is_whole and not Row(error="x").is_whole
    assert row_of(answers, [replace(judged[0], cost_usd=None), judged[1]]).cost_usd is None
