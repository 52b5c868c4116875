"""Species names in replies to a request without candidates, rule by rule."""

from typing import Any

import pytest

from data.records import ChatReply
from recognize.reader.namer import read_name

KNOWN = {"Cardinalis cardinalis": "cardinalis-cardinalis", "Northern Cardinal": "cardinalis-cardinalis"}


def find_anywhere(name: Any) -> Any:
    """Return the first species named in a text, like a checklist that allows other words around a name."""
    return next((taxon for known, taxon in {**KNOWN, "Blue Jay": "cyanocitta-cristata"}.items() if known in name), None)


@pytest.mark.parametrize(
    ("text", "found", "rule"),
    [
        ('{"reason": "r", "species": "Cardinalis cardinalis"}', True, "json"),
        ('Well:\n```json\n{"species": "Northern Cardinal"}\n```', True, "json"),
        ('{"reason": "r", "species": "none"}', False, "none"),
        ('{"reason": "r", "species": ""}', False, "unread"),
        ('{"reason": "r", "species": "Big Foot"}', False, "no species"),
        ('{"reason": "r", "species": "unknown"}', False, "none"),
        ('{"reason": "r", "species": "None of these"}', False, "none"),
        ("Northern Cardinal", True, "text"),
        ("The bird is a Northern Cardinal.", True, "text"),
        ("It has a mask.\n**Cardinalis cardinalis**", True, "text"),
        ("Northern Cardinal\nIts crest is raised.", True, "text"),
        ("I cannot tell from this photo.", False, "none"),
        ("A red one.", False, "no species"),
        ("", False, "unread"),
    ],
)
def test_names_are_read_by_the_first_rule_that_fits(text: str, found: bool, rule: str) -> None:
    choice, applied, _ = read_name(ChatReply(text=text, model="m"), KNOWN.get)
    assert (choice, applied) == ("cardinalis-cardinalis" if found else None, rule)


@pytest.mark.parametrize(
    "text",
    [
        '{"species": "Northern Cardinal or Blue Jay"}',
        '{"species": "Blue Jay / Northern Cardinal"}',
        "It is a Northern Cardinal or a Blue Jay",
    ],
)
def test_two_named_species_count_as_no_species(text: str) -> None:
    assert read_name(ChatReply(text=text, model="m"), find_anywhere)[:2] == (None, "no species")


def test_two_names_of_one_species_count_as_one() -> None:
    text = '{"species": "Northern Cardinal / Cardinalis cardinalis"}'
    assert read_name(ChatReply(text=text, model="m"), find_anywhere)[0] == "cardinalis-cardinalis"


def test_the_reason_quotes_an_unknown_species() -> None:
    _, _, reason = read_name(ChatReply(text='{"reason": "Hairy.", "species": "Big Foot"}', model="m"), KNOWN.get)
    assert reason == "Unknown species 'Big Foot'. Hairy."
