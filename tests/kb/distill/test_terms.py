"""Term lists, and terms from articles."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import BadInput
from data.records import Article, Section, Source
from kb.distill.terms import read_terms, term_from_article, term_id


def page(*parts: tuple[str, int, str], title: str = "Amplexus", is_disambiguation: bool = False) -> Article:
    text, sections = "", []
    for heading, level, body in parts:
        sections.append(Section(title=heading, level=level, start=len(text), end=len(text) + len(body)))
        text += body + "\n\n"
    return Article(
        source=Source(title=title, url="https://wiki.example/a", revision=5),
        text=text,
        sections=tuple(sections),
        is_disambiguation=is_disambiguation,
    )


def test_each_line_has_a_term_and_an_optional_page_title(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text("\ufeff# words\n\namplexus\nnuptial pad\tNuptial pads \n  # more\ncere\t\n", encoding="utf-8")
    assert read_terms(path) == [("amplexus", None), ("nuptial pad", "Nuptial pads"), ("cere", None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cere\n\tAmplexus\n", r"line 2: expected `term` or `term<TAB>page title`, got a title without a term"),
        (b"cere\tCere\tx\n", r"line 1: expected at most one tab, got 2"),
        (b"Cere\n#\nnape\ncere\n", r"line 4: 'cere' is in line 1 already"),
        (b"# nothing\n", r"has no terms"),
        (b"", r"has no terms"),
        (b"c\xe9re\n", r"is not UTF-8 text: .* at byte 1"),
    ],
)
def test_an_invalid_list_is_refused_with_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "terms.txt"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        read_terms(path)


def test_a_missing_list_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Cannot read .*none: No such file"):
        read_terms(tmp_path / "none")


def test_ids_are_slugs_and_never_empty() -> None:
    assert term_id("Crème brûlée frog!") == "term:creme-brulee-frog"
    assert term_id("蛙") not in ("term:", term_id("鳥"))


def test_the_definition_comes_from_the_lead() -> None:
    lead = 'Amplexus (Latin "embrace") is how frogs hold on.[1] A male grasps a female. It was noted in 1900.'
    looks = "The male's front legs hold her waist, and dark pads swell on his thumbs. Calls are loud."
    article = page(("", 1, lead), ("Description", 2, looks))
    term = term_from_article("amplexus", article)
    assert term is not None
    assert term.definition == "Amplexus is how frogs hold on. A male grasps a female."
    assert term.look_for == "The male's front legs hold her waist, and dark pads swell on his thumbs."
    assert (term.term_id, term.name, term.aliases) == ("term:amplexus", "amplexus", ())
    assert term.source == article.source


def test_other_names_of_a_term_are_its_aliases() -> None:
    term = term_from_article(
        "nuptial pad",
        page(
            ("", 1, "A nuptial pad (also known as a thumb pad) is a swelling on the forelimb of frogs."),
            title="Nuptial pads",
        ),
    )
    assert term is not None
    assert term.aliases[0] == "Nuptial pads"


def test_empty_and_disambiguation_pages_give_no_term() -> None:
    assert term_from_article("x", page(("", 1, ""))) is None
    assert term_from_article("x", page(("", 1, "See below."), is_disambiguation=True)) is None
    assert term_from_article("x", Article(source=Source(title="x"), text="")) is None
