"""Species of the checklist that a knowledge base lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kb
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.curate.add import OwnText
from kb.lookup.search import search
from kb.lookup.species_list import missing_species, relatives, why_missing
from kb.store.knowledge_base import KnowledgeBase
from tests.toy.encoders import toy_encoders


def taxon_named(name: str) -> Taxon:
    taxon = load_checklist().find(name)
    assert taxon is not None
    return taxon


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path, encoders = tmp_path_factory.mktemp("missing") / "a.kb", toy_encoders()
    for name in ("Pica pica", "Corvus corax"):
        taxon = taxon_named(name)
        kb.add(path, taxon, encoders, texts=[OwnText(text="The tail is long and black.", title="notes")])
    with kb.open(path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "above", "held"),
    [
        ("Corvus corone", "Corvus", ["Corvus corax"]),
        ("Garrulus glandarius", "Corvidae", ["Pica pica", "Corvus corax"]),
        ("Anas platyrhynchos", "", []),
    ],
)
def test_relatives_are_of_the_nearest_taxon_with_members(
    store: KnowledgeBase, name: str, above: str, held: list[str]
) -> None:
    found, members = relatives(store, taxon_named(name))
    assert found == above
    assert sorted(member.scientific_name for member in members) == sorted(held)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("eurasian jay", "Garrulus glandarius"),
        ("Northern Raven", None),
        ("Corvidae", None),
        ("a black bird with a long tail", None),
    ],
)
def test_only_a_name_of_a_species_without_an_entry_is_missing(
    store: KnowledgeBase, name: str, missing: str | None
) -> None:
    found = missing_species(store, name)
    assert (found.scientific_name if found else None) == missing


def test_the_reason_names_the_species_and_its_relatives(store: KnowledgeBase) -> None:
    message, hint = why_missing(store, taxon_named("Garrulus glandarius"))
    assert message.startswith("Eurasian Jay (Garrulus glandarius) is not in the knowledge base ")
    assert hint == "Of Corvidae it holds Northern Raven, Eurasian Magpie."
    assert why_missing(store, taxon_named("Mallard"))[1] == "It holds no related species."


def test_a_search_for_a_missing_species_finds_its_relatives(store: KnowledgeBase) -> None:
    encoder: Any = toy_encoders().sentence
    found = {match.taxon_id: match.score for match in search(store, "Eurasian Jay", encoder)}
    assert found == {"pica-pica": pytest.approx(2, abs=0.5), "corvus-corax": pytest.approx(2, abs=0.5)}
