"""`kb taxa`: a name, and the names of a file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest


def test_taxa_works_without_a_knowledge_base(cli: Any) -> None:
    outcome = cli.call("taxa", "northern", "cardinal", "--format", "json", check=True)
    (found,) = json.loads(outcome.stdout)
    assert found == {
        "taxon_id": "cardinalis-cardinalis",
        "scientific_name": "Cardinalis cardinalis",
        "common_name": "Northern Cardinal",
        "rank": "species",
        "score": 1.0,
        "lineage": {
            "class": "Aves", "order": "Passeriformes", "family": "Cardinalidae", "genus": "Cardinalis",
        },
        "matched_as": "",
    }  # fmt: skip
    assert "Aves > Passeriformes > Cardinalidae > Cardinalis" in cli.call("taxa", "Northern Cardinal").stdout


def test_taxa_counts_species_in_the_knowledge_base(cli: Any, built_kb: Path) -> None:
    text = cli.call("taxa", "Strigiformes", "--kb", built_kb, check=True).stdout
    assert "in knowledge base" in text
    assert text.split()[-1] == "2"  # the drawn Snowy Owl and Western Barn Owl


@pytest.mark.parametrize(
    ("name", "species", "rule"),
    [
        ("Accipiter badius", "Tachyspiza badia", "synonym: Accipiter badius"),
        ("067.Anna_Hummingbird", "Calypte anna", "English name (possessive): Anna's Hummingbird"),
        ("T. merula", "Turdus merula", "scientific name (abbreviation): Turdus merula"),
        ("northern cardinals", "Cardinalis cardinalis", "English name (plural): Northern Cardinal"),
    ],
)
def test_a_name_follows_the_rules_of_a_file(cli: Any, name: str, species: str, rule: str) -> None:
    (found,) = json.loads(cli.call("taxa", name, "--format", "json", check=True).stdout)
    assert (found["scientific_name"], found["matched_as"]) == (species, rule)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Turdus sp.", "a genus without a species"),
        ("Mallard x Gadwall", "a hybrid"),
        ("Western/Clark's Grebe", "several species"),
        ("C. anna", "several species"),
    ],
)
def test_a_name_of_no_single_species_exits_with_5(cli: Any, name: str, what: str) -> None:
    outcome = cli.call("taxa", name)
    assert outcome.exit_code == 5
    assert f'"{name}" names {what}, expected one taxon.' in outcome.stderr


@pytest.mark.parametrize("name", ["Vanessa atalanta", "Amanitaceae", "Tagpfauenauge"])
def test_quite_other_names_are_not_suggested(cli: Any, name: str) -> None:
    assert "Did you mean" not in cli.call("taxa", name).stderr


def test_names_of_a_file_are_reported_in_file_order(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("009.Brewer_Blackbird\n\nTurdus sp.\n017.Cardinal\nArtic Tern\n")
    outcome = cli.call("taxa", "--file", tmp_path / "names.txt", "--format", "json", check=True)
    rows = json.loads(outcome.stdout)
    assert [(row["name"], row["scientific_name"], row["rule"], row["reason"]) for row in rows] == [
        ("009.Brewer_Blackbird", "Euphagus cyanocephalus", "English name (possessive)", None),
        ("Turdus sp.", None, None, "genus only"),
        ("017.Cardinal", "Cardinalis cardinalis", "given", None),
        ("Artic Tern", None, None, "unknown"),
    ]
    assert rows[3]["suggestions"][0] == "Arctic Tern"
    assert "2 of 4 names matched\nby English name (possessive) 1, given 1\n" in outcome.stderr


def test_the_table_shows_other_species_with_the_same_name(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Grey-headed Woodpecker\n")
    text = " ".join(cli.call("taxa", "--file", tmp_path / "names.txt", check=True).stdout.split())
    assert "Grey-headed Woodpecker Picus canus Dendropicos spodocephalus" in text


def test_each_table_row_is_matched_by_its_most_reliable_name(cli: Any, tmp_path: Path) -> None:
    lines = ["Common Name,Scientific Name", "Andean Duck,Oxyura ferruginea", "Mallard,Nonsense x", "Gadwall,Nonsense y"]
    (tmp_path / "birds.csv").write_text("\n".join(lines))
    rows = json.loads(cli.call("taxa", "--file", tmp_path / "birds.csv", "--format", "json", check=True).stdout)
    assert [(row["name"], row["scientific_name"], row["rule"], row["matched_name"]) for row in rows] == [
        ("Oxyura ferruginea", "Oxyura jamaicensis", "subspecies", "Oxyura jamaicensis ferruginea"),
        ("Nonsense x", "Anas platyrhynchos", "English name", "Mallard"),
        ("Nonsense y", "Mareca strepera", "English name", "Gadwall"),
    ]


def test_matches_are_written_as_csv(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Mallard\nTurdus\n")
    lines = cli.call("taxa", "--file", tmp_path / "names.txt", "--format", "csv", check=True).stdout.splitlines()
    assert lines[0] == "name,scientific_name,common_name,taxon_id,rule,matched_name,other_species,reason,suggestions"
    assert lines[1] == "Mallard,Anas platyrhynchos,Mallard,anas-platyrhynchos,English name,Mallard,,,"
    assert lines[2] == "Turdus,,,,,,,not a species,"


@pytest.mark.parametrize("arguments", [(), ("Mallard", "--file", "names.txt"), ("Mallard", "--format", "csv")])
def test_exactly_one_of_name_and_file_is_required(cli: Any, arguments: tuple[str, ...]) -> None:
    assert cli.call("taxa", *arguments).exit_code == 2


def test_spreadsheet_formulas_are_escaped_in_csv(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("=HYPERLINK(1)\nTurdus merula\n")
    rows = list(csv.DictReader(io.StringIO(cli.call("taxa", "--file", "names.txt", "--format", "csv").stdout)))
    assert [row["name"] for row in rows] == ["'=HYPERLINK(1)", "Turdus merula"]


def test_a_missing_file_of_names_exits_with_5(cli: Any, tmp_path: Path) -> None:
    assert cli.call("taxa", "--file", tmp_path / "nowhere.txt").exit_code == 5
