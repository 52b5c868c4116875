"""Term lists, and terms from articles."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import BadInput
from data.records import Article, Source
from kb.distill.terms import read_terms, term_from_article, term_id
from tests.kb.distill.pages import page

FAULTY = {
    b"cere\n\tAmplexus\n": "line 2: expected `term` or `term<TAB>page title`, got a title without a term",
    b"cere\tCere\tx\n": "line 1: expected at most one tab, got 2",
    b"Cere\n#\nnape\ncere\n": "line 4: 'cere' is in line 1 already",
    b"# nothing\n": "has no terms",
    b"": "has no terms",
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
    pages = (
        page(("", "")), page(("", "See below."), is_disambiguation=True),
        Article(source=Source(title="x"), text=""),
    )  # fmt: skip
    assert [term_from_article("x", each) for each in pages] == [None] * 3
