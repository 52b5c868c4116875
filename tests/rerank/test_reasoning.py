"""Reasoning is separated from the answer in every parser of replies."""

import pytest

from data.errors import MalformedAnswer
from data.records import ChatReply
from rerank.cotrr.rankings import parse_ranking
from rerank.decompose.questions import parse_questions
from rerank.judges.answers import reason_of
from rerank.judges.judgements import stated
from rerank.reasoning import has_reasoning, without_reasoning
from tests.rerank.scripted import QUESTIONS, questions_reply


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("No.", "No."),
        ("<think>Yes?</think>No.", "No."),
        ("<THINKING>\nYes?\n</Thinking>\nNo.", "\nNo."),
        ("Yes? Yes. </think>No.", "No."),  # a template opened the reasoning
        ("<think>one</think>Hm.<think>two</think>No.", "No."),
        ("<think>Yes? It has a", ""),  # cut off while thinking
        ("<think>one</think>No.<think>or", ""),
        ("", ""),
    ],
)
def test_the_answer_is_the_text_after_all_reasoning(text: str, answer: str) -> None:
    assert without_reasoning(text) == answer


def test_an_opening_or_closing_tag_reveals_reasoning() -> None:
    assert [has_reasoning(text) for text in ("<think>", "x</reasoning>", "<b>thinking</b>", "")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("reasoning", ["<think>7 of 9 say 2.</think>", "7 of 9 say 2.</think>"])
def test_every_parser_skips_reasoning(reasoning: str) -> None:
    reply = ChatReply(text=f'{reasoning}{{"probability": 30}}', model="m")
    assert stated(reply).probability == 0.3
    ranking = parse_ranking(f'{reasoning}{{"ranking": [2, 1]}}', 2)
    assert (ranking.positions, ranking.faults.total()) == ((1, 0), 0)
    assert [question.question for question in parse_questions(reasoning + questions_reply())] == list(QUESTIONS)
    assert reason_of(f"{reasoning}It has a crest.\nAnswer: Yes") == "It has a crest."


def test_a_draft_in_truncated_reasoning_is_ignored() -> None:
    with pytest.raises(MalformedAnswer, match="expected a ranking"):
        parse_ranking('<think>Perhaps {"ranking": [2, 1]}, or', 2)
    assert stated(ChatReply(text="<think>Say 30", model="m")).probability is None
