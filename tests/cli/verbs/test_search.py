"""`kb search`: species by a description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_search_finds_a_bird_by_its_description(cli: Any, built_kb: Path) -> None:
    outcome = cli.call(
        "search", "white owl with yellow eyes", "--kb", built_kb, "--format", "json", "--top", "3", check=True
    )
    found = json.loads(outcome.stdout)
    assert len(found) == 3
    assert "bubo-scandiacus" in [match["taxon_id"] for match in found]
    assert [set(match) for match in found] == [{"taxon_id", "scientific_name", "common_name", "rank", "score"}] * 3


def test_an_empty_query_is_a_usage_error(cli: Any) -> None:
    for verb in ("search", "context", "show"):
        outcome = cli.call(verb, " ")
        assert (outcome.exit_code, "xpected" in outcome.stderr) == (2, True), verb


def test_a_species_without_an_entry_is_reported_with_its_relatives(cli: Any, built_kb: Path) -> None:
    for verb, code in (("search", 0), ("show", 5), ("taxa", 0)):
        outcome = cli.call(verb, "Vermilion Cardinal", "--kb", built_kb)
        text = " ".join((outcome.stdout + outcome.stderr).split())
        assert outcome.exit_code == code, verb
        assert "Vermilion Cardinal (Cardinalis phoeniceus) is not in the knowledge base" in text
        assert "Of Cardinalis it holds Northern Cardinal." in text


def test_search_leads_with_the_statement_that_a_species_is_known_by_name_only(cli: Any, built_kb: Path) -> None:
    command = ("search", "Vermilion Cardinal", "--kb", built_kb)
    lines = cli.call(*command, check=True).stdout.splitlines()
    assert lines[0].startswith("Vermilion Cardinal (Cardinalis phoeniceus) is not in the knowledge base")
    assert "known by name only" in lines[0]
    assert lines[1] == ""
    assert "Northern Cardinal" in lines[4]
    outcome = cli.call(*command, "--format", "json", check=True)
    assert json.loads(outcome.stdout)[0]["common_name"] == "Northern Cardinal"
    assert "known by name only" in outcome.stderr
