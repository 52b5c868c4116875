"""A table of names as the checklist of a knowledge base of another group than birds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import CommandLine

TABLE = """\
scientific_name,common_name,common_name_de,order,family,habitat
Aglais io,Peacock,Tagpfauenauge,Lepidoptera,Nymphalidae,gardens
Vanessa atalanta,Red Admiral,Admiral,Lepidoptera,Nymphalidae,
Pieris rapae,Small White,Kleiner Kohlweißling,Lepidoptera,Pieridae,
"""
TEXT = "The wings are rusty red with an eyespot on each wing tip. The underside is black."


@pytest.fixture
def notes(tmp_path: Path) -> str:
    for name in ("Tagpfauenauge", "Red Admiral", "Blue Morpho"):
        (tmp_path / "notes" / name).mkdir(parents=True)
        (tmp_path / "notes" / name / "article.txt").write_text(TEXT)
    (tmp_path / "butterflies.csv").write_text(TABLE, encoding="utf-8")
    return "folder:notes"


def state(cli: CommandLine) -> tuple[str, dict[str, bool]]:
    """Return the checklist, and scientific name -> whether the knowledge base has it."""
    status, species = (
        json.loads(cli.call(*verb, "--kb", "b.kb", "--format", "json", check=True).stdout)
        for verb in (["status"], ["species", "--missing"])
    )
    return status["checklist"], {row["scientific_name"]: row["is_included"] for row in species}


def test_a_table_of_names_is_the_checklist_until_a_later_one(cli: CommandLine, notes: str) -> None:
    built = cli.call("build", "--source", notes, "--names", "butterflies.csv", "--kb", "b.kb", check=True)
    assert "butterflies.csv: columns that are not used: habitat\n" in built.stderr
    assert state(cli) == ("butterflies", {"Aglais io": True, "Vanessa atalanta": True, "Pieris rapae": False})
    shown = cli.call("show", "Pieris rapae", "--kb", "b.kb")
    assert shown.exit_code == 5 and "known by name only (butterflies); left out: no page." in shown.stderr
    assert "kb add takes your own text" in shown.stderr
    assert "matched as" in cli.call("taxa", "Kleiner Kohlweißling", "--kb", "b.kb", check=True).stdout
    Path("more.csv").write_text("scientific_name,common_name,class\nMorpho menelaus,Blue Morpho,Insecta\n")
    cli.call("build", "--source", "folder:notes", "--names", "more.csv", "--kb", "b.kb", check=True)
    assert state(cli) == ("more", {"Morpho menelaus": True, "Aglais io": True, "Vanessa atalanta": True})


def test_a_misspelt_addition_is_named_and_families_count_species_without_a_folder(cli: CommandLine, notes: str) -> None:
    table = ("--checklist", "butterflies.csv", "--kb", "b.kb")
    built = cli.call("build", "--source", notes, "--taxon", "Lepidoptera", *table, check=True).stdout
    assert "2 of 3 species, in 1 of 2 families; least Pieridae: 0 of 1" in built
    rows = json.loads(cli.call("status", "--kb", "b.kb", "--by-family", "--format", "json", check=True).stdout)
    assert {row["family"]: (row["species"], row["articles"]) for row in rows} == {
        "Nymphalidae": (2, 2), "Pieridae": (1, 0),
    }  # fmt: skip
    refused = cli.call("status", "--kb", "b.kb", "--by-family", "--left-out")
    assert refused.exit_code == 2 and "cannot be combined" in refused.stderr
    Path("w.txt").write_text("The forewing has a grey tip.")
    add = ("add", "--kb", "b.kb", "--text", "w.txt", "--name")
    misspelt = cli.call(*add, "Vanesa atalanta", check=True).stderr
    assert "one letter from Vanessa atalanta. If misspelt: kb remove 'Vanesa atalanta' --kb b.kb" in misspelt
    assert "not in the checklist butterflies" in cli.call(*add, "Rana fusca", check=True).stderr
    assert cli.call(*add, "Pieris rapae", check=True).stderr == ""
    refused = cli.call("build", "--source", notes, "--taxon", "Lepidoptera", "--kb", "c.kb")
    assert refused.exit_code == 5 and "Did you mean" not in refused.stderr
    assert "kb checklist add FILE" in refused.stderr and "--checklist wiki" not in refused.stderr
