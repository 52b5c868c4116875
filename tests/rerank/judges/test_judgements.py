"""Majority of several samples, and stated probabilities."""

from typing import Any

import pytest

from data.records import ChatReply, Judgement
from rerank.judges.judgements import majority, stated


def vote(probability: Any, cost_usd: float = 0.5) -> Judgement:
    answer = None if probability is None else "yes" if probability > 0.5 else "no"
    by = "unclear" if probability is None else "logprobs"
    return Judgement(probability=probability, answer=answer, obtained_by=by, note=f"{probability}", cost_usd=cost_usd)


def test_the_majority_decides_and_probabilities_are_averaged() -> None:
    found = majority([vote(0.75), vote(0.25), vote(1.0)], is_share=False)
    assert (found.answer, found.obtained_by, found.note, found.cost_usd) == (
        "yes",
        "logprobs; samples 2/3",
        "0.75",
        1.5,
    )
    assert found.probability == pytest.approx(2 / 3)


def test_a_tie_counts_as_no() -> None:
    found = majority([vote(0.75), vote(0.25), vote(None)], is_share=False)
    assert (found.answer, found.probability, found.obtained_by) == ("no", 0.5, "logprobs; samples 1/2")


def test_unclear_votes_give_an_unclear_judgement() -> None:
    found = majority([vote(None), vote(None, cost_usd=None)], is_share=True)
    assert (found.probability, found.answer, found.obtained_by, found.cost_usd) == (None, None, "unclear", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"probability": 0}', (0.0, "no")),
        ('{"probability": 50}', (0.5, "no")),
        ('{"probability": 51}', (0.51, "yes")),
        ('{"probability": 100}', (1.0, "yes")),
        ("100", (1.0, "yes")),
        ("about 7.5 per cent", (0.075, "no")),
        ('{"probability": 101}', (None, None)),
        ('{"probability": -1}', (None, None)),
        ('{"probability": null}', (None, None)),
        ('{"chance": "high"}', (None, None)),
        ("between 20 and 40", (None, None)),
        ("", (None, None)),
    ],
)
def test_a_stated_number_is_read_as_a_percentage(text: str, expected: tuple[None, None] | tuple[float, str]) -> None:
    found = stated(ChatReply(text=text, model="m", cost_usd=0.5))
    assert (found.probability, found.answer) == expected
    assert (found.obtained_by, found.cost_usd) == ("stated" if expected[1] else "unclear", 0.5)
