"""Names inside a query and their looks."""

from __future__ import annotations

from data.records import QueryPart
from kb.lookup.query_parts import query_parts
from tests.kb.lookup.shelf import STORE


def test_species_groups_and_terms_of_a_query_come_in_its_order_with_their_looks() -> None:
    assert query_parts(STORE, "a ruff, two owls and cardinals in Amplexus") == [
        QueryPart(
            kind="species", text="ruff", name="Ruff", looks="The male has a large ruff of feathers around the neck."
        ),
        QueryPart(kind="group", text="owls", name="owls"),
        QueryPart(kind="group", text="cardinals", name="cardinals"),
        QueryPart(
            kind="term", text="Amplexus", name="amplexus", looks="A smaller frog that sits on the back of a larger one."
        ),
    ]


def test_a_species_without_a_description_has_no_looks() -> None:
    assert query_parts(STORE, "eagle owl at night, Eurasian Eagle-Owl")[-1] == QueryPart(
        kind="species", text="Eurasian Eagle-Owl", name="Eurasian Eagle-Owl"
    )


def test_a_query_without_names_has_no_parts() -> None:
    assert query_parts(STORE, "something by the sea") == []
