"""Species that pages name, beside a checklist that lacks them."""

from __future__ import annotations

from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.reconcile import match_names
from kb.checklist.stored.usage import licence_name
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes

FROG = Taxon(
    taxon_id="rana-rubra", scientific_name="Rana rubra", rank="species", common_names=("Red Frog",),
    synonyms=("Rana rufa",), lineage={"class": "Amphibia", "genus": "Rana"},
)  # fmt: skip


def test_a_checklist_beside_taxoboxes_finds_species_of_both() -> None:
    birds = load_checklist()
    both = WithTaxoboxes(birds, [FROG])
    magpie = birds.find("Pica pica")
    assert magpie is not None
    assert (both.find("red frog"), both.find("Pica pica"), both.find("Bufo bufo")) == (FROG, magpie, None)
    assert both.species_of(FROG) == [FROG] and both.n_species_of(FROG) == 1
    assert list(both.species_ids(magpie)) == ["pica-pica"]
    assert both.suggest("Rana ruba", 2)[0] == "Rana rubra"
    assert both.lacks([FROG, magpie]) == 1
    assert both.recorded_for([magpie]) == ("AviList 2025", birds.digest)
    assert both.recorded_for([FROG, magpie]) == ("AviList 2025, wiki", birds.digest)
    assert both.recorded_for([FROG]) == ("wiki", "")


def test_species_of_pages_are_found_by_name_and_have_no_tree() -> None:
    own = WikiChecklist([FROG])
    assert own.find("Rana rubra") == FROG and own.top_taxa() == [FROG]
    genus = Taxon(taxon_id="rana", scientific_name="Rana", rank="genus")
    assert (own.species_of(genus), own.n_species_of(FROG), own.homonyms("Rana")) == ([], 1, [])
    assert own.suggest("red frogs") == ["Red Frog"]
    assert own.suggest("xyzzy") == []


def test_labels_are_matched_with_given_species_alone() -> None:
    found = match_names(["07.Rana_rubra", "red-frog", "Rana rufa", "Pica pica"], [FROG])
    assert [(match.name, match.kind, match.matched_name) for match in found] == [
        ("07.Rana_rubra", "scientific name", "Rana rubra"), ("red-frog", "English name", "Red Frog"),
        ("Rana rufa", "synonym", "Rana rufa"),
    ]  # fmt: skip


def test_licences_have_their_short_names() -> None:
    for statement, name in (
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0 1.0"),
        ("http://creativecommons.org/licenses/by-sa/3.0/", "CC BY-SA 3.0"),
        ("cc-by-nc v4.0", "CC BY-NC 4.0"),
        ("Creative Commons Attribution-ShareAlike (v3.0)", "CC BY-SA 3.0"),
        (" All  rights reserved. ", "All rights reserved."),
    ):
        assert licence_name(statement) == name
