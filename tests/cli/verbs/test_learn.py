"""`kb learn`: confirmed birds become reference photos, new species enter, and the shipped knowledge is copied."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.images.decode import read_image
from data.records import Answer, Box, Identification
from recognize.corrections import NO_BIRD, Corrections

RAVEN = Answer(
    rank="species", name="Corvus corax", common_name="Common Raven", family="Corvidae", order="Passeriformes"
)
OWL = Answer(rank="species", name="Bubo scandiacus", common_name="Snowy Owl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two like ravens in one photo, another in a second, an owl, no bird, and a photo that is gone."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in (
        ("ravens", "black"),
        ("raven", "dimgray"),
        ("owl", "white"),
        ("empty", "green"),
        ("gone", "red"),
    ):
        image = Image.new("RGB", (400, 300), "skyblue")
        image.paste(colour, (40, 80, 180, 220))
        image.paste(colour, (220, 100, 360, 240))
        image.save(folder / f"{name}.png")
    said: list[tuple[str, Box | None, Answer]] = [
        ("ravens", Box(40, 80, 180, 220), RAVEN), ("ravens", Box(220, 100, 360, 240), RAVEN), ("raven", None, RAVEN),
        ("owl", None, OWL), ("empty", None, Answer(rank="none", name=NO_BIRD)), ("gone", None, OWL),
    ]  # fmt: skip
    file = Corrections(folder / "corrections.jsonl")
    file.add([(Identification(image=str(folder / f"{name}.png"), box=box), label) for name, box, label in said])
    (folder / "gone.png").unlink()
    return folder


def test_confirmed_birds_become_reference_photos_and_new_species_enter(
    cli: Any, built_kb: Path, folder: Path, tmp_path: Path
) -> None:
    kb = tmp_path / "own.kb"
    shutil.copytree(built_kb, kb)
    learnt = json.loads(cli.call("learn", folder, "--kb", kb, "--format", "json", check=True).stdout)
    assert (learnt["photos"], learnt["species"], learnt["new_species"]) == (3, 2, ["Corvus corax"])
    assert learnt["skipped"] == {"no bird": 1, "the photo is not there any more": 1}
    assert learnt["asked"] == 4 and learnt["right_before"] <= learnt["right"] and not learnt["is_calibrated"]
    shown = json.loads(cli.call("show", "Corvus corax", "--kb", kb, "--format", "json", check=True).stdout)
    assert [anchor["credit"] for anchor in shown["anchors"]] == ["your own"] * 2
    assert shown["taxon"]["lineage"]["family"] == "Corvidae"
    again = cli.call("learn", folder / "corrections.jsonl", "--kb", kb, check=True).stdout
    assert "0 new reference photos of 2 species" in again
    file = Corrections(folder / "corrections.jsonl")
    raven = Identification(image=str(folder / "raven.png"))
    file.add([(raven, OWL)])
    learnt = json.loads(cli.call("learn", folder, "--kb", kb, "--format", "json", check=True).stdout)
    assert (learnt["photos"], learnt["withdrawn"]) == (1, 1), "the photo has left the raven for the owl"
    file.undo()
    (folder / "raven.png").rename(folder / "moved.png")
    learnt = json.loads(cli.call("learn", folder, "--kb", kb, "--format", "json", check=True).stdout)
    assert (learnt["photos"], learnt["withdrawn"], learnt["skipped"]["no bird"]) == (1, 1, 1)
    (folder / "moved.png").rename(folder / "raven.png")
    row = json.loads(cli.call("identify", folder / "raven.png", "--kb", kb, "--format", "jsonl", check=True).stdout)
    assert row["candidates"][0]["scientific_name"] == "Corvus corax"


def test_without_corrections_of_species_nothing_is_learnt(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    assert cli.run("learn", tmp_path, "--kb", built_kb).exit_code == 5
    Image.new("RGB", (80, 80)).save(tmp_path / "empty.png")
    row = Identification(image=str(tmp_path / "empty.png"))
    Corrections(tmp_path / "corrections.jsonl").add([(row, Answer(rank="none", name=NO_BIRD))])
    outcome = cli.run("learn", tmp_path, "--kb", built_kb)
    assert outcome.exit_code == 2 and "no bird with the name of a species" in outcome.stderr


def test_all_that_is_taken_back_is_forgotten(cli: Any, built_kb: Path, folder: Path, tmp_path: Path) -> None:
    kb = tmp_path / "own.kb"
    shutil.copytree(built_kb, kb)
    cli.call("learn", folder, "--kb", kb, check=True)
    Corrections(folder / "corrections.jsonl").undo()
    assert "taken back 3 reference photos" in " ".join(cli.call("learn", folder, "--kb", kb, check=True).stdout.split())
    shown = json.loads(cli.call("show", "Snowy Owl", "--kb", kb, "--format", "json", check=True).stdout)
    assert "your own" not in [anchor["credit"] for anchor in shown["anchors"]]
    cli.call("identify", folder / "raven.png", "--kb", kb, check=True)
    assert cli.run("learn", folder, "--kb", kb).exit_code == 2


def test_only_the_bird_of_a_photo_teaches_and_birds_too_small_do_not(
    cli: Any, built_kb: Path, folder: Path, tmp_path: Path
) -> None:
    kb = tmp_path / "own.kb"
    shutil.copytree(built_kb, kb)
    file = Corrections(folder / "corrections.jsonl")
    file.path.unlink()
    file.refresh()
    boxes = {name: Box(40, 80, 180, 220) for name in ("ravens", "raven")} | {"owl": Box(40, 80, 60, 100)}
    for name, box in boxes.items():
        n_birds = 1 if name == "raven" else 2
        file.add([(Identification(image=str(folder / f"{name}.png"), box=box, n_birds=n_birds), RAVEN)])
    learnt = json.loads(cli.call("learn", folder, "--kb", kb, "--format", "json", check=True).stdout)
    assert (learnt["photos"], learnt["skipped"]) == (2, {"smaller than 64 px": 1})
    shown = json.loads(cli.call("show", "Corvus corax", "--kb", kb, "--format", "json", check=True).stdout)
    sizes = [read_image(kb / "anchors" / each["sha256"][:2] / each["sha256"]).size for each in shown["anchors"]]
    assert sorted(sizes) == [(182, 182), (400, 300)], "cut out where the photo shows another bird"


def test_a_copy_of_the_shipped_knowledge_learns_and_is_used_from_then_on(
    cli: Any, built_kb: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["FIELDMARK_HOME"])
    monkeypatch.setattr("kb.shipped.unpack_shipped", lambda *_: built_kb)
    file = folder / "corrections.jsonl"
    said = file.read_text()
    file.write_text("")
    assert cli.call("learn", folder).exit_code == 2 and not (home / "own.kb").exists(), "nothing was learnt"
    file.write_text(said)
    outcome = cli.call("learn", folder, check=True)
    assert f"copied to {home / 'own.kb'}, which is used from now on" in outcome.stderr
    assert "Corvus corax" in cli.call("species", check=True).stdout
    assert "Corvus corax" not in cli.call("species", "--kb", built_kb, check=True).stdout
    assert "0 new reference photos" in cli.call("learn", folder, check=True).stdout
