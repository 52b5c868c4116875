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
    ("text", "said"),
    [
        ("No.", "No."),
        ("<think>Yes?</think>No.", "No."),
        ("<THINKING>\nYes?\n</Thinking>\nNo.", "\nNo."),
        ("Yes? Yes. </think>No.", "No."),  # a template began the thought
        ("<think>one</think>Hm.<think>two</think>No.", "No."),
        ("<think>Yes? It has a", ""),  # cut off while thinking
        ("<think>one</think>No.<think>or", ""),
        ("", ""),
    ],
)
def test_what_is_said_comes_after_all_thoughts(text: str, said: str) -> None:
    assert without_reasoning(text) == said


def test_marks_of_either_end_tell_a_thought() -> None:
    assert [has_reasoning(text) for text in ("<think>", "x</reasoning>", "<b>thinking</b>", "")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("thought", ["<think>7 of 9 say 2.</think>", "7 of 9 say 2.</think>"])
def test_every_reader_passes_thoughts_over(thought: str) -> None:
    reply = ChatReply(text=f'{thought}{{"probability": 30}}', model="m")
    assert stated(reply).probability == 0.3
    ranking = parse_ranking(f'{thought}{{"ranking": [2, 1]}}', 2)
    assert (ranking.positions, ranking.faults.total()) == ((1, 0), 0)
    assert [question.question for question in parse_questions(thought + questions_reply())] == list(QUESTIONS)
    assert reason_of(f"{thought}It has a crest.\nAnswer: Yes") == "It has a crest."


def test_a_draft_in_thoughts_that_were_cut_off_is_no_reply() -> None:
    with pytest.raises(MalformedAnswer, match="expected a ranking"):
        parse_ranking('<think>Perhaps {"ranking": [2, 1]}, or', 2)
    assert stated(ChatReply(text="<think>Say 30", model="m")).probability is None
