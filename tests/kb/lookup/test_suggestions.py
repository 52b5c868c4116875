"""Suggestions for queries without a match."""

from __future__ import annotations

import pytest

from kb.lookup.search import MAX_QUERY_WORDS, suggestions
from tests.kb.lookup.shelf import STORE


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("two frogs in amplxus", ["amplexus"]),
        ("a Nothern Cardnal", ["Northern Cardinal"]),
        ("superciliun of a pyrhuloxia", ["supercilium", "Pyrrhuloxia"]),
        ("a frog on a map of the town", []),
        ("barrins", ["barring"]),
        ("barred", []),
        ("ruf", []),
        ("a Eurasian Eagle-Owl eating", []),
        ("", []),
    ],
)
def test_names_spelt_like_words_of_the_query_are_suggested(query: str, names: list[str]) -> None:
    assert suggestions(STORE, query) == names


def test_suggestions_are_limited() -> None:
    assert suggestions(STORE, "superciliun of a pyrhuloxia", n=1) == ["supercilium"]
    assert suggestions(STORE, "pyrhuloxia " + "word " * MAX_QUERY_WORDS) == []
