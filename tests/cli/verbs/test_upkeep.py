"""`kb update`, `add`, `remove`, `export`, `import`: what they say and how they end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

TEXT = "The upperwings are velvety black with a broad red band and white spots. The underside is mottled brown.\n"
ADMIRAL = (
    "--name", "Vanessa atalanta", "--common-name", "Red Admiral", "--class", "Insecta", "--family", "Nymphalidae",
)  # fmt: skip


def write_bird(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "article.txt").write_text(text)


@pytest.fixture(scope="module")
def built_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `birds` of two birds, and `my.kb` built from it; tests copy it."""
    import kb
    import recognize
    from kb.checklist.avilist import load_checklist
    from kb.sources.folder import FolderSource

    root = tmp_path_factory.mktemp("folder")
    write_bird(root / "birds", "Snowy Owl", "It has white plumage with dark bars and yellow eyes.")
    write_bird(root / "birds", "Blue Jay", "It has a blue crest and white underparts.")
    taxa = [taxon for name in ("Snowy Owl", "Blue Jay") if (taxon := load_checklist().find(name)) is not None]
    kb.build(root / "my.kb", taxa, FolderSource(root / "birds"), recognize.load_encoders("starter"))
    return root


@pytest.fixture
def folder_kb(cli: Any, built_folder: Path, tmp_path: Path) -> str:
    """A copy of that knowledge base in the working folder."""
    shutil.copytree(built_folder / "my.kb", tmp_path / "my.kb")
    return "my.kb"


def test_an_update_knows_the_folder_and_names_what_changed(cli: Any, folder_kb: str, built_folder: Path) -> None:
    assert "changes            none" in cli.call("update", "--kb", folder_kb, check=True).stdout
    write_bird(built_folder / "birds", "Blue Jay", "It has a black necklace and a blue crest.")
    found = json.loads(cli.call("update", "--kb", folder_kb, "--format", "json", check=True).stdout)
    assert found["checked"] == 2
    assert [(change["name"], change["kind"]) for change in found["changes"]] == [
        ("Cyanocitta cristata", "new revision")
    ]
    assert found["distilled"] == 1
    assert "black necklace" in cli.call("show", "--kb", folder_kb, "Blue Jay", check=True).stdout


def test_a_knowledge_base_of_no_such_source_ends_with_2(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("update", "--kb", folder_kb, "--source", "wikipedia")
    assert outcome.exit_code == 2
    assert "no source of kind wikipedia" in outcome.stderr


def test_knowledge_that_ships_is_said_to_have_nothing_to_update_from(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("update", "--kb", built_kb)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "knowledge that ships with Fieldmark" in outcome.stderr
    assert "kb build --taxon Aves" in outcome.stderr
    assert "starter/" not in outcome.stderr, "a digest tells nobody anything"


def test_a_knowledge_base_of_nothing_has_nothing_to_update(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "birds" / "Garden gnome").mkdir(parents=True)
    built = cli.call("build", "--source", f"folder:{tmp_path / 'birds'}", "--kb", "a.kb")
    assert built.exit_code == 5
    outcome = cli.call("update", "--kb", "a.kb")
    assert outcome.exit_code == 2
    assert "a.kb has no species yet" in outcome.stderr


def test_a_species_of_ones_own_is_shown_searched_and_removed(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    (tmp_path / "admiral.txt").write_text(TEXT)
    outcome = cli.call("add", "--kb", folder_kb, *ADMIRAL, "--text", "admiral.txt", "--licence", "CC0", check=True)
    assert outcome.stdout.startswith("new    Vanessa atalanta\nadded  1 text\n")
    again = cli.call("add", "--kb", folder_kb, *ADMIRAL, "--text", "admiral.txt", "--licence", "CC0", check=True)
    assert "nothing new" in again.stdout
    shown = cli.call("show", "--kb", folder_kb, "Red", "Admiral", check=True).stdout
    assert "Insecta > Nymphalidae > Vanessa" in shown
    assert "admiral.txt, CC0" in shown
    removed = cli.call("remove", "--kb", folder_kb, "red admiral", check=True).stdout
    assert removed.startswith("removed        Vanessa atalanta\n")
    assert cli.call("show", "--kb", folder_kb, "Red Admiral").exit_code == 5
    assert "removed by the user 1" in cli.call("status", "--kb", folder_kb, check=True).stdout
    assert "removed before" in cli.call("remove", "--kb", folder_kb, "Vanessa atalanta", check=True).stdout


def test_a_photo_goes_to_the_species_of_the_checklist_by_any_name(cli: Any, folder_kb: str, drawings: Path) -> None:
    photo = drawings / "bubo-scandiacus.png"
    outcome = cli.call("add", "--kb", folder_kb, "--name", "snowy owl", "--photo", photo, "--author", "Ann", check=True)
    assert "added to          Bubo scandiacus" in outcome.stdout
    row = json.loads(cli.call("identify", photo, "--kb", folder_kb, "--format", "jsonl", check=True).stdout)
    assert row["candidates"][0]["scientific_name"] == "Bubo scandiacus"
    assert row["candidates"][0]["anchors"][0]["credit"] == "Ann, unknown licence"


def test_a_term_is_added(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("An osmeterium is a forked orange organ behind the head of a caterpillar.")
    cli.call("add", "--kb", folder_kb, "--term", "osmeterium", "--text", "t.txt", check=True)
    assert "forked orange organ" in cli.call("context", "an osmeterium", "--kb", folder_kb, check=True).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ((), 2, "either --name for a species or --term"),
        (("--name", "Blue Jay", "--term", "jay"), 2, "either --name for a species or --term"),
        (("--term", "jay", "--family", "Corvidae"), 2, "takes no photos, common names or lineage"),
        (("--name", "Strigiformes"), 5, "expected a species"),
        (("--name", "red admiral"), 5, "expected the scientific name"),
        (("--name", "Blue Jay", "--text", "song.txt"), 5, "no sentence of it tells what Blue Jay looks like"),
        (("--name", "Blue Jay", "--photo", "song.txt"), 5, "song.txt"),
        (("--name", "Blue Jay", "--text", "latin1.txt"), 5, "not UTF-8"),
    ],
)
def test_what_cannot_be_added_says_why(
    cli: Any, folder_kb: str, tmp_path: Path, arguments: tuple[str, ...], code: int, why: str
) -> None:
    (tmp_path / "song.txt").write_text("It sings at dawn.")
    (tmp_path / "latin1.txt").write_bytes("Flügel".encode("latin-1"))
    outcome = cli.call("add", "--kb", folder_kb, *arguments)
    assert outcome.exit_code == code
    assert why in outcome.stderr


def test_a_name_that_is_not_there_is_not_removed(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("remove", "--kb", folder_kb, "Snowy Oul")
    assert outcome.exit_code == 5
    assert "did you mean Snowy Owl" in outcome.stderr


def test_a_bundle_goes_out_and_comes_back_with_the_same_digest(cli: Any, folder_kb: str) -> None:
    exported = json.loads(cli.call("export", "--kb", folder_kb, "out", "--format", "json", check=True).stdout)
    assert (exported["species"], exported["images"]) == (2, 0)
    assert "digest   " in cli.call("export", "--kb", folder_kb, "again", check=True).stdout
    imported = cli.call("import", "out", "--kb", "copy.kb", check=True).stdout
    assert exported["digest"] in imported
    assert exported["digest"] in cli.call("verify", "--kb", "copy.kb", check=True).stdout
    assert cli.call("export", "--kb", folder_kb, "out").exit_code == 2


def test_a_forged_bundle_ends_with_5_and_leaves_nothing(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    cli.call("export", "--kb", folder_kb, "out", check=True)
    (tmp_path / "out" / "species.parquet").write_bytes(b"x")
    before = sorted(path.name for path in tmp_path.iterdir())
    outcome = cli.call("import", "out", "--kb", "copy.kb")
    assert outcome.exit_code == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_bundle_of_other_models_ends_with_3_unless_it_is_encoded_again(cli: Any, built_folder: Path) -> None:
    import kb
    import recognize

    plain = recognize.load_encoders("plain")
    kb.import_bundle(bundle_of(built_folder), "plain.kb", plain, re_encode=True)
    kb.export_bundle("plain.kb", "out")
    order = ("import", "out", "--kb", "copy.kb", "--profile", "starter")
    outcome = cli.call(*order)
    assert outcome.exit_code == 3
    assert "hint: --re-encode takes its texts and photos" in outcome.stderr
    assert not Path("copy.kb").exists()
    assert "encoded now" in cli.call(*order, "--re-encode", check=True).stdout


def bundle_of(folder: Path) -> Path:
    """Return a bundle of the knowledge base in a folder, made there once."""
    import kb

    if not (folder / "bundle").exists():
        kb.export_bundle(folder / "my.kb", folder / "bundle")
    return folder / "bundle"


def test_an_own_text_can_be_kept_word_for_word_with_its_address(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("It is common in gardens. Its wings are black with a red band.\n")
    given = ("add", "--kb", folder_kb, *ADMIRAL, "--text", "notes.txt", "--url", "https://example.org/admiral")
    ranks = ("--order", "Lepidoptera", "--genus", "Pyrameis")
    cli.call(*given, *ranks, "--as-is", check=True)
    shown = cli.call("show", "--kb", folder_kb, "Red Admiral", "--format", "json", check=True).stdout
    found = json.loads(shown)
    assert "It is common in gardens." in found["summary"]["text"]
    assert found["source"]["url"] == "https://example.org/admiral"
    assert (found["taxon"]["lineage"]["order"], found["taxon"]["lineage"]["genus"]) == ("Lepidoptera", "Pyrameis")


def test_a_bundle_has_vectors_or_not(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    cli.call("export", "--kb", folder_kb, "with", "--vectors", check=True)
    cli.call("export", "--kb", folder_kb, "without", "--no-vectors", check=True)
    assert (tmp_path / "with" / "vectors").is_dir()
    assert not (tmp_path / "without" / "vectors").exists()
