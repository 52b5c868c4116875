"""Replies of readers and judges of answers."""

from __future__ import annotations

import pytest

from rerank.answers.replies import Verdict, read_answer, read_verdict


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("### Reasoning: dark feet.\n### Answer: Black.", "Black.", "dark feet."),
        ("**Reasoning:** a\nb\n\n**Answer:** Black and\nwhite.", "Black and\nwhite.", "a\nb"),
        ("Answer: black", "black", ""),
        ("Reasoning: the answer: unclear\nAnswer: green\nAnswer: black", "black", "the answer: unclear\nAnswer: green"),
        ("It is black.", "It is black.", ""),  # no form at all: the whole reply is the answer
        ("### Reasoning: nothing to see.\n### Answer:", "", "nothing to see."),
    ],
)  # fmt: skip
def test_the_answer_follows_the_last_mark(text: str, answer: str, reasoning: str) -> None:
    read = read_answer(text)
    assert (read.answer, read.reasoning) == (answer, reasoning)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Score: 1", Verdict(score=1)),
        ("**Score:** 0.5 | Likely Hallucination | Redundant", Verdict(score=0.5, hallucination=True, redundant=True)),
        ("Score: .5 | (no hallucination, but redundant words)", Verdict(score=0.5)),
        ("The colour fits.\nScore: 0,5 | Redundant", Verdict(score=0.5, redundant=True)),
        ("Score: 1/1", Verdict(score=1)),
        ("Score: -0.5 | Likely Hallucination", Verdict(score=0, hallucination=True)),
        ("Score: 0.5\nScore: 0.5", Verdict(score=0.5)),
        ("0.5 | Redundant", Verdict(score=0.5, redundant=True)),
        ("**1**\nAll is there.", Verdict(score=1)),
        ("Score: 0 | No hallucination | Redundant: no", Verdict(score=0)),
        ("1. The colour fits.", None),
        ("50 % | Redundant", None),
        ("Score: 1 or, strictly, Score: 0.5", None),
        ("Score: 5/10", None),
        ("Score: 8 out of 10", None),
        ("Score: 50%", None),
        ("Score: 7", None),
        ("The answer is right.", None),
        ("", None),
    ],
)
def test_a_verdict_is_one_score_from_0_to_1_with_its_marks(text: str, verdict: Verdict | None) -> None:
    assert read_verdict(text) == verdict
