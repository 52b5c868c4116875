"""A table of names as the checklist of a knowledge base of another group than birds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine

TABLE = """\
scientific_name,common_name,common_name_de,synonyms,class,order,family,habitat
Aglais io,Peacock,Tagpfauenauge,Inachis io,Insecta,Lepidoptera,Nymphalidae,gardens
Vanessa atalanta,Red Admiral,Admiral,,Insecta,Lepidoptera,Nymphalidae,
Pieris rapae,Small White,Kleiner Kohlweißling,,Insecta,Lepidoptera,Pieridae,
"""
TEXT = "The wings are rusty red with an eyespot on each wing tip. The underside is black."


@pytest.fixture
def notes(tmp_path: Path) -> str:
    for name in ("Tagpfauenauge", "Red Admiral", "Blue Morpho"):
        (tmp_path / "notes" / name).mkdir(parents=True)
        (tmp_path / "notes" / name / "article.txt").write_text(TEXT)
    (tmp_path / "butterflies.csv").write_text(TABLE, encoding="utf-8")
    return "folder:notes"


@pytest.fixture
def base(cli: CommandLine, notes: str) -> tuple[CommandLine, str]:
    built = cli.call("build", "--source", notes, "--names", "butterflies.csv", "--kb", "b.kb", check=True)
    return cli, built.stderr


def species(cli: CommandLine, *more: str) -> dict[str, bool]:
    rows = json.loads(cli.call("species", "--kb", "b.kb", "--format", "json", *more, check=True).stdout)
    return {row["scientific_name"]: row["is_included"] for row in rows}


def status(cli: CommandLine) -> Any:
    return json.loads(cli.call("status", "--kb", "b.kb", "--format", "json", check=True).stdout)


def test_its_rows_are_the_species_that_are_missing(base: tuple[CommandLine, str]) -> None:
    cli, _ = base
    assert status(cli)["checklist"] == "butterflies"
    assert species(cli, "--missing") == {"Aglais io": True, "Vanessa atalanta": True, "Pieris rapae": False}
    assert species(cli, "--missing", "--taxon", "Pieridae") == {"Pieris rapae": False}
    shown = cli.call("show", "Pieris rapae", "--kb", "b.kb")
    assert shown.exit_code == 5 and "known by name only (butterflies); left out: no page." in shown.stderr
    assert "kb add takes your own text" in shown.stderr
    assert cli.call("verify", "--kb", "b.kb").exit_code == 0


def test_names_in_other_languages_and_synonyms_are_found_and_other_columns_named(base: tuple[CommandLine, str]) -> None:
    cli, stderr = base
    assert "butterflies.csv: columns that are not used: habitat\n" in stderr
    for name in ("Inachis io", "Tagpfauenauge", "peacock"):
        assert "Aglais io" in cli.call("show", name, "--kb", "b.kb", check=True).stdout
    assert "matched as" in cli.call("taxa", "Kleiner Kohlweißling", "--kb", "b.kb", check=True).stdout


def test_a_misspelt_addition_is_named(base: tuple[CommandLine, str]) -> None:
    cli, _ = base
    Path("w.txt").write_text("The forewing has a grey tip.")
    add = ("add", "--kb", "b.kb", "--text", "w.txt", "--name")
    misspelt = cli.call(*add, "Vanesa atalanta", check=True).stderr
    assert "one letter from Vanessa atalanta. If misspelt: kb remove 'Vanesa atalanta' --kb b.kb" in misspelt
    assert "not in the checklist butterflies" in cli.call(*add, "Rana fusca", check=True).stderr
    assert cli.call(*add, "Pieris rapae", check=True).stderr == ""


def test_a_later_table_takes_its_place_and_builds_without_one_keep_it(base: tuple[CommandLine, str]) -> None:
    cli, _ = base
    cli.call("build", "--source", "folder:notes", "--kb", "b.kb", check=True)
    assert status(cli)["checklist"] == "butterflies" and "Pieris rapae" in species(cli, "--missing")
    Path("more.csv").write_text("scientific_name,common_name,class\nMorpho menelaus,Blue Morpho,Insecta\n")
    cli.call("build", "--source", "folder:notes", "--names", "more.csv", "--kb", "b.kb", check=True)
    assert status(cli)["checklist"] == "more"
    assert species(cli) == {"Morpho menelaus": True, "Aglais io": True, "Vanessa atalanta": True}


def test_families_count_the_listed_species_that_have_no_folder(cli: CommandLine, notes: str) -> None:
    command = ("build", "--source", notes, "--taxon", "Lepidoptera", "--checklist", "butterflies.csv", "--kb", "b.kb")
    assert "2 of 3 species, in 1 of 2 families; least Pieridae: 0 of 1" in cli.call(*command, check=True).stdout
    cli.call(*command, check=True)
    rows = json.loads(cli.call("status", "--kb", "b.kb", "--by-family", "--format", "json", check=True).stdout)
    assert {row["family"]: (row["species"], row["articles"]) for row in rows} == {
        "Nymphalidae": (2, 2), "Pieridae": (1, 0),
    }  # fmt: skip


def test_a_family_shows_its_species(base: tuple[CommandLine, str]) -> None:
    cli, _ = base
    shown = cli.call("show", "Nymphalidae", "--kb", "b.kb", check=True).stdout
    assert "Peacock" in shown and "Red Admiral" in shown
    rows = json.loads(cli.call("show", "Nymphalidae", "--kb", "b.kb", "--format", "json", check=True).stdout)
    assert [row["scientific_name"] for row in rows] == ["Aglais io", "Vanessa atalanta"]


def test_a_taxon_that_no_checklist_has_is_not_likened_to_birds(cli: CommandLine, notes: str) -> None:
    refused = cli.call("build", "--source", notes, "--taxon", "Lepidoptera", "--kb", "c.kb")
    assert refused.exit_code == 5 and "Did you mean" not in refused.stderr
    assert "kb checklist add FILE" in refused.stderr and "--checklist wiki" not in refused.stderr
    refused = cli.call("build", "--source", notes, "--checklist", "wiki", "--kb", "c.kb")
    assert refused.exit_code == 2 and "hint: Name the species by --names CSV" in refused.stderr
