"""Sentence boundaries and spans, and chunks within the limits of all encoders."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from data.records import Chunk, Statement, Summary
from kb.distill.chunk import chunk_spans, chunks_at
from kb.distill.sentences import split_sentences
from tests.memory_store import BagOfWords

# Abbreviations, initials and decimals do not end a sentence.
WHOLE = (
    "It is c. 20 cm long.",
    "It measures approx. 30 cm. in length and 5.5 in. across.",
    "The subsp. M. a. abbotti is paler than P. c. collaris.",
    "Described by J. F. Gmelin and G. R. Gray, it lives on St. Kilda.",
    "Gulls (e.g. the herring gull, cf. Brehm et al. 1831. See there.) have pink legs.",
    "It has spots, bars, etc. on the wing.",
    "In the U.S. it is known from fig. 3 and vol. 12 of the work.",
    "Its length is 12.5 cm vs. 14 cm in its relative.",
    "No. 5 of the series shows it.",
)
SPLIT = (
    *((text,) for text in WHOLE),
    ("It is 20 cm.", "The wings are long."),
    ("It weighs 30 g.", "Males are grey."),
    ('It is "red."', "The bill is black!"),
    ("Is it red?", "It is."),
    ("It is white.[2][3]", "The tail is long."),
    ("It lives in the U.S.", "It is big."),
    ("A bracket (never closed.", "The next one."),
)


def split(text: str, *places: int) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text, *places)]


def test_a_sentence_ends_at_punctuation_or_line_end() -> None:
    for sentences in SPLIT:
        assert split(" ".join(sentences)) == list(sentences)
    assert split("Males are grey.Females are brown.") == ["Males are grey.", "Females are brown."]
    assert split("A heading without a stop\nThe text below.") == ["A heading without a stop", "The text below."]
    assert split(" \n\n ") == []
    text = "Not this. The crown is red. The bill is black. Nor this."
    assert split(text, 10, 46) == ["The crown is red.", "The bill is black."]


@settings(max_examples=50)
@given(st.text(alphabet="aB. \n()[]?!\"'c1–", max_size=200))
def test_spans_are_ordered_trimmed_and_complete(text: str) -> None:
    position = 0
    for span in split_sentences(text):
        assert text[position : span.start].strip() == ""
        assert text[span.start : span.end].strip() == text[span.start : span.end] != ""
        position = span.end
    assert text[position:].strip() == ""


def summary_of(*sentences: str) -> Summary:
    return Summary(statements=tuple(Statement(text=sentence) for sentence in sentences))


class Letters(BagOfWords):
    def count_tokens(self, text: str) -> int:
        return len(text)


def pack(summary: Summary, *encoders: BagOfWords, subject_id: str = "a-b") -> list[Chunk]:
    return chunks_at(chunk_spans(summary, encoders), summary, subject_id)


def chunks(summary: Summary, *encoders: BagOfWords) -> list[str]:
    return [chunk.text for chunk in pack(summary, *encoders)]


def test_whole_sentences_are_packed_up_to_the_smallest_token_limit_under_ids_of_their_own() -> None:
    three = summary_of("The crown is red.", "The bill is black.", "The tail is long.")
    packed = chunks(three, BagOfWords(max_tokens=77), BagOfWords(max_tokens=12))
    assert packed == ["The crown is red. The bill is black.", "The tail is long."]
    assert chunks(three, BagOfWords()) == chunks(three) == [three.text]
    assert chunks(summary_of(), BagOfWords(max_tokens=8)) == []
    long = summary_of("The crown is red, the nape and mantle are grey; the bill is black.")
    clauses = ["The crown is red,", "the nape and mantle are grey;", "the bill is black."]
    assert chunks(long, BagOfWords(max_tokens=10)) == clauses
    assert chunks(summary_of("x" * 25 + " end."), Letters(max_tokens=10)) == ["x" * 7, "x" * 9, "x" * 9, "end."]
    red, dark = summary_of("It is red.", "The bill is black."), summary_of("It is red.", "The bill is dark.")
    limit = BagOfWords(max_tokens=8)
    ids = [[chunk.chunk_id for chunk in pack(summary, limit, subject_id=subject)]
           for summary, subject in ((red, "a-b"), (red, "c-d"), (dark, "a-b"), (red, "a-b"))]  # fmt: skip
    assert ids[0] == ids[3] == ["43404055f6acdde9a6aa", "62b0bd0cfa24061c79aa"]
    assert len({each for pair in ids for each in pair}) == 6


@settings(max_examples=50)
@given(st.lists(st.text(alphabet="ab ,;.–\n", max_size=60), max_size=6), st.integers(min_value=3, max_value=12))
def test_chunks_are_ordered_within_the_limit_and_complete(sentences: list[str], limit: int) -> None:
    summary = summary_of(*sentences)
    encoder = BagOfWords(max_tokens=limit)
    position = 0
    for chunk in pack(summary, encoder):
        assert summary.text[chunk.start : chunk.end] == chunk.text
        assert summary.text[position : chunk.start].strip() == ""
        assert encoder.count_tokens(chunk.text) <= limit
        position = chunk.end
    assert summary.text[position:].strip() == ""
