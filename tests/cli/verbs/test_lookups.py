"""The verbs that read a knowledge base: status, verify, show, search, context, taxa."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest


def test_status_counts_what_is_there(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("status", "--kb", built_kb, "--format", "json", check=True)
    found = json.loads(outcome.stdout)
    assert found["species"] == found["summaries"] == found["articles"] >= 6
    assert found["chunks"] >= found["species"]
    assert found["failures"] == []
    table = cli.call("status", "--kb", built_kb, check=True).stdout
    assert f"species           {found['species']}" in table


def test_status_lists_what_was_left_out_and_why(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "notes" / "Mallard").mkdir(parents=True)
    (tmp_path / "notes" / "Mallard" / "article.txt").write_text(
        "== Description ==\nThe male has a green head and a yellow bill.\n"
    )
    (tmp_path / "names.csv").write_text("common_name\nMallard\nBlue Jay\nSea Robin\n")
    cli.call("build", "--source", f"folder:{tmp_path}/notes", "--names", "names.csv", "--kb", "n.kb", check=True)
    listed = json.loads(cli.call("status", "--kb", "n.kb", "--left-out", "--format", "json", check=True).stdout)
    assert [(row["name"], row["reason"]) for row in listed] == [
        ("Cyanocitta cristata", "no page"),
        ("Sea Robin", "not in the checklist"),
    ]
    table = cli.call("status", "--kb", "n.kb", "--left-out", check=True).stdout
    assert all(re.search(rf"^{row['name']} +{row['reason']}", table, re.M) for row in listed)


def test_the_environment_names_the_knowledge_base(cli: Any, built_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDMARK_KB", str(built_kb))
    assert cli.call("status").stdout == cli.call("status", "--kb", built_kb).stdout


@pytest.mark.parametrize(
    "arguments", [("verify",), ("update",), ("export", "out"), ("remove", "Kea"), ("add", "--name", "Kea")]
)
def test_verbs_that_write_or_repair_need_a_knowledge_base(cli: Any, arguments: tuple[str, ...]) -> None:
    outcome = cli.call(*arguments)
    assert outcome.exit_code == 3
    assert outcome.stderr.startswith("error: No knowledge base given.\nhint: Add --kb DIR")


def test_verify_of_a_whole_knowledge_base_gives_the_same_digest_every_time(cli: Any, built_kb: Path) -> None:
    first = json.loads(cli.call("verify", "--kb", built_kb, "--format", "json", check=True).stdout)
    again = json.loads(cli.call("verify", "--kb", built_kb, "--format", "json", check=True).stdout)
    assert first["ok"] is True
    assert first["digest"] == again["digest"]
    assert len(first["digest"]) == 64


def test_verify_ends_with_1_for_what_it_cannot_mend(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.kb"
    shutil.copytree(built_kb, broken)
    shutil.rmtree(broken / "articles")
    outcome = cli.call("verify", "--kb", broken, "--format", "json")
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)
    assert found["ok"] is False
    assert found["problems"] != []
    assert "error:" not in outcome.stderr


def test_verify_mends_a_lost_index_and_is_content_the_next_time(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.kb"
    shutil.copytree(built_kb, broken)
    shutil.rmtree(broken / "chroma")
    before = json.loads(cli.call("verify", "--kb", built_kb, "--format", "json", check=True).stdout)
    first = cli.call("verify", "--kb", broken, "--format", "json")
    assert first.exit_code == 1
    assert json.loads(first.stdout)["mended"] != []
    again = json.loads(cli.call("verify", "--kb", broken, "--format", "json", check=True).stdout)
    assert (again["ok"], again["problems"], again["digest"]) == (True, [], before["digest"])


@pytest.mark.parametrize("name", ["Snowy Owl", "bubo scandiacus", "SNOWY-OWL", "bubo-scandiacus"])
def test_show_finds_a_species_by_any_of_its_names(cli: Any, built_kb: Path, name: str) -> None:
    outcome = cli.call("show", *name.split(), "--kb", built_kb, "--format", "json", check=True)
    found = json.loads(outcome.stdout)
    assert found["taxon"]["taxon_id"] == "bubo-scandiacus"
    assert found["summary"]["statements"] != []


def test_show_quotes_the_words_that_a_summary_rests_on(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("show", "Snowy Owl", "--kb", built_kb, "--format", "json", check=True).stdout)
    quotes = [span["quote"] for statement in found["summary"]["statements"] for span in statement["evidence"]]
    assert quotes != []
    assert all(quote.strip() for quote in quotes)
    assert all(anchor["credit"] for anchor in found["anchors"] if anchor["sha256"])


def test_show_prints_the_ranks_from_the_highest_down(cli: Any, built_kb: Path) -> None:
    text = cli.call("show", "Snowy Owl", "--kb", built_kb, check=True).stdout
    assert "Aves > Strigiformes > Strigidae > Bubo" in text


def test_show_finds_a_term(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("show", "speculum", "--kb", built_kb, "--format", "json", check=True).stdout)
    assert found["term"]["name"] == "speculum"


def test_show_suggests_names_of_the_knowledge_base(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("show", "Snowy Oul", "--kb", built_kb)
    assert outcome.exit_code == 5
    assert outcome.stdout == ""
    assert "Snowy Owl" in outcome.stderr.splitlines()[1]


def test_search_finds_a_bird_by_its_looks(cli: Any, built_kb: Path) -> None:
    outcome = cli.call(
        "search", "white owl with yellow eyes", "--kb", built_kb, "--format", "json", "--top", "3", check=True
    )
    found = json.loads(outcome.stdout)
    assert len(found) == 3
    assert "bubo-scandiacus" in [match["taxon_id"] for match in found]
    assert [set(match) for match in found] == [{"taxon_id", "scientific_name", "common_name", "rank", "score"}] * 3


def test_context_explains_a_term_with_its_source(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("context", "a duck with a blue speculum", "--kb", built_kb, "--format", "json", check=True)
    found = json.loads(outcome.stdout)
    assert found["found"] is True
    assert "speculum" in [term["name"] for term in found["terms"]]
    assert "speculum" in found["passage"].lower()
    assert found["sources"] != []


def test_context_that_finds_nothing_is_no_error(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("context", "xqzzt vbrrk", "--kb", built_kb, check=True)
    assert outcome.stdout == "Nothing found.\n"
    found = json.loads(cli.call("context", "xqzzt vbrrk", "--kb", built_kb, "--format", "json", check=True).stdout)
    assert (found["found"], found["passage"], found["sources"]) == (False, "", [])


def test_taxa_works_without_any_knowledge_base(cli: Any) -> None:
    outcome = cli.call("taxa", "northern", "cardinal", "--format", "json", check=True)
    (found,) = json.loads(outcome.stdout)
    assert found == {
        "taxon_id": "cardinalis-cardinalis",
        "scientific_name": "Cardinalis cardinalis",
        "common_name": "Northern Cardinal",
        "rank": "species",
        "score": 1.0,
    }
    assert "Aves > Passeriformes > Cardinalidae > Cardinalis" in cli.call("taxa", "Northern Cardinal").stdout


def test_taxa_counts_what_the_knowledge_base_holds(cli: Any, built_kb: Path) -> None:
    text = cli.call("taxa", "Strigiformes", "--kb", built_kb, check=True).stdout
    assert "in knowledge base" in text
    assert text.split()[-1] == "2"  # the drawn Snowy Owl and Western Barn Owl


def test_an_unknown_name_ends_with_5_and_suggestions(cli: Any) -> None:
    outcome = cli.call("taxa", "Nothern Cardnal")
    assert outcome.exit_code == 5
    assert "did you mean Northern Cardinal" in outcome.stderr


def test_taxa_reports_each_name_of_a_file_in_its_order(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("009.Brewer_Blackbird\n\nTurdus sp.\n017.Cardinal\nArtic Tern\n")
    outcome = cli.call("taxa", "--file", tmp_path / "names.txt", "--format", "json", check=True)
    rows = json.loads(outcome.stdout)
    assert [(row["name"], row["scientific_name"], row["rule"], row["why"]) for row in rows] == [
        ("009.Brewer_Blackbird", "Euphagus cyanocephalus", "English name (possessive)", None),
        ("Turdus sp.", None, None, "several species"),
        ("017.Cardinal", "Cardinalis cardinalis", "given", None),
        ("Artic Tern", None, None, "unknown"),
    ]
    assert rows[3]["suggestions"][0] == "Arctic Tern"
    assert "2 of 4 names matched\nby English name (possessive) 1, given 1\n" in outcome.stderr


def test_the_table_of_names_tells_which_other_species_a_name_means_elsewhere(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Grey-headed Woodpecker\n")
    text = " ".join(cli.call("taxa", "--file", tmp_path / "names.txt", check=True).stdout.split())
    assert "Grey-headed Woodpecker Picus canus Dendropicos spodocephalus" in text


def test_a_table_of_names_gives_a_row_a_bird_by_its_surest_name(cli: Any, tmp_path: Path) -> None:
    lines = ["Common Name,Scientific Name", "Andean Duck,Oxyura ferruginea", "Mallard,Nonsense x", "Gadwall,Nonsense y"]
    (tmp_path / "birds.csv").write_text("\n".join(lines))
    rows = json.loads(cli.call("taxa", "--file", tmp_path / "birds.csv", "--format", "json", check=True).stdout)
    assert [(row["name"], row["scientific_name"], row["rule"], row["met"]) for row in rows] == [
        ("Oxyura ferruginea", "Oxyura jamaicensis", "subspecies", "Oxyura jamaicensis ferruginea"),
        ("Nonsense x", "Anas platyrhynchos", "English name", "Mallard"),
        ("Nonsense y", "Mareca strepera", "English name", "Gadwall"),
    ]


def test_the_report_of_names_is_csv_for_a_spreadsheet(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Mallard\nTurdus\n")
    lines = cli.call("taxa", "--file", tmp_path / "names.txt", "--format", "csv", check=True).stdout.splitlines()
    assert lines[0] == "name,scientific_name,common_name,taxon_id,rule,met,elsewhere,why,suggestions"
    assert lines[1] == "Mallard,Anas platyrhynchos,Mallard,anas-platyrhynchos,English name,Mallard,,,"
    assert lines[2] == "Turdus,,,,,,,not a species,"


@pytest.mark.parametrize("arguments", [(), ("Mallard", "--file", "names.txt"), ("Mallard", "--format", "csv")])
def test_taxa_takes_either_a_name_or_a_file(cli: Any, arguments: tuple[str, ...]) -> None:
    assert cli.call("taxa", *arguments).exit_code == 2


def test_the_csv_of_names_runs_nothing_in_a_spreadsheet(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("=HYPERLINK(1)\nTurdus merula\n")
    rows = list(csv.DictReader(io.StringIO(cli.call("taxa", "--file", "names.txt", "--format", "csv").stdout)))
    assert [row["name"] for row in rows] == ["'=HYPERLINK(1)", "Turdus merula"]


def test_a_file_of_names_that_is_not_there_is_bad_input(cli: Any, tmp_path: Path) -> None:
    assert cli.call("taxa", "--file", tmp_path / "nowhere.txt").exit_code == 5
