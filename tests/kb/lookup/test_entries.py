"""Species and terms by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kb
from data.errors import UnknownTaxon
from data.records import Taxon, Term
from kb.curate.add import OwnText
from kb.lookup.entries import FoundSpecies, find_entry
from kb.store.knowledge_base import KnowledgeBase
from tests.toy.encoders import toy_encoders

WREN = Taxon(taxon_id="wrena-rubra", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))
TEXT = "The male has a red crown and a long cere. It nests in reeds."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path, encoders = tmp_path_factory.mktemp("entries") / "a.kb", toy_encoders()
    kb.add(path, WREN, encoders, texts=[OwnText(text=TEXT, title="notes")])
    kb.add(path, "cere", encoders, texts=[OwnText(text="A cere is the waxy skin at the bill.", title="notes")])
    kb.add(path, "wax", encoders, texts=[OwnText(text="A wax is what bees make for their combs.", title="notes")])
    with kb.open(path) as opened:
        yield opened


@pytest.mark.parametrize("name", ["Wrena rubra", "red wren", "RED-WREN", "wrena-rubra"])
def test_a_species_is_found_by_each_of_its_names(store: KnowledgeBase, name: str) -> None:
    found = find_entry(store, name)
    assert isinstance(found, FoundSpecies)
    assert found.entry.taxon.taxon_id == "wrena-rubra"


def test_a_found_species_includes_evidence_and_terms(store: KnowledgeBase) -> None:
    found = find_entry(store, "Red Wren")
    assert isinstance(found, FoundSpecies)
    assert found.quotes == (("The male has a red crown and a long cere.",),)
    assert [term.name for term in found.terms] == ["cere"]


def test_a_term_is_found_by_its_name(store: KnowledgeBase) -> None:
    found = find_entry(store, "Cere")
    assert isinstance(found, Term)
    assert found.definition == "A cere is the waxy skin at the bill."


def test_an_unknown_name_is_refused_with_suggestions(store: KnowledgeBase) -> None:
    with pytest.raises(UnknownTaxon, match="Red Wran") as error:
        find_entry(store, "Red Wran")
    assert "Red Wren" in str(error.value.hint)
