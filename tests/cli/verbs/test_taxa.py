"""`kb taxa`: a name, and the names of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


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


def test_what_names_no_single_taxon_is_refused_with_a_reason(cli: Any) -> None:
    for arguments, code, message in (
        (("Turdus sp.",), 5, '"Turdus sp." names a genus without a species, expected one taxon.'),
        (("Mallard x Gadwall",), 5, '"Mallard x Gadwall" names a hybrid, expected one taxon.'),
        (("Western/Clark's Grebe",), 5, "names several species, expected one taxon.\nhint: Did you mean "),
        (("Nothern Cardnal",), 5, "Did you mean Northern Cardinal"),
        (("--file", "nowhere.txt"), 5, "File not found: nowhere.txt"),
        ((), 2, "Expected either a NAME or --file FILE."),
        (("Mallard", "--file", "names.txt"), 2, "Expected either a NAME or --file FILE."),
        (("Mallard", "--format", "csv"), 2, "--format csv needs --file."),
        (("Mallard", "--checklist", "wiki"), 2, "--checklist wiki is for kb build"),
    ):
        outcome = cli.call("taxa", *arguments)
        assert (outcome.exit_code, message in outcome.stderr) == (code, True), (arguments, outcome.stderr)
