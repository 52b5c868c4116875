"""`kb eval species` on folders and tables of photos, against a knowledge base of drawings."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import kb
from data.records import Answer, Box, Identification
from recognize.corrections import Corrections
from recognize.evaluation.report import COLUMNS
from tests.cli.conftest import documented_keys
from tests.drawn_birds import drawn_bird

CARDINAL, JAY, OWL = "cardinalis-cardinalis", "cyanocitta-cristata", "bubo-scandiacus"
ALL = ("--set", "keep_leaks=true", "-q")
"""The drawings are near-duplicates of the reference photos."""


def draw(taxon_id: str, path: Path, seed: int = 1) -> Path:
    """Draw a bird that is not an anchor, though similar to its anchors."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(drawn_bird(taxon_id, seed))
    return path


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    root = tmp_path / "birds"
    draw(CARDINAL, root / "Cardinalis cardinalis" / "1.png")
    draw(CARDINAL, root / "Cardinalis cardinalis" / "2.png", 2)
    draw(JAY, root / "Cyanocitta_cristata" / "1.png")
    draw(JAY, root / "Snowy Owl" / "1.png")  # labelled wrongly, so that not all is right
    draw(OWL, root / "Blue-footed Nothing" / "1.png")
    draw(OWL, root / "Struthio camelus" / "1.png")
    return root


def measured(cli: Any, *arguments: str | Path, exit_code: int = 0) -> dict[str, Any]:
    outcome = cli.call("eval", "species", *arguments, "--format", "json")
    assert outcome.exit_code == exit_code, outcome.stderr
    found: dict[str, Any] = json.loads(outcome.stdout)
    assert set(found) == documented_keys("kb eval species --format json")
    return found


def test_the_answers_are_those_of_identify_counted_and_listed_by_species(
    cli: Any, built_kb: Path, folders: Path
) -> None:
    command = ("eval", "species", folders, "--kb", built_kb, *ALL, "--min-confidence", "0")
    identified = cli.call(
        "identify", folders, "--kb", built_kb, "--min-confidence", "0", "--format", "jsonl", check=True
    )
    rows = [json.loads(line) for line in identified.stdout.splitlines()]
    found = measured(cli, *command[2:])
    assert (found["n"], found["n_species"], found["n_absent"], found["n_unmatched"]) == (5, 4, 1, 1)
    assert [(name["name"], name["reason"]) for name in found["unmatched"]] == [("Blue-footed Nothing", "unknown")]
    rates = {each["name"]: (each["n"], each["of"]) for each in found["rates"]}
    assert (rates["named"], rates["first_right"]) == ((4, 4), (3, 4))
    (owl, *_), answers = found["species"], {row["image"]: row["answer"]["name"] for row in rows}
    assert (owl["common_name"], owl["answers"][0]["text"]) == ("Snowy Owl", "Blue Jay")
    given = {photo: answer["name"] for of in found["species"] for answer in of["answers"] for photo in answer["photos"]}
    prior = {row["unknown_prior"] for row in rows}
    assert len(prior) == 1 and given.items() <= answers.items()
    done = cli.call(*command, check=True)
    text = " ".join(done.stdout.split())
    assert f"5 photos of 4 species; knowledge base {built_kb}" in text
    assert (
        "Of 4 photos of its species, 4 are named to species; 3 of these names are right (75 %, 95 % interval 30 to"
        in text
    )
    assert "named to species 4 4 100 51 to 100 of these right 3 4 75 30 to 95" in text
    assert "Snowy Owl 1 0 Blue Jay 1" in text and "Northern Cardinal" not in text
    assert "1 label (1 photo) matched no species: Blue-footed Nothing (unknown" in done.stderr
    lines = list(csv.DictReader(io.StringIO(cli.call(*command, "--format", "csv", check=True).stdout)))
    assert tuple(lines[0]) == tuple(COLUMNS) and lines[0]["answer"] == "Blue Jay"
    assert measured(cli, *command[2:-1], "1")["rates"][0]["n"] == 0, "no name is 100 % sure"
    assert measured(cli, *command[2:], "--limit", "2")["n"] == 2
    assert measured(cli, *command[2:], "--preset", "vr-rag-v1")["preset"] == "vr-rag-v1"


def test_a_table_has_names_and_a_split_and_is_refused_with_its_line(cli: Any, built_kb: Path) -> None:
    lines = ["path,label,split"]
    for file, name, taxon_id, split in (
        ("#1.png", "017.Cardinal", CARDINAL, "test"), ("2  b.png", "073.Blue_Jay", JAY, "Test"),
        ("3.png", "073.Blue_Jay", JAY, "train"), ("4.png", "103.Sayornis", OWL, "val"),
    ):  # fmt: skip
        draw(taxon_id, Path(file), len(lines))
        lines.append(f"{file},{name},{split}")
    table = Path("photos.csv")
    table.write_text("\n".join(lines) + "\n")
    found = measured(cli, table, "--kb", built_kb, *ALL)
    assert (found["n"], found["n_species"]) == (2, 2)
    assert [name["name"] for name in found["unmatched"]] == ["103.Sayornis"]
    for content, message in (
        ("path,species\na.jpg,", "line 2: expected a path and a name, got a.jpg"),
        (
            "path,species,split\na.jpg,Blue Jay,dev",
            "line 2: expected as split train, test, val, valid or nothing, got dev",
        ),
        ("photo,place\na.jpg,here", "line 1: expected the columns path and scientific_name, found photo, place"),
        ("", "line 1: expected the columns path and scientific_name, found empty"),
        ("path,species", "photos.csv lists no photos."),
    ):
        table.write_text(content)
        refused = cli.call("eval", "species", table, "--kb", built_kb)
        assert refused.exit_code == 5 and message in refused.stderr, refused.stderr


def test_birds_named_on_the_page_are_labels(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    photos = {name: draw(of, tmp_path / f"{name}.png") for name, of in (("jay", JAY), ("owl", OWL), ("two", CARDINAL))}
    jay = Answer(rank="species", name="Cyanocitta cristata")
    boxes = (None, None, Box(0, 0, 50, 50), Box(60, 60, 99, 99))
    file = Corrections(tmp_path / "corrections.jsonl")
    file.add([(Identification(image=str(photos[name]), box=box), label) for name, box, label in zip(
        ("jay", "owl", "two", "two"), boxes, (jay, Answer(rank="none", name="unknown"), jay, jay), strict=True
    )])  # fmt: skip
    for given in (tmp_path, file.path):
        found = measured(cli, given, "--kb", built_kb, *ALL)
        assert (found["n"], found["n_species"]) == (1, 1)


def test_copies_and_near_duplicates_of_reference_photos_are_left_out_and_an_unreadable_photo_exits_with_7(
    cli: Any, built_kb: Path, tmp_path: Path
) -> None:
    with kb.open(built_kb) as store:
        (entry,) = store.species([CARDINAL])
        anchor = store.anchor_path(str(entry.anchors[0].sha256))
    folder = tmp_path / "birds" / "Cardinalis cardinalis"
    folder.mkdir(parents=True)
    shutil.copy(anchor, folder / "same.png")
    with Image.open(anchor) as picture:
        picture.convert("RGB").reduce(2).save(folder / "smaller.jpg", quality=90)
    none_left = cli.call("eval", "species", "birds", "--kb", built_kb)
    assert (none_left.exit_code, none_left.stdout) == (5, "")
    assert "hint: Use --set keep_leaks=true to measure copies too." in none_left.stderr
    Image.effect_noise((200, 200), 90).convert("RGB").save(folder / "noise.png")  # like no reference photo
    (folder / "broken.png").write_bytes(b"no picture")
    found = measured(cli, "birds", "--kb", built_kb, exit_code=7)
    assert (found["n"], found["n_copies"], [Path(path).name for path in found["unreadable"]]) == (1, 2, ["broken.png"])
    assert measured(cli, "birds", "--kb", built_kb, *ALL, exit_code=7)["n"] == 3


def test_unmatched_labels_and_absent_species_are_listed_with_a_hint(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    draw(OWL, tmp_path / "odd" / "class 1" / "1.png")
    draw(OWL, tmp_path / "far" / "Struthio camelus" / "1.png")
    for folder, why, hint in (
        ("odd", "1 label (1 photo) matched no species: class 1 (unknown)", "Labels are scientific or English names"),
        ("far", "1 species (1 photo) not in the knowledge base: Struthio camelus", "Choose a knowledge base of these"),
    ):
        none = cli.call("eval", "species", folder, "--kb", built_kb)
        said = f"error: No photo of {folder} shows a species of the knowledge base: {why}.\nhint: {hint}"
        assert (none.exit_code, none.stderr.startswith(said)) == (5, True), none.stderr
