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


def test_taxon_narrows_the_list(cli: Any, built_kb: Path) -> None:
    everything, owls = listed(cli, "--kb", built_kb), listed(cli, "--kb", built_kb, *OWLS)
    assert owls == [each for each in everything if each["family"] == "Strigidae"]
    assert 0 < len(owls) < len(everything)


def test_missing_adds_the_other_species_of_the_checklist(cli: Any, built_kb: Path) -> None:
    owls = listed(cli, "--kb", built_kb, *OWLS, "--missing")
    held = [each for each in owls if each["is_included"]]
    assert held == listed(cli, "--kb", built_kb, *OWLS)
    assert len(owls) > 200
    assert {each["reference_photos"] for each in owls if not each["is_included"]} == {0}


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


def test_an_unknown_taxon_ends_with_5(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("species", "--kb", built_kb, "--taxon", "Strigidea")
    assert outcome.exit_code == 5
    assert "Strigidae" in outcome.stderr


def test_the_shipped_knowledge_is_listed_without_kb(cli: Any) -> None:
    quails = listed(cli, "--taxon", "Callipepla", "--missing")
    assert {each["common_name"]: each["is_included"] for each in quails} == {
        "Gambel's Quail": True, "California Quail": True, "Scaled Quail": True, "Elegant Quail": False,
    }  # fmt: skip


def test_show_names_relatives_of_a_species_that_is_not_included(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("show", "Great Horned Owl", "--kb", built_kb)
    assert outcome.exit_code == 5
    message, hint = outcome.stderr.splitlines()
    assert message.startswith(f"error: Great Horned Owl (Bubo virginianus) is not in the knowledge base {built_kb}")
    assert hint == "hint: Of Bubo it holds Snowy Owl."


def test_show_of_an_order_lists_its_species_or_points_to_the_list(cli: Any, built_kb: Path) -> None:
    assert "Snowy Owl" in cli.call("show", "Strigiformes", "--kb", built_kb, check=True).stdout
    outcome = cli.call("show", "Psittaciformes", "--kb", built_kb)
    assert outcome.exit_code == 5
    assert "Psittaciformes is an order" in outcome.stderr
    assert "kb species --taxon Psittaciformes" in outcome.stderr
