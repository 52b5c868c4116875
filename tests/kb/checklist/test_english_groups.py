"""The table of English names belongs to groups of the checklist."""

from __future__ import annotations

from kb.checklist.avilist import load_checklist
from kb.checklist.english_groups import english_groups


def test_every_group_is_an_order_or_family_of_the_checklist_found_by_its_english_names() -> None:
    checklist = load_checklist()
    assert len(english_groups()) > 150
    for group, names in english_groups().items():
        found = checklist.find(group)
        assert found is not None
        assert found.rank in ("order", "family")
        for name in names:
            named = checklist.find(name)
            assert (named and named.scientific_name) == group, name
