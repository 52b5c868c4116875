"""Names in the replies of a model that was shown no candidate: each rule by itself."""

import pytest

from data.records import ChatReply
from recognize.naming import read_name

KNOWN = {"Cardinalis cardinalis": "cardinalis-cardinalis", "Northern Cardinal": "cardinalis-cardinalis"}


@pytest.mark.parametrize(
    ("text", "found", "how"),
    [
        ('{"reason": "r", "species": "Cardinalis cardinalis"}', True, "json"),
        ('Well:\n```json\n{"species": "Northern Cardinal"}\n```', True, "json"),
        ('{"reason": "r", "species": "none"}', False, "none"),
        ('{"reason": "r", "species": ""}', False, "unread"),
        ('{"reason": "r", "species": "Big Foot"}', False, "no species"),
        ("Northern Cardinal", True, "text"),
        ("The bird is a Northern Cardinal.", True, "text"),
        ("It has a mask.\n**Cardinalis cardinalis**", True, "text"),
        ("I cannot tell from this photo.", False, "none"),
        ("A red one.", False, "no species"),
        ("", False, "unread"),
    ],
)
def test_names_are_read_by_the_first_rule_that_fits(text, found, how):
    choice, rule, _ = read_name(ChatReply(text=text, model="m"), KNOWN.get)
    assert (choice, rule) == ("cardinalis-cardinalis" if found else None, how)


def test_the_reason_says_what_was_named_in_vain():
    _, _, reason = read_name(ChatReply(text='{"reason": "Hairy.", "species": "Big Foot"}', model="m"), KNOWN.get)
    assert reason == "it named 'Big Foot', which is no species. Hairy."
