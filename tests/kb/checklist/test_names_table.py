"""Columns of a table of names: ranks, synonyms, common names in several languages."""

from __future__ import annotations

from pathlib import Path

from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.names_table import read_names, unused_columns
from kb.checklist.stored.of_species import checklist_of_species, is_of_build

TABLE = """\
Scientific Name;common_name;common_name_de;synonyms;kingdom;family;site
"Papilio machaon Linnaeus, 1758";Swallowtail;Schwalbenschwanz;Papilio sphyrus|Papilio aliaska;Animalia;Papilionidae;fen
Pikachu;;;;;Pokemon;
"""


def table(tmp_path: Path, text: str = TABLE) -> Path:
    (tmp_path / "names.csv").write_text(text, encoding="utf-8")
    return tmp_path / "names.csv"


def test_a_row_gives_synonyms_ranks_and_names_by_language(tmp_path: Path) -> None:
    assert read_names(table(tmp_path), load_checklist()).taxa[0] == Taxon(
        taxon_id="papilio-machaon",
        scientific_name="Papilio machaon",
        rank="species",
        common_names=("Swallowtail",),
        lineage={"kingdom": "Animalia", "family": "Papilionidae", "genus": "Papilio"},
        synonyms=("Papilio sphyrus", "Papilio aliaska"),
        names_by_language={"de": ("Schwalbenschwanz",)},
    )


def test_a_bird_keeps_its_names_and_gets_further_languages(tmp_path: Path) -> None:
    (owl,) = read_names(table(tmp_path, "common_name,common_name_de\nSnowy Owl,Schneeeule\n"), load_checklist()).taxa
    assert (owl.common_name, owl.names_by_language) == ("Snowy Owl", {"de": ("Schneeeule",)})


def test_a_name_of_another_class_is_not_that_of_a_bird(tmp_path: Path) -> None:
    rows = "scientific_name,common_name,class\nPsyche nova,Snowy Owl,Insecta\n"
    assert [taxon.taxon_id for taxon in read_names(table(tmp_path, rows), load_checklist()).taxa] == ["psyche-nova"]


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    assert unused_columns(table(tmp_path)) == ["site"]
    assert unused_columns(table(tmp_path, "Snowy Owl\nMerlin\n")) == []


def test_the_species_of_a_table_are_a_checklist(tmp_path: Path) -> None:
    species = read_names(table(tmp_path), load_checklist()).taxa
    made = checklist_of_species(species, tmp_path / "c.sqlite", "names")
    assert (made.name, made.n_species, is_of_build(made), is_of_build(load_checklist())) == ("names", 2, True, False)
    for name in ("Papilio aliaska", "schwalbenschwanz", "Swallowtail"):
        assert made.find(name) == species[0]
    assert made.find("Pikachu") == species[1]
    again = checklist_of_species(species, tmp_path / "d.sqlite", "names")
    assert again.digest == made.digest != checklist_of_species(species[:1], tmp_path / "e.sqlite", "names").digest
