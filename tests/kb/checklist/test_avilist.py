"""AviList as the checklist: names of all ranks in any spelling, and the names that other lists use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.avilist import english_groups, load_checklist, subspecies_by_name
from kb.checklist.names import fold


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


def test_no_name_belongs_to_two_species(checklist: Checklist) -> None:
    """A name that AviList uses for one species is never a synonym of another, even if older lists differ."""
    birds = checklist.find("Aves")
    assert birds is not None
    every = checklist.species_of(birds)
    owners: dict[str, str] = {}
    for taxon in every:
        for name in (taxon.scientific_name, *taxon.common_names, *taxon.synonyms):
            assert owners.setdefault(fold(name), taxon.taxon_id) == taxon.taxon_id, name
            found = checklist.find(name)
            assert found is not None
            assert found.taxon_id == taxon.taxon_id or (name, found.rank) == ("Anhinga", "genus")
    assert len({taxon.taxon_id for taxon in every}) == len(every)
    assert sum("ebird" in taxon.ids for taxon in every) > 11000
    assert sum(bool(taxon.synonyms) for taxon in every) > 500


def test_ambiguous_subspecies_names_map_to_all_trinomials() -> None:
    genus_and_epithet = [
        ("Motacilla", "alba", "lugens"), ("Motacilla", "flava", "lugens"), ("Motacilla", "flava", "flava"),
    ]  # fmt: skip
    names = subspecies_by_name([[" ".join(words), "", "subspecies"] for words in genus_and_epithet])
    assert names[fold("Motacilla lugens")] == {"Motacilla alba lugens", "Motacilla flava lugens"}
    assert names[fold("Motacilla alba lugens")] == {"Motacilla alba lugens"}
    assert fold("Motacilla flava") not in names


def test_reading_the_checklist_imports_no_heavy_library() -> None:
    code = (
        "import sys; from kb.checklist.avilist import load_checklist; load_checklist().find('Merlin');"
        "print([m for m in ('pandas', 'openpyxl', 'birdnames', 'numpy', 'bs4') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root, timeout=60
    )
    assert done.stdout.strip() == "[]"


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


def test_english_names_of_groups_find_their_order_or_family(checklist: Checklist) -> None:
    assert len(english_groups()) > 150
    for group, names in english_groups().items():
        found = checklist.find(group)
        assert found is not None and found.rank in ("order", "family")
        for name in names:
            named = checklist.find(name)
            assert (named and named.scientific_name) == group, name


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
    for typo, meant in (
        ("Strigiforms", "Strigiformes"),
        ("Cardinalis cardinals", "Cardinalis cardinalis"),
        ("northen cardinal", "Northern Cardinal"),
        ("Blak-crowned Nigt Heron", "Black-crowned Night Heron"),
        ("Passeriforme", "Passeriformes"),
        ("eurasian wrenn", "Eurasian Wren"),
    ):
        assert checklist.find(typo) is None
        assert checklist.suggest(typo)[0] == meant
    assert len(checklist.suggest("kingfisher", 3)) == 3
    assert len(set(checklist.suggest("sparow", 10))) == len(checklist.suggest("sparow", 10))
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


def test_a_subspecies_is_found_by_another_lists_species_name() -> None:
    for name, trinomial in (
        ("Oxyura jamaicensis ferruginea", "Oxyura jamaicensis ferruginea"),
        ("Oxyura ferruginea", "Oxyura jamaicensis ferruginea"),  # eBird's
        ("Andean Duck", "Oxyura jamaicensis ferruginea"),
        ("Parus major major", "Parus major major"),
        ("Parus major", None),  # a species
        ("Parus nonsensus", None),
        ("", None),
    ):
        found = load_checklist().subspecies(name)
        assert (found and found[0]) == trinomial, name
        assert found is None or found[1].scientific_name == " ".join(found[0].split()[:2])
