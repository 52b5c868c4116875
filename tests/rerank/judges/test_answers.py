import math
from typing import Any

import pytest

from data.records import ChatReply, Judgement, TokenLogprobs
from rerank.judges.answers import answer_span, majority, numbered_spans, probability_of_yes, stated, text_of, word_of
from tests.rerank.scripted import token


def test_all_spellings_of_yes_and_no_other_words_are_read() -> None:
    spellings = ("Yes", " yes", "YES", "Yes.", "yes,", "**Yes**", '"Yes"', "▁Yes", "ĠYes", "\nYes")
    assert [text for text in spellings if word_of(text) != "yes"] == []
    others = ("Yesterday", "None", "Nope", "y", "", "not", "yes and no")
    assert [text for text in others if word_of(text) is not None] == []


def test_probabilities_are_those_of_the_spellings_and_never_divide_by_zero() -> None:
    for given, spelling, expected in (
        (token("Yes", Yes=0.3, _yes=0.2, YES=0.1, No=0.2, _no=0.1), "merged", (0.6 / 0.9, 0.9)),
        (token("Yes", Yes=0.3, _yes=0.2, No=0.1, _no=0.3), "exact", (0.75, 0.4)),
        (token("Yes", Yes=0.4, Maybe=0.6), "merged", (1.0, 0.4)),
        (token("No", No=0.4, It=0.6), "merged", (0.0, 0.4)),
        (TokenLogprobs(token="Yes", logprob=math.log(0.6), top=(("No", math.log(0.2)),)), "merged", (0.75, 0.8)),
        (TokenLogprobs(token="Yes", logprob=0.4, top=(("Yes", 0.4), ("No", math.log(0.25)))), "merged", (0.8, 1.25)),
        (TokenLogprobs(token="It", logprob=0.0, top=(("Yes", -1e6), ("No", -math.inf))), "merged", (0.5, 0.0)),
        (TokenLogprobs(token="It", logprob=0.0, top=(("Yes", -1e6),)), "merged", (1.0, 0.0)),
    ):
        assert probability_of_yes(given, spelling) == pytest.approx(expected), given  # type: ignore[arg-type]
    assert probability_of_yes(token("It", It=0.9)) == (None, 0.0)


def test_the_position_of_the_answer_is_found() -> None:
    for text, is_reasoned, expected in (
        ("  **No**.", False, "No"),
        ("It might be. Yes", False, None),
        ("The bird has no crest.\nAnswer: Yes", True, "Yes"),
        ("Answer: No would be wrong.\n**Answer:** Yes.", True, "Yes"),
        ("It has no crest.\n\nNo.", True, "No"),
        ("There is no crest.", True, None),
        ("No. A crest would make the answer: yes.", False, "No"),
        ("", False, None),
        ("Yes, no other bird has a red crown.", False, "Yes"),
    ):
        span = answer_span(text, is_reasoned=is_reasoned)
        assert (text[slice(*span)] if span else None) == expected, text
    marked = text_of(ChatReply(text="Yes", model="m", logprobs=(token("Ċ"), token("ĠYes"))))
    assert answer_span(marked, is_reasoned=False) == (2, 5)
    for text in ("Yes/No", "Yes or no", "**Yes** and **no**", "no|yes: it depends", "Answer: yes/no"):
        assert answer_span(text, is_reasoned=False) is None, text
        assert numbered_spans(f"1. {text.removeprefix('Answer: ')}\n2. No", 2)[0] is None, text


def test_the_last_answer_of_each_number_counts() -> None:
    text = "1. No\n**1.** Yes\n2: no\n4) Yes\n2. Yes"
    spans = numbered_spans(text, 4)
    assert [text[slice(*span)] if span else None for span in spans] == ["Yes", "Yes", None, "Yes"]
    assert spans[1] == (len(text) - 3, len(text))
    # A model that repeats a digit spoils its own reply alone.
    assert numbered_spans("9" * 5_000 + ". yes\n1. no", 1) == [(5_009, 5_011)]


def vote(probability: Any, cost_usd: Any = 0.5) -> Judgement:
    answer = None if probability is None else "yes" if probability > 0.5 else "no"
    by = "unclear" if probability is None else "logprobs"
    return Judgement(probability=probability, answer=answer, obtained_by=by, note=f"{probability}", cost_usd=cost_usd)


def test_the_majority_decides_and_probabilities_are_averaged() -> None:
    for votes, is_share, probability, answer, by, note, cost in (
        ((0.75, 0.25, 1.0), False, 2 / 3, "yes", "logprobs; samples 2/3", "0.75", 1.5),
        ((0.75, 0.25, None), False, 0.5, "no", "logprobs; samples 1/2", "0.25", 1.5),  # a tie
        ((1.0, 1.0, 0.0), True, 2 / 3, "yes", "samples 2/3", "1.0", 1.5),
        ((None, None), True, None, None, "unclear", "None", 1.0),
    ):
        assert majority([vote(each) for each in votes], is_share=is_share) == Judgement(
            probability=probability, answer=answer, obtained_by=by, note=note, cost_usd=cost  # type: ignore[arg-type]
        )  # fmt: skip
    assert majority([vote(None), vote(None, cost_usd=None)], is_share=True).cost_usd is None


def test_a_stated_number_is_read_as_a_percentage() -> None:
    for text, probability in (
        ('{"probability": 0}', 0.0), ('{"probability": 50}', 0.5), ('{"probability": 51}', 0.51),
        ('{"probability": 100}', 1.0), ("100", 1.0), ("about 7.5 per cent", 0.075),
        *((text, None) for text in ('{"probability": 101}', '{"probability": -1}', '{"probability": null}',
                                    '{"chance": "high"}', "between 20 and 40", "")),
    ):  # fmt: skip
        found = stated(ChatReply(text=text, model="m", cost_usd=0.5))
        answer = None if probability is None else "yes" if probability > 0.5 else "no"
        assert (found.probability, found.answer, found.cost_usd) == (probability, answer, 0.5), text
        assert found.obtained_by == ("unclear" if probability is None else "stated")
