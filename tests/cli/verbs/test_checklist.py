"""`kb checklist`, and `--checklist` of `kb taxa` and `kb build`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.verbs.conftest import write_bird
from tests.kb.checklist.stored.checklist_files import darwin_core, plain


@pytest.fixture
def home(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.usefixtures("home")
def test_a_checklist_is_added_listed_shown_and_used_by_its_name(cli: Any, tmp_path: Path) -> None:
    added = cli.call("checklist", "add", darwin_core(tmp_path), "--name", "mine", check=True)
    assert "Insects and plants" in added.stdout
    assert "names 16" in added.stderr
    listed = " ".join(cli.call("checklist", "list", check=True).stdout.split())
    assert "avilist 2025 11,131 shipped mine 2025-03-01 5 1 Darwin Core" in listed
    shown = " ".join(cli.call("checklist", "show", "mine", check=True).stdout.split())
    assert "common names en 3, de 1" in shown
    assert "species below Animalia 3, Plantae 2" in shown
    assert "birds" in cli.call("checklist", "show", "avilist", check=True).stdout
    text = cli.call("taxa", "Admiral", "--checklist", "mine", check=True).stdout
    assert "Animalia > Insecta > Nymphalidae > Vanessa" in text


@pytest.mark.usefixtures("home")
def test_an_added_checklist_is_removed_and_others_are_not(cli: Any, tmp_path: Path) -> None:
    cli.call("checklist", "add", plain(tmp_path), "--name", "mine", check=True)
    assert "Removed the checklist mine" in cli.call("checklist", "remove", "mine", check=True).stderr
    assert "mine" not in cli.call("checklist", "list", check=True).stdout
    for name in ("mine", "avilist", "wiki"):
        done = cli.call("checklist", "remove", name)
        assert done.exit_code == 3 and f'No added checklist is named "{name}"' in done.stderr
    assert "taxoboxes of a wiki" in cli.call("checklist", "show", "wiki", check=True).stdout
    shown = cli.call("checklist", "show", "insects.csv", check=True).stdout  # a file, which is not added
    assert "format" in shown and "CSV" in shown and "CSV" not in cli.call("checklist", "list", check=True).stdout
    refused = cli.call("checklist", "add", plain(tmp_path), "--name", "wiki")
    assert refused.exit_code == 2 and 'cannot be named "wiki"' in refused.stderr


def test_a_build_records_its_checklist_and_later_builds_use_it(
    cli: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain(tmp_path)
    for name in ("Red Admiral", "Vanessa cardui", "Pica pica"):
        write_bird(tmp_path / "mine", name, "It has brown wings with orange bands and white spots.")
    build = ("build", "--source", "folder:mine", "--kb", "mine.kb")
    refused = cli.call(*build, "--taxon", "Vanessa")
    assert (refused.exit_code, "--checklist" in refused.stderr) == (5, True)
    assert "not in the checklist 1" in cli.call(*build, "--checklist", "insects.csv", check=True).stdout
    assert " 2\n" in cli.call("taxa", "Vanessa", "--kb", "mine.kb", check=True).stdout + "\n"
    assert "checklist         insects" in cli.call("status", "--kb", "mine.kb").stdout
    digest = json.loads(cli.call("verify", "--kb", "mine.kb", "--format", "json", check=True).stdout)["digest"]

    cli.call("export", "bundle", "--kb", "mine.kb", check=True)
    monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / "another machine"))
    cli.call("import", "bundle", "--kb", "copy.kb", check=True)
    assert json.loads(cli.call("verify", "--kb", "copy.kb", "--format", "json").stdout)["digest"] == digest
    assert "Animalia > Insecta > Nymphalidae > Vanessa" in cli.call("show", "Red Admiral", "--kb", "copy.kb").stdout
    (tmp_path / "insects.csv").rename(tmp_path / "elsewhere.csv")
    cli.call("build", "--source", "folder:mine", "--kb", "copy.kb", check=True)  # with the checklist of the bundle

    kept = tmp_path / "copy.kb" / "checklist.sqlite"
    content = kept.read_bytes()
    kept.write_bytes(content.replace(b"Red Admiral", b"Red Admirax"))
    damaged = cli.call("verify", "--kb", "copy.kb")
    assert (damaged.exit_code, "the checklist insects is damaged; kb build --checklist" in damaged.stdout) == (1, True)
    kept.unlink()
    updated = cli.call("update", "--kb", "copy.kb", check=True)
    assert "The checklist insects of this knowledge base is not on this machine. Names and lineages" in updated.stderr
    missing = cli.call("build", "--source", "folder:mine", "--kb", "copy.kb")
    assert missing.exit_code == 3
    assert "The checklist insects of this knowledge base is not on this machine" in missing.stderr
    cli.call("build", "--source", "folder:mine", "--kb", "copy.kb", "--checklist", "elsewhere.csv", check=True)
    assert cli.call("verify", "--kb", "copy.kb").exit_code == 0


@pytest.mark.usefixtures("home")
def test_look_ups_know_the_checklist_of_the_knowledge_base_in_every_language(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "scientific_name,order,family,common_name,common_name_de,common_name_ja,synonyms\n"
        "Aglais io,Lepidoptera,Nymphalidae,Peacock,Tagpfauenauge,クジャクチョウ,Inachis io\n"
        "Vanessa cardui,Lepidoptera,Nymphalidae,Painted Lady,Distelfalter,,Cynthia cardui\n"
        "Pieris rapae,Lepidoptera,Pieridae,Small White,Kleiner Kohlweißling,,\n"
    )
    write_bird(tmp_path / "mine", "Aglais io", "It has reddish brown wings with large blue eyespots.")
    cli.call("build", "--checklist", "t.csv", "--source", "folder:mine", "--kb", "b.kb", check=True)

    def call(*arguments: str) -> Any:
        return cli.call(*arguments, "--kb", "b.kb")

    listed = call("species", "--missing")
    assert "1 species in the knowledge base, 2 known by name only" in listed.stderr
    assert "Kleiner Kohlweißling" in call("species", "--missing", "--language", "de").stdout
    absent = call("show", "Cynthia cardui")
    assert "Painted Lady (Vanessa cardui) is not in the knowledge base b.kb: known by name only (t)" in absent.stderr
    assert "Of Nymphalidae it holds Peacock." in absent.stderr
    assert "Distelfalter (Vanessa cardui)" in call("show", "Painted Lady", "--language", "de").stderr
    for name in ("クジャクチョウ", "tagpfauenauge", "Inachis io", "Aglais io (Linnaeus, 1758)"):
        shown = call("show", name).stdout
        assert "Peacock (Aglais io)" in shown and "de Tagpfauenauge; ja クジャクチョウ" in shown
        assert json.loads(call("search", name, "--format", "json").stdout)[0]["common_name"] == "Peacock"
    found = json.loads(call("search", "Peacock", "--format", "json", "--language", "ja").stdout)
    assert found[0]["common_name"] == "クジャクチョウ"
    assert "Vanessa cardui" in call("show", "Vanesa cardui").stderr
    refused = cli.call("species", "--kb", "b.kb", "--language", "deutsch!")
    assert refused.exit_code == 2 and "expected the code of a language" in refused.stderr


TABLE = """\
scientific_name,common_name,common_name_de,order,family,habitat
Aglais io,Peacock,Tagpfauenauge,Lepidoptera,Nymphalidae,gardens
Vanessa atalanta,Red Admiral,Admiral,Lepidoptera,Nymphalidae,
Pieris rapae,Small White,Kleiner Kohlweißling,Lepidoptera,Pieridae,
"""


@pytest.fixture
def notes(tmp_path: Path) -> str:
    for name in ("Tagpfauenauge", "Red Admiral", "Blue Morpho"):
        write_bird(tmp_path / "notes", name, "The wings are rusty red with an eyespot on each wing tip.")
    (tmp_path / "butterflies.csv").write_text(TABLE, encoding="utf-8")
    return "folder:notes"


def state(cli: Any) -> tuple[str, dict[str, bool]]:
    """Return the checklist, and scientific name -> whether the knowledge base has it."""
    status, species = (
        json.loads(cli.call(*verb, "--kb", "b.kb", "--format", "json", check=True).stdout)
        for verb in (["status"], ["species", "--missing"])
    )
    return status["checklist"], {row["scientific_name"]: row["is_included"] for row in species}


def test_a_table_of_names_is_the_checklist_until_a_later_one(cli: Any, notes: str) -> None:
    built = cli.call("build", "--source", notes, "--names", "butterflies.csv", "--kb", "b.kb", check=True)
    assert "butterflies.csv: 1 column not used: habitat\n" in built.stderr
    assert state(cli) == ("butterflies", {"Aglais io": True, "Vanessa atalanta": True, "Pieris rapae": False})
    shown = cli.call("show", "Pieris rapae", "--kb", "b.kb")
    assert shown.exit_code == 5 and "known by name only (butterflies); left out: no page." in shown.stderr
    assert "kb add takes your own text" in shown.stderr
    Path("more.csv").write_text("scientific_name,common_name,class\nMorpho menelaus,Blue Morpho,Insecta\n")
    cli.call("build", "--source", "folder:notes", "--names", "more.csv", "--kb", "b.kb", check=True)
    assert state(cli) == ("more", {"Morpho menelaus": True, "Aglais io": True, "Vanessa atalanta": True})


def test_a_misspelt_addition_is_named_and_families_count_species_without_a_folder(cli: Any, notes: str) -> None:
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
    assert "Did you mean Vanessa atalanta? If so: kb remove 'Vanesa atalanta' --kb b.kb" in misspelt
    assert "not in the checklist butterflies" in cli.call(*add, "Rana fusca", check=True).stderr
    assert cli.call(*add, "Pieris rapae", check=True).stderr == ""
    refused = cli.call("build", "--source", notes, "--taxon", "Lepidoptera", "--kb", "c.kb")
    assert refused.exit_code == 5 and "Did you mean" not in refused.stderr
    assert "kb checklist add FILE" in refused.stderr and "--checklist wiki" not in refused.stderr
