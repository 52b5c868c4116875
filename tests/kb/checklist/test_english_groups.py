"""English group names belong to orders and families of the checklist."""

from __future__ import annotations

from kb.checklist.avilist import english_groups, load_checklist


def test_english_names_find_their_order_or_family() -> None:
    checklist = load_checklist()
    assert len(english_groups()) > 150
    for group, names in english_groups().items():
        found = checklist.find(group)
        assert found is not None
        assert found.rank in ("order", "family")
        for name in names:
            named = checklist.find(name)
            assert (named and named.scientific_name) == group, name
