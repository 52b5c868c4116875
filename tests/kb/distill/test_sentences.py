"""Sentence boundaries and spans."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.distill.sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "It is c. 20 cm long.",
        "It measures approx. 30 cm. in length and 5.5 in. across.",
        "The subsp. M. a. abbotti is paler than P. c. collaris.",
        "Described by J. F. Gmelin and G. R. Gray, it lives on St. Kilda.",
        "Gulls (e.g. the herring gull, cf. Brehm et al. 1831. See there.) have pink legs.",
        "It has spots, bars, etc. on the wing.",
        "In the U.S. it is known from fig. 3 and vol. 12 of the work.",
        "Its length is 12.5 cm vs. 14 cm in its relative.",
        "No. 5 of the series shows it.",
    ],
)
def test_abbreviations_initials_and_decimals_do_not_end_a_sentence(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 20 cm. The wings are long.", ["It is 20 cm.", "The wings are long."]),
        ("It weighs 30 g. Males are grey.", ["It weighs 30 g.", "Males are grey."]),
        ("Males are grey.Females are brown.", ["Males are grey.", "Females are brown."]),
        ('It is "red." The bill is black!', ['It is "red."', "The bill is black!"]),
        ("Is it red? It is.", ["Is it red?", "It is."]),
        ("It is white.[2][3] The tail is long.", ["It is white.[2][3]", "The tail is long."]),
        ("A heading without a stop\nThe text below.", ["A heading without a stop", "The text below."]),
        ("It lives in the U.S. It is big.", ["It lives in the U.S.", "It is big."]),
        ("A bracket (never closed. The next one.", ["A bracket (never closed.", "The next one."]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_a_sentence_ends_at_punctuation_or_line_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_slice_is_split_with_offsets_into_the_whole_text() -> None:
    text = "Not this. The crown is red. The bill is black. Nor this."
    spans = split_sentences(text, 10, 46)
    assert [text[span.start : span.end] for span in spans] == ["The crown is red.", "The bill is black."]


def test_offsets_outside_the_text_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 0 <= start <= end <= 3, got start 2 and end 9"):
        split_sentences("abc", 2, 9)


@given(st.text(alphabet="aB. \n()[]?!\"'c1–", max_size=200))
def test_spans_are_ordered_trimmed_and_complete(text: str) -> None:
    spans = split_sentences(text)
    position = 0
    for span in spans:
        assert text[position : span.start].strip() == ""
        assert text[span.start : span.end].strip() == text[span.start : span.end] != ""
        position = span.end
    assert text[position:].strip() == ""


@pytest.mark.parametrize(
    "piece", [".", ". ", " ", "\n ", "(", "(()", "a.'", "a.[1", "(a. B) ", "It is c. 20 cm. (long. M. a. "]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    begin = time.process_time()
    split_sentences(text)
    assert time.process_time() - begin < 20  # about 0.2 s; anything quadratic takes minutes
