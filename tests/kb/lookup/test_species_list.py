from collections.abc import Iterator
from pathlib import Path

import pytest

import kb
from data.errors import BadInput, UnknownTaxon
from data.records import Taxon, Term
from kb.checklist.avilist import load_checklist
from kb.curate.add import OwnText
from kb.lookup.entries import FoundSpecies, find_entry, list_species, missing_species, relatives, why_missing
from kb.lookup.search import search
from kb.store.knowledge_base import KnowledgeBase
from tests.made_once import made_once
from tests.toy.encoders import toy_encoders

FROG = Taxon(
    taxon_id="rana-rubra", scientific_name="Rana rubra", rank="species", common_names=("Red Frog",),
    lineage={"class": "Amphibia", "family": "Ranidae", "genus": "Rana"},
)  # fmt: skip


def named(name: str) -> Taxon:
    taxon = load_checklist().find(name)
    assert taxon is not None
    return taxon


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    def make(path: Path) -> None:
        for subject, text in (
            (FROG, "The male has a red crown and a long cere. It nests in reeds."),
            (named("Pica pica"), "The tail is long and black."),
            (named("Corvus corax"), "The tail is long and black."),
            ("cere", "A cere is the waxy skin at the bill."),
            ("wax", "A wax is what bees make for their combs."),
        ):
            kb.add(path, subject, toy_encoders(), texts=[OwnText(text=text, title="notes")])

    with kb.open(made_once(tmp_path_factory, "own-texts.kb", make)) as opened:
        yield opened


def test_species_are_listed_as_in_the_checklist_then_others_or_below_a_taxon(store: KnowledgeBase) -> None:
    assert [each.taxon_id for each in list_species(store)] == ["pica-pica", "corvus-corax", "rana-rubra"]
    assert [each.scientific_name for each in list_species(store, ["Ranidae"])] == ["Rana rubra"]
    with pytest.raises(UnknownTaxon):
        list_species(store, ["Hylidae"])


def test_a_species_or_term_is_found_by_each_of_its_names_and_an_unknown_name_refused(store: KnowledgeBase) -> None:
    for name in ("red frog", "RED-FROG", "rana-rubra"):
        found = find_entry(store, name)
        assert isinstance(found, FoundSpecies) and found.entry.taxon.taxon_id == "rana-rubra", name
        assert found.quotes == (("The male has a red crown and a long cere.",),)
        assert [term.name for term in found.terms] == ["cere"]
    term = find_entry(store, "Cere")
    assert isinstance(term, Term) and term.definition == "A cere is the waxy skin at the bill."
    with pytest.raises(UnknownTaxon, match="Red Frag") as error:
        find_entry(store, "Red Frag")
    assert "Red Frog" in str(error.value.hint)


def test_a_removed_species_was_left_out(one_bird: Path) -> None:
    with kb.open(one_bird) as opened:
        [taxon] = opened.taxa()
    kb.remove(one_bird, [taxon.scientific_name])
    with kb.open(one_bird) as opened, pytest.raises(BadInput, match="left out: removed by the user"):
        find_entry(opened, taxon.common_name)


def test_a_missing_species_has_the_nearest_relatives_that_are_held(store: KnowledgeBase) -> None:
    for name, above, held in (
        ("Corvus corone", "Corvus", ["Corvus corax"]),
        ("Garrulus glandarius", "Corvidae", ["Corvus corax", "Pica pica"]),
        ("Anas platyrhynchos", "", []),
    ):
        found, members = relatives(store, named(name))
        assert (found, [member.scientific_name for member in members]) == (above, held)
    message, hint = why_missing(store, named("Garrulus glandarius"))
    assert message.startswith("Eurasian Jay (Garrulus glandarius) is not in the knowledge base ")
    assert hint == "Of Corvidae it holds Northern Raven, Eurasian Magpie."
    assert why_missing(store, named("Mallard"))[1] == "It holds no related species."
    matches = {match.taxon_id: match.score for match in search(store, "Eurasian Jay", toy_encoders().sentence)}
    assert matches == {"pica-pica": pytest.approx(2, abs=0.5), "corvus-corax": pytest.approx(2, abs=0.5)}
    jay = missing_species(store, "eurasian jay")
    assert jay is not None and jay.scientific_name == "Garrulus glandarius"
    for name in ("Northern Raven", "Corvidae", "a black bird with a long tail"):
        assert missing_species(store, name) is None, name
