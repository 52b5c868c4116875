"""AviList as the checklist: names of all ranks in any spelling, and the names that other lists use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.avilist import load_checklist, subspecies_by_name
from kb.checklist.names import fold


@pytest.fixture(scope="module")
def checklist() -> Checklist:
    return load_checklist()


def species(checklist: Checklist, name: str) -> Taxon:
    found = checklist.find(name)
    assert found is not None
    assert found.rank == "species"
    return found


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


@pytest.mark.parametrize(
    ("name", "scientific"),
    [
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
    ],
)
def test_names_are_found_in_any_spelling(checklist: Checklist, name: str, scientific: str) -> None:
    found = checklist.find(name)
    assert found is not None
    assert found.scientific_name == scientific


@pytest.mark.parametrize("name", ["", " ", "-", "Homo sapiens", "Cardinalis cardinalis floridanus", "北"])
def test_names_outside_the_checklist_are_not_found(checklist: Checklist, name: str) -> None:
    assert checklist.find(name) is None


def test_taxa_of_every_rank_list_their_species(checklist: Checklist) -> None:
    counts = {}
    for name in ("Aves", "Strigiformes", "Cardinalidae", "Cardinalis", "Cardinalis cardinalis"):
        found = checklist.find(name)
        assert found is not None
        counts[found.rank] = len(checklist.species_of(found))
    assert counts["class"] == 11131
    assert counts["genus"] == 3
    assert counts["species"] == 1
    assert counts["family"] > 40
    assert counts["order"] > 200
    toad = Taxon(taxon_id="bufo-bufo", scientific_name="Bufo bufo", rank="species")
    assert checklist.species_of(toad) == []


def test_lineages_run_from_class_to_genus(checklist: Checklist) -> None:
    assert list(species(checklist, "Merlin").lineage) == ["class", "order", "family", "genus"]
    owls = checklist.find("Strigidae")
    assert owls is not None
    assert dict(owls.lineage) == {"class": "Aves", "order": "Strigiformes"}


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


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("Strigiforms", "Strigiformes"),
        ("Cardinalis cardinals", "Cardinalis cardinalis"),
        ("northen cardinal", "Northern Cardinal"),
        ("Blak-crowned Nigt Heron", "Black-crowned Night Heron"),
        ("Passeriforme", "Passeriformes"),
        ("eurasian wrenn", "Eurasian Wren"),
    ],
)
def test_a_typo_gets_the_intended_name_as_first_suggestion(checklist: Checklist, typo: str, meant: str) -> None:
    assert checklist.find(typo) is None
    assert checklist.suggest(typo)[0] == meant


def test_ebird_codes_are_found_in_lower_case_only() -> None:
    found = load_checklist().with_code("norcar")
    assert found is not None
    assert found.scientific_name == "Cardinalis cardinalis"
    assert load_checklist().with_code("NORCAR") is None


def test_names_used_for_other_species_elsewhere_are_known() -> None:
    """AviList's Grey-headed Woodpecker lives in Eurasia, BirdLife's in Africa."""
    others = load_checklist().others_called("Gray-headed woodpecker")
    assert [taxon.scientific_name for taxon in others] == ["Dendropicos spodocephalus"]
    assert load_checklist().others_called("Northern Cardinal") == []


@pytest.mark.parametrize(
    ("name", "trinomial"),
    [
        ("Oxyura jamaicensis ferruginea", "Oxyura jamaicensis ferruginea"),
        ("Oxyura ferruginea", "Oxyura jamaicensis ferruginea"),  # eBird's
        ("Andean Duck", "Oxyura jamaicensis ferruginea"),
        ("Parus major major", "Parus major major"),
        ("Parus major", None),  # a species
        ("Parus nonsensus", None),
        ("", None),
    ],
)
def test_a_subspecies_is_found_by_another_lists_species_name(name: str, trinomial: str | None) -> None:
    found = load_checklist().subspecies(name)
    assert (found and found[0]) == trinomial
    if found:
        assert found[1].scientific_name == " ".join(found[0].split()[:2])


def test_ambiguous_subspecies_names_map_to_all_trinomials() -> None:
    genus_and_epithet = [
        ("Motacilla", "alba", "lugens"), ("Motacilla", "flava", "lugens"), ("Motacilla", "flava", "flava"),
    ]  # fmt: skip
    names = subspecies_by_name([[" ".join(words), "", "subspecies"] for words in genus_and_epithet])
    assert names[fold("Motacilla lugens")] == {"Motacilla alba lugens", "Motacilla flava lugens"}
    assert names[fold("Motacilla alba lugens")] == {"Motacilla alba lugens"}
    assert fold("Motacilla flava") not in names


def test_species_found_only_in_other_lists_are_lacking() -> None:
    assert load_checklist().lacks("Oxyura ferruginea")
    assert not load_checklist().lacks("Oxyura jamaicensis")
    assert not load_checklist().lacks("Accipiter badius")  # a synonym


def test_suggestions_are_limited_distinct_and_empty_for_nonsense(checklist: Checklist) -> None:
    assert len(checklist.suggest("kingfisher", 3)) == 3
    assert len(set(checklist.suggest("sparow", 10))) == len(checklist.suggest("sparow", 10))
    assert checklist.suggest("xqzzyqq") == []
    assert checklist.suggest("") == []
    assert checklist.suggest("owl", 0) == []


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
