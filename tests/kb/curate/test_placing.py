"""Higher taxa that a new species takes from its genus, and names that differ by a letter."""

from __future__ import annotations

import pytest

from data.records import Taxon
from kb.checklist.wiki_checklist import WikiChecklist
from kb.curate.placing import near_names, with_relatives


def species(name: str, **lineage: str) -> Taxon:
    return Taxon(
        taxon_id=name.lower().replace(" ", "-"),
        scientific_name=name,
        rank="species",
        lineage={**lineage, "genus": name.split()[0]},
    )


def test_a_species_takes_the_higher_taxa_that_its_genus_shares() -> None:
    held = [species("Vanessa atalanta", order="Lepidoptera", family="Nymphalidae"), species("Rana arvalis")]
    taken = with_relatives(species("Vanessa cardui"), held).lineage
    assert taken == {"order": "Lepidoptera", "family": "Nymphalidae", "genus": "Vanessa"}
    assert with_relatives(species("Aglais io"), held).lineage == {"genus": "Aglais"}


def test_a_genus_of_two_kingdoms_gives_nothing() -> None:
    held = [species("Prunella vulgaris", family="Lamiaceae"), species("Prunella modularis", family="Prunellidae")]
    assert with_relatives(species("Prunella nova"), held).lineage == {"genus": "Prunella"}
    plant = species("Prunella nova", family="Lamiaceae")
    assert with_relatives(plant, held[1:]) == plant


@pytest.mark.parametrize(
    ("name", "is_near"),
    [
        ("Vanesa atalanta", True),
        ("Vanessa atalamta", True),
        ("Vanessa taalanta", True),
        ("Vanessas atalanta", True),
        ("Vanessa atalanta", False),
        ("Vanessa cardui", False),
        ("Vanssa atalamta", False),
    ],
)
def test_names_that_differ_by_a_letter_are_near(name: str, is_near: bool) -> None:
    held = species("Vanessa atalanta")
    assert near_names(species(name), [held], WikiChecklist()) == (["Vanessa atalanta"] if is_near else [])
