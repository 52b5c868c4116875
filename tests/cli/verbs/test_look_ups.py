"""`kb search`, `show`, `species`, `status` and `taxa`: look-ups of species, terms, names and counts."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from cli.verbs.show import photo_lines
from data.records import Anchor
from tests.cli.verbs.conftest import build_folder, write_bird


def found_by(cli: Any, *arguments: object) -> Any:
    return json.loads(cli.call(*arguments, "--format", "json", check=True).stdout)


def test_search_finds_a_bird_by_its_description(cli: Any, built_kb: Path) -> None:
    found = found_by(cli, "search", "white owl with yellow eyes", "--kb", built_kb, "--top", "3")
    assert len(found) == 3 and "bubo-scandiacus" in [match["taxon_id"] for match in found]
    assert [set(match) for match in found] == [{"taxon_id", "scientific_name", "common_name", "rank", "score"}] * 3
    outcome = cli.call("search", " ")
    assert (outcome.exit_code, "expected words" in outcome.stderr) == (2, True)
    german = cli.call("search", "rotkehlchen", "--language", "de", "--kb", built_kb, check=True)
    assert "Rotkehlchen" in german.stdout and "has no names" not in german.stdout
    none = cli.call("search", "rotkehlchen", "--language", "xx", "--kb", built_kb, check=True).stdout
    assert 'has no names in the language "xx"' in " ".join(none.split())


def test_a_species_without_an_entry_is_reported_with_its_relatives(cli: Any, built_kb: Path) -> None:
    for verb, code in (("search", 0), ("show", 5), ("taxa", 0)):
        outcome = cli.call(verb, "Vermilion Cardinal", "--kb", built_kb)
        text = " ".join((outcome.stdout + outcome.stderr).split())
        assert outcome.exit_code == code, verb
        assert "Vermilion Cardinal (Cardinalis phoeniceus) is not in the knowledge base" in text
        assert "Of Cardinalis it holds Northern Cardinal." in text
    outcome = cli.call("search", "Vermilion Cardinal", "--kb", built_kb, "--format", "json", check=True)
    assert json.loads(outcome.stdout)[0]["common_name"] == "Northern Cardinal"
    assert "known by name only" in outcome.stderr


def test_subspecies_find_their_species_and_shared_names_those_held(cli: Any, tmp_path: Path) -> None:
    for name in ("Carrion Crow", "European Robin", "American Robin", "Snowy Owl"):
        write_bird(tmp_path, name, f"The {name} is a bird with a black bill and dark wings.")
    build_folder(tmp_path, tmp_path / "kb")
    for verb, name in (("show", "Hooded Crow"), ("search", "hooded crow"), ("context", "Corvus cornix")):
        outcome = cli.call(verb, name, "--kb", tmp_path / "kb", check=True)
        text = " ".join((outcome.stdout + outcome.stderr).split())
        assert f"{name[0].upper()}{name[1:]} is a subspecies of Carrion Crow." in text, verb
        assert "Not explained" not in text
        assert verb == "context" or re.search("species Carrion Crow|1 Carrion Crow", text), text
    outcome = cli.call("show", "robin", "--kb", tmp_path / "kb")
    assert outcome.exit_code == 5 and '"robin" names 2 taxa in the knowledge base' in outcome.stderr
    assert {"European", "American"} == set(re.findall(r'"(\w+) Robin"', outcome.stderr))


def test_show_finds_a_species_and_quotes_its_evidence(cli: Any, built_kb: Path) -> None:
    found = found_by(cli, "show", "bubo", "scandiacus", "--kb", built_kb)
    assert found["taxon"]["taxon_id"] == "bubo-scandiacus"
    quotes = [span["quote"] for statement in found["summary"]["statements"] for span in statement["evidence"]]
    assert quotes and all(quote.strip() for quote in quotes)
    assert "Snowy Owl" in cli.call("show", "Strigiformes", "--kb", built_kb, check=True).stdout
    outcome = cli.call("show", "Psittaciformes", "--kb", built_kb)
    assert outcome.exit_code == 5
    assert "Psittaciformes is an order" in outcome.stderr and "kb species --taxon Psittaciformes" in outcome.stderr


def test_show_prints_ranks_and_photos(cli: Any, tmp_path: Path) -> None:
    write_bird(tmp_path, "Snowy Owl", "A white owl with yellow eyes.")
    build_folder(tmp_path, tmp_path / "kb")
    text = cli.call("show", "Snowy Owl", "--kb", tmp_path / "kb", check=True).stdout
    assert "Aves > Strigiformes > Strigidae > Bubo" in text
    photo = Anchor(
        anchor_id="a" * 64, subject_id="avis-avis", sha256="a" * 64, file="1.jpg", author="Ann", licence="CC0"
    )
    vectors = [Anchor(anchor_id=letter * 64, subject_id="avis-avis") for letter in "bc"]
    assert photo_lines([photo, *vectors]) == ["  1.jpg: Ann, CC0", "  2 photos stored as vectors only"]


def test_species_are_listed_with_what_is_known_of_each(cli: Any, built_kb: Path) -> None:
    owl = {each["taxon_id"]: each for each in found_by(cli, "species", "--kb", built_kb)}["bubo-scandiacus"]
    shown = found_by(cli, "show", "Snowy Owl", "--kb", built_kb)
    assert (owl["family"], owl["order"], owl["is_included"]) == ("Strigidae", "Strigiformes", True)
    assert owl["description_words"] == shown["summary"]["words"] > 0
    assert owl["reference_photos"] == len(shown["anchors"]) > 0
    command = ("species", "--kb", built_kb, "--taxon", "Ciconiiformes", "--taxon", "Bubo", "--missing")
    rows = list(csv.DictReader(io.StringIO(cli.call(*command, "--format", "csv", check=True).stdout)))
    assert [row["taxon_id"] for row in rows] == [each["taxon_id"] for each in found_by(cli, *command)]
    outcome = cli.call(*command, check=True)
    assert len(outcome.stdout.splitlines()) == len(rows) + 2
    n_missing = sum(row["is_included"] == "False" for row in rows)
    assert outcome.stdout.count("known by name only") == n_missing > 10
    assert f"1 species in the knowledge base, {n_missing} known by name only" in outcome.stderr
    outcome = cli.call("species", "--kb", built_kb, "--taxon", "Strigidae", "--missing", check=True)
    assert len(outcome.stdout.splitlines()) == 202
    assert re.search(r"First 200 of 2\d\d species. --taxon narrows the list; --format csv has all", outcome.stderr)


def test_status_counts_species_and_lists_left_out_names_with_reasons(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    found = found_by(cli, "status", "--kb", built_kb)
    assert found["species"] == found["summaries"] == found["articles"] >= 6
    assert found["chunks"] >= found["species"] and found["failures"] == []
    table = cli.call("status", "--kb", built_kb, check=True).stdout
    assert f"species           {found['species']}" in table
    assert cli.call("status", "--kb", built_kb, "--left-out", check=True).stdout == "No name was left out.\n"
    write_bird(tmp_path / "notes", "Mallard", "The male has a green head and a yellow bill.")
    (tmp_path / "names.csv").write_text("common_name\nMallard\nBlue Jay\nSea Robin\n")
    cli.call("build", "--source", "folder:notes", "--names", "names.csv", "--kb", "n.kb", check=True)
    listed = found_by(cli, "status", "--kb", "n.kb", "--left-out")
    assert [(row["name"], row["reason"]) for row in listed] == [
        ("Cyanocitta cristata", "no page"), ("Sea Robin", "not in the checklist"),
    ]  # fmt: skip
    table = cli.call("status", "--kb", "n.kb", "--left-out", check=True).stdout
    assert all(re.search(rf"^{row['name']} +{row['reason']}", table, re.M) for row in listed)
    assert [row["name"] for row in found_by(cli, "status", "--kb", "n.kb", "--left-out", "No page")] == [
        "Cyanocitta cristata"
    ]
    unknown = cli.call("status", "--left-out", "no pages", "--kb", "n.kb")
    assert (unknown.exit_code, 'Did you mean "no page"?' in unknown.stderr) == (2, True), unknown.stderr


def test_taxa_finds_a_name_and_counts_species_in_the_knowledge_base(cli: Any, built_kb: Path) -> None:
    assert found_by(cli, "taxa", "northern", "cardinal") == [{
        "taxon_id": "cardinalis-cardinalis", "scientific_name": "Cardinalis cardinalis",
        "common_name": "Northern Cardinal", "rank": "species", "score": 1.0,
        "lineage": {"class": "Aves", "order": "Passeriformes", "family": "Cardinalidae", "genus": "Cardinalis"},
        "matched_as": "",
    }]  # fmt: skip
    text = cli.call("taxa", "Strigiformes", "--kb", built_kb, check=True).stdout
    assert "in knowledge base" in text and text.split()[-1] == "2"  # the drawn Snowy Owl and Western Barn Owl


def test_names_of_a_file_are_reported_in_file_order_in_every_format(cli: Any, tmp_path: Path) -> None:
    names = "009.Brewer_Blackbird\n\nTurdus sp.\nGrey-headed Woodpecker\n017.Cardinal\nArtic Tern\n"
    (tmp_path / "names.txt").write_text(names)
    outcome = cli.call("taxa", "--file", "names.txt", "--format", "json", check=True)
    rows = json.loads(outcome.stdout)
    assert [(row["name"], row["scientific_name"], row["rule"], row["reason"]) for row in rows] == [
        ("009.Brewer_Blackbird", "Euphagus cyanocephalus", "English name (possessive)", None),
        ("Turdus sp.", None, None, "genus only"),
        ("Grey-headed Woodpecker", "Picus canus", "English name", None),
        ("017.Cardinal", "Cardinalis cardinalis", "given", None),
        ("Artic Tern", None, None, "unknown"),
    ]
    assert rows[4]["suggestions"][0] == "Arctic Tern"
    assert "3 of 5 names matched\nby English name (possessive) 1, English name 1, given 1\n" in outcome.stderr
    text = " ".join(cli.call("taxa", "--file", "names.txt", check=True).stdout.split())
    assert "Grey-headed Woodpecker Picus canus Dendropicos spodocephalus" in text
    lines = cli.call("taxa", "--file", "names.txt", "--format", "csv", check=True).stdout.splitlines()
    assert lines[0] == "name,scientific_name,common_name,taxon_id,rule,matched_name,other_species,reason,suggestions"
    assert lines[2] == "Turdus sp.,,,,,,,genus only,"
    assert lines[4].endswith(",Northern Cardinal,cardinalis-cardinalis,given,Cardinalis cardinalis,,,")
    (tmp_path / "birds.csv").write_text("Common Name,Scientific Name\nMallard,Nonsense x\n")
    [row] = found_by(cli, "taxa", "--file", "birds.csv")  # by the most reliable name of each row
    assert (row["name"], row["scientific_name"], row["rule"]) == ("Nonsense x", "Anas platyrhynchos", "English name")


def test_what_names_no_single_taxon_is_refused_with_a_reason(cli: Any) -> None:
    for arguments, code, message in (
        (("Mallard x Gadwall",), 5, '"Mallard x Gadwall" names a hybrid, expected one taxon.'),
        (("Western/Clark's Grebe",), 5, "names several species, expected one taxon.\nhint: Did you mean "),
        (("Nothern Cardnal",), 5, "Did you mean Northern Cardinal"),
        (("--file", "nowhere.txt"), 5, "File not found: nowhere.txt"),
        ((), 2, "Expected either a NAME or --file FILE."),
        (("Mallard", "--format", "csv"), 2, "--format csv needs --file."),
        (("Mallard", "--checklist", "wiki"), 2, "--checklist wiki is for kb build"),
    ):
        outcome = cli.call("taxa", *arguments)
        assert (outcome.exit_code, message in outcome.stderr) == (code, True), (arguments, outcome.stderr)
