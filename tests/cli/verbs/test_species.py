"""`kb species`: included and missing species."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

OWLS = ("--taxon", "Strigidae")


def listed(cli: Any, *arguments: object) -> list[dict[str, Any]]:
    return list(json.loads(cli.call("species", *arguments, "--format", "json", check=True).stdout))


def test_species_lists_what_is_known_of_each(cli: Any, built_kb: Path) -> None:
    found = {each["taxon_id"]: each for each in listed(cli, "--kb", built_kb)}
    shown = json.loads(cli.call("show", "Snowy Owl", "--kb", built_kb, "--format", "json", check=True).stdout)
    owl = found["bubo-scandiacus"]
    assert (owl["family"], owl["order"], owl["is_included"]) == ("Strigidae", "Strigiformes", True)
    assert owl["description_words"] == shown["summary"]["words"] > 0
    assert owl["reference_photos"] == len(shown["anchors"]) > 0


def test_csv_and_table_have_a_row_for_each_species(cli: Any, built_kb: Path) -> None:
    command = ("species", "--kb", built_kb, "--taxon", "Ciconiiformes", "--taxon", "Bubo", "--missing")
    rows = list(csv.DictReader(io.StringIO(cli.call(*command, "--format", "csv", check=True).stdout)))
    assert [row["taxon_id"] for row in rows] == [each["taxon_id"] for each in listed(cli, *command[1:])]
    outcome = cli.call(*command, check=True)
    assert len(outcome.stdout.splitlines()) == len(rows) + 2
    n_missing = sum(row["is_included"] == "False" for row in rows)
    assert outcome.stdout.count("known by name only") == n_missing > 10
    assert f"1 species in the knowledge base, {n_missing} known by name only" in outcome.stderr


def test_a_table_with_missing_species_ends_after_200_with_a_hint(cli: Any, built_kb: Path) -> None:
    command = ("species", "--kb", built_kb, *OWLS, "--missing")
    outcome = cli.call(*command, check=True)
    assert len(outcome.stdout.splitlines()) == 202
    n = len(listed(cli, *command[1:]))
    assert f"First 200 of {n} species. --taxon narrows the list; --format csv has all." in outcome.stderr
    assert "First 200" not in cli.call(*command[:-1], check=True).stderr


def test_show_of_an_order_lists_its_species_or_points_to_the_list(cli: Any, built_kb: Path) -> None:
    assert "Snowy Owl" in cli.call("show", "Strigiformes", "--kb", built_kb, check=True).stdout
    outcome = cli.call("show", "Psittaciformes", "--kb", built_kb)
    assert outcome.exit_code == 5
    assert "Psittaciformes is an order" in outcome.stderr
    assert "kb species --taxon Psittaciformes" in outcome.stderr
