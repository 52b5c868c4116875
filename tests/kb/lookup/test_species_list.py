"""Species of a knowledge base outside the checklist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kb
from data.errors import UnknownTaxon
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.curate.add import OwnText
from kb.lookup.species_list import list_species
from kb.store.knowledge_base import KnowledgeBase
from tests.toy.encoders import toy_encoders

FROG = Taxon(
    taxon_id="rana-rubra",
    scientific_name="Rana rubra",
    rank="species",
    common_names=("Red Frog",),
    lineage={"class": "Amphibia", "family": "Ranidae", "genus": "Rana"},
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path, encoders = tmp_path_factory.mktemp("listed") / "a.kb", toy_encoders()
    kb.add(path, FROG, encoders, texts=[OwnText(text="The male has a red back.", title="notes")])
    for name in ("Pica pica", "Corvus corax"):
        taxon = load_checklist().find(name)
        assert taxon is not None
        kb.add(path, taxon, encoders, texts=[OwnText(text="The tail is long and black.", title="notes")])
    with kb.open(path) as opened:
        yield opened


def test_species_outside_the_checklist_come_last(store: KnowledgeBase) -> None:
    assert [each.taxon_id for each in list_species(store)] == ["pica-pica", "corvus-corax", "rana-rubra"]


def test_a_taxon_outside_the_checklist_narrows_the_list(store: KnowledgeBase) -> None:
    assert [each.scientific_name for each in list_species(store, ["Ranidae"])] == ["Rana rubra"]
    with pytest.raises(UnknownTaxon):
        list_species(store, ["Hylidae"])
