from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import BadInput
from data.records import Article, Chunk, Source, Statement, Summary
from kb.distill.sentences import split_sentences
from kb.distill.terms import read_terms, term_from_article, term_id
from kb.pipeline.stages.chunks import chunk_spans, chunks_at
from tests.kb.distill.pages import page
from tests.memory_store import BagOfWords

# Abbreviations, initials and decimals do not end a sentence.
SPLIT = (
    ("It is c. 20 cm long.",),
    ("The subsp. M. a. abbotti is paler than P. c. collaris.",),
    ("Described by J. F. Gmelin and G. R. Gray, it lives on St. Kilda.",),
    ("Gulls (e.g. the herring gull, cf. Brehm et al. 1831. See there.) have pink legs.",),
    ("It has spots, bars, etc. on the wing.",),
    ("No. 5 of the series shows it.",),
    ("It is 20 cm.", "The wings are long."), ("It weighs 30 g.", "Males are grey."), ("Is it red?", "It is."),
    ('It is "red."', "The bill is black!"), ("It is white.[2][3]", "The tail is long."),
    ("It lives in the U.S.", "It is big."), ("A bracket (never closed.", "The next one."),
)  # fmt: skip


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


FAULTY = {
    b"cere\n\tAmplexus\n": "line 2: expected `term` or `term<TAB>page title`, got a title without a term",
    b"cere\tCere\tx\n": "line 1: expected at most one tab, got 2",
    b"Cere\n#\nnape\ncere\n": "line 4: 'cere' is in line 1 already",
    b"# nothing\n": "has no terms",
    b"c\xe9re\n": "is not UTF-8 text",
}


def test_each_line_has_a_term_and_an_optional_page_title(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text("\ufeff# words\n\namplexus\nnuptial pad\tNuptial pads \n  # more\ncere\t\n", encoding="utf-8")
    assert read_terms(path) == [("amplexus", None), ("nuptial pad", "Nuptial pads"), ("cere", None)]
    assert term_id("Crème brûlée frog!") == "term:creme-brulee-frog"
    assert term_id("蛙") not in ("term:", term_id("鳥"))


def test_an_invalid_or_missing_list_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    for content, message in FAULTY.items():
        path.write_bytes(content)
        with pytest.raises(BadInput) as caught:
            read_terms(path)
        assert message in str(caught.value)
    with pytest.raises(BadInput, match=r"Cannot read .*none: No such file"):
        read_terms(tmp_path / "none")


def test_the_definition_comes_from_the_lead_and_empty_and_disambiguation_pages_give_none() -> None:
    lead = 'Amplexus (Latin "embrace") is how frogs hold on.[1] A male grasps a female. It was noted in 1900.'
    looks = "The male's front legs hold her waist, and dark pads swell on his thumbs. Calls are loud."
    article = page(("", lead), ("Description", looks), title="Amplexus")
    term = term_from_article("amplexus", article)
    assert term is not None
    assert term.definition == "Amplexus is how frogs hold on. A male grasps a female."
    assert term.look_for == "The male's front legs hold her waist, and dark pads swell on his thumbs."
    assert (term.term_id, term.name, term.aliases) == ("term:amplexus", "amplexus", ())
    assert term.source == article.source
    known_as = "A nuptial pad (also known as a thumb pad) is a swelling on the forelimb of frogs."
    term = term_from_article("nuptial pad", page(("", known_as), title="Nuptial pads"))
    assert term is not None and term.aliases == ("Nuptial pads",)
    without_lead = page(("", ""), ("Description", f"{lead} {looks}"))
    term = term_from_article("amplexus", without_lead)
    assert term is not None and term.look_for.count("dark pads") == 1
    empty, list_of_pages = page(("", "")), page(("", "See below."), is_disambiguation=True)
    pages = (empty, list_of_pages, Article(source=Source(title="x"), text=""))
    assert [term_from_article("x", each) for each in pages] == [None] * 3
