"""Yes/no answers in replies: spellings, probability mass, and the position of the answer."""

import math
from typing import Any

import pytest

from data.records import TokenLogprobs
from rerank.judges.answers import answer_span, numbered_spans, probability_of_yes, token_at, word_of


def token(text: Any, **masses: Any) -> TokenLogprobs:
    """Return a token with alternatives; `_` in a name is a blank, so `_yes` is " yes"."""
    top = tuple((name.replace("_", " "), math.log(mass)) for name, mass in masses.items())
    return TokenLogprobs(token=text, logprob=top[0][1] if top else -0.1, top=top)


def test_all_spellings_of_yes_and_no_other_words_are_read() -> None:
    spellings = ("Yes", " yes", "YES", "Yes.", "yes,", "**Yes**", '"Yes"', "▁Yes", "ĠYes", "\nYes")
    assert [text for text in spellings if word_of(text) != "yes"] == []
    others = ("Yesterday", "None", "Nope", "y", "", "not", "yes and no")
    assert [text for text in others if word_of(text) is not None] == []


def test_probabilities_of_spellings_are_summed() -> None:
    merged = probability_of_yes(token("Yes", Yes=0.3, _yes=0.2, YES=0.1, No=0.2, _no=0.1))
    assert merged == pytest.approx((0.6 / 0.9, 0.9))


def test_exact_spelling_is_the_softmax_of_two_tokens() -> None:
    probability, _ = probability_of_yes(token("Yes", Yes=0.3, _yes=0.2, No=0.1, _no=0.3), "exact")
    assert probability == pytest.approx(math.exp(math.log(0.3)) / (math.exp(math.log(0.3)) + math.exp(math.log(0.1))))


def test_one_listed_word_is_certain_and_none_is_unknown() -> None:
    for masses, expected in (({"Yes": 0.4, "Maybe": 0.6}, 1.0), ({"No": 0.4, "It": 0.6}, 0.0), ({"It": 0.9}, None)):
        assert probability_of_yes(token(next(iter(masses)), **masses))[0] == expected


def test_the_token_itself_counts_if_it_is_not_listed() -> None:
    listed = TokenLogprobs(token="Yes", logprob=math.log(0.6), top=(("No", math.log(0.2)),))
    assert probability_of_yes(listed) == pytest.approx((0.75, 0.8))


def test_a_log_probability_above_zero_counts_as_certain() -> None:
    above = TokenLogprobs(token="Yes", logprob=0.4, top=(("Yes", 0.4), ("No", math.log(0.25))))
    assert probability_of_yes(above) == pytest.approx((0.8, 1.25))


def test_vanishing_log_probabilities_do_not_divide_by_zero() -> None:
    vanished = TokenLogprobs(token="It", logprob=0.0, top=(("It", 0.0), ("Yes", -1e6), ("No", -math.inf)))
    assert probability_of_yes(vanished)[0] == 0.5


def test_the_position_of_the_answer_is_found() -> None:
    for text, is_reasoned, expected in (
        ("Yes", False, "Yes"),
        ("  **No**.", False, "No"),
        ("Answer: yes", False, "yes"),
        ("It might be. Yes", False, None),
        ("The bird has no crest.\nAnswer: Yes", True, "Yes"),
        ("Answer: No would be wrong.\n**Answer:** Yes.", True, "Yes"),
        ("It has no crest.\n\nNo.", True, "No"),
        ("There is no crest.", True, None),
        ("No. A crest would make the answer: yes.", False, "No"),
        ("", False, None),
        ("Yes, no other bird has a red crown.", False, "Yes"),
        ("Yes and it sings.", False, "Yes"),
        ("No, no crest.", False, "No"),
    ):
        span = answer_span(text, is_reasoned=is_reasoned)
        assert (text[slice(*span)] if span else None) == expected, text


def test_two_answers_side_by_side_are_none() -> None:
    for text in ("Yes/No", "Yes or no", "**Yes** and **no**", "no|yes: it depends", "Answer: yes/no"):
        assert answer_span(text, is_reasoned=False) is None, text
        assert numbered_spans(f"1. {text.removeprefix('Answer: ')}\n2. No", 2)[0] is None, text


def test_the_last_answer_of_each_number_counts() -> None:
    text = "1. No\n**1.** Yes\n2: no\n4) Yes\n2. Yes"
    spans = numbered_spans(text, 4)
    assert [text[slice(*span)] if span else None for span in spans] == ["Yes", "Yes", None, "Yes"]
    assert spans[1] == (len(text) - 3, len(text))


def test_a_number_of_thousands_of_digits_is_no_item() -> None:
    """A model that repeats a digit spoils its own reply alone."""
    assert numbered_spans("9" * 5_000 + ". yes\n1. no", 1) == [(5_009, 5_011)]


def test_the_token_at_a_text_offset_is_found() -> None:
    tokens = [token("1"), token(". "), token("Yes"), token("\n2. "), token("No")]
    text = "".join(one.token for one in tokens)
    assert token_at(tokens, text.index("Yes")) is tokens[2]
    assert token_at(tokens, text.index("No")) is tokens[4]
    assert token_at(tokens, len(text)) is None
