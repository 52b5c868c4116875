"""Birds among species, by class, family, order or name."""

from __future__ import annotations

from typing import Any

import pytest

from data.records import LeftOut, Taxon
from kb.checklist.avilist import is_bird, profile_for
from kb.pipeline.selection import N_ASKED, Selection, with_profile
from kb.sources.own import OwnSource
from recognize.settings import BIRD_PROFILE, GENERAL_PROFILE


def taxon(name: str, **lineage: str) -> Taxon:
    return Taxon(taxon_id=name.lower().replace(" ", "-"), scientific_name=name, rank="species", lineage=lineage)


OWL, ADMIRAL = taxon("Bubo scandiacus"), taxon("Vanessa atalanta", **{"class": "Insecta"})


@pytest.mark.parametrize(
    ("species", "expected"),
    [
        (OWL, True),
        (ADMIRAL, False),
        (taxon("Avis nova", **{"class": "Aves"}), True),
        (taxon("Avis nova", order="Passeriformes"), True),
        (taxon("Avis nova", family="Strigidae"), True),
        (taxon("Vanessa atalanta"), False),
        (taxon("Prunella vulgaris", kingdom="Plantae", genus="Prunella"), False),
        (taxon("Prunella vulgaris", genus="Prunella"), False),
    ],
)
def test_birds_are_told_from_others(species: Taxon, expected: bool) -> None:
    assert is_bird(species) == expected
    assert profile_for([OWL, species]) == (BIRD_PROFILE if expected else GENERAL_PROFILE)


def selection(*located: Any) -> Selection:
    return Selection(source=OwnSource(), located=iter(located), name="")


def test_the_first_species_choose_the_profile_and_all_names_are_kept() -> None:
    unknown = ("Nothing", LeftOut(name="Nothing", reason="no page"))
    profile, left = with_profile(selection(unknown, (ADMIRAL, None), (OWL, None)))
    assert profile == GENERAL_PROFILE
    assert list(left.located) == [unknown, (ADMIRAL, None), (OWL, None)]
    assert with_profile(selection(unknown, (OWL, None)))[0] == BIRD_PROFILE
    assert with_profile(selection())[0] == BIRD_PROFILE


def test_few_names_are_looked_up_for_the_choice() -> None:
    asked = []

    def located() -> Any:
        for number in range(10 * N_ASKED):
            asked.append(number)
            yield (OWL, None)

    with_profile(Selection(source=OwnSource(), located=located(), name=""))
    assert len(asked) == N_ASKED
