"""AviList as the checklist: names of all ranks in any spelling, and the names that other lists use."""

from __future__ import annotations

import pytest

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.avilist import load_checklist


@pytest.fixture(scope="module")
def checklist() -> Checklist:
    return load_checklist()


def test_a_species_has_names_lineage_and_ids(checklist: Checklist) -> None:
    assert checklist.name == "AviList 2025"
    assert checklist.find("Cardinalis cardinalis") == Taxon(
        taxon_id="cardinalis-cardinalis",
        scientific_name="Cardinalis cardinalis",
        rank="species",
        common_names=("Northern Cardinal",),
        lineage={"class": "Aves", "order": "Passeriformes", "family": "Cardinalidae", "genus": "Cardinalis"},
        ids={"avibase": "avibase-4E74AE22", "ebird": "norcar"},
    )


def test_names_are_found_in_any_spelling(checklist: Checklist) -> None:
    for name, scientific in (
        ("NORTHERN CARDINAL", "Cardinalis cardinalis"),
        ("cardinalis_cardinalis", "Cardinalis cardinalis"),
        ("Gray Heron", "Ardea cinerea"),
        ("black crowned night-heron", "Nycticorax nycticorax"),
        ("Ruppells Vulture", "Gyps rueppelli"),
        ("Rüppell’s vulture", "Gyps rueppelli"),
        ("ʻIʻiwi", "Drepanis coccinea"),
        ("Accipiter gentilis", "Astur gentilis"),
        ("Northern Goshawk", "Astur gentilis"),
        ("Rock Pigeon", "Columba livia"),
        ("Owls", "Strigiformes"),
        ("strigidae", "Strigidae"),
        ("Corvus", "Corvus"),
        ("Birds", "Aves"),
    ):
        found = checklist.find(name)
        assert found is not None and found.scientific_name == scientific, name
    for name in ("", " ", "-", "Homo sapiens", "Cardinalis cardinalis floridanus", "北"):
        assert checklist.find(name) is None, name


def test_taxa_of_every_rank_list_their_species(checklist: Checklist) -> None:
    counts = {}
    for name in ("Aves", "Strigiformes", "Cardinalidae", "Cardinalis", "Cardinalis cardinalis"):
        found = checklist.find(name)
        assert found is not None
        counts[found.rank] = (len(checklist.species_of(found)), list(found.lineage))
    assert counts["class"] == (11131, [])
    assert counts["genus"] == (3, ["class", "order", "family"])
    assert counts["species"] == (1, ["class", "order", "family", "genus"])
    assert counts["family"][0] > 40 and counts["order"][0] > 200
    assert checklist.species_of(Taxon(taxon_id="bufo-bufo", scientific_name="Bufo bufo", rank="species")) == []


def test_suggestions_begin_with_the_intended_name_and_are_limited_and_distinct(checklist: Checklist) -> None:
    for typo, meant in (("Strigiforms", "Strigiformes"), ("northen cardinal", "Northern Cardinal")):
        assert (checklist.find(typo), checklist.suggest(typo)[0]) == (None, meant)
    assert len(checklist.suggest("kingfisher", 3)) == 3
    assert len(set(checklist.suggest("kingfisher", 10))) == 10
    assert checklist.suggest("xqzzyqq") == checklist.suggest("") == checklist.suggest("owl", 0) == []


def test_codes_and_names_of_other_lists_are_known() -> None:
    birds = load_checklist()
    found = birds.with_code("norcar")
    assert found is not None and found.scientific_name == "Cardinalis cardinalis"
    assert birds.with_code("NORCAR") is None
    # AviList's Grey-headed Woodpecker lives in Eurasia, BirdLife's in Africa.
    others = birds.others_called("Gray-headed woodpecker")
    assert [taxon.scientific_name for taxon in others] == ["Dendropicos spodocephalus"]
    assert birds.others_called("Northern Cardinal") == []
    names = ("Oxyura ferruginea", "Oxyura jamaicensis", "Accipiter badius")  # lumped, accepted, a synonym
    assert [birds.lacks(name) for name in names] == [True, False, False]
