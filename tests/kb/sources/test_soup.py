"""Texts that look like addresses or names of files are parsed as any others; a warning would fail these tests."""

from __future__ import annotations

import pytest

from kb.sources.soup import soup_of


@pytest.mark.parametrize("parser", ["html.parser", "lxml"])
@pytest.mark.parametrize("text", ["http://[", "https://a.example/?id=1&name=2", "credits.html", "a bird"])
def test_a_text_without_tags_warns_of_nothing(text: str, parser: str) -> None:
    assert soup_of(text, parser).get_text().strip() == text


def test_tags_are_parsed() -> None:
    assert soup_of("<p>a <b>bird</b></p>").get_text() == "a bird"
