"""One answer per burst or per value of a column."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pandas
import pytest
from PIL import Image

OWL, JAY = "bubo-scandiacus", "cyanocitta-cristata"


@pytest.fixture
def shoot(drawings: Path, tmp_path: Path) -> Any:
    """A function that saves a drawing as a photo taken at a time, or at none."""
    (tmp_path / "photos").mkdir()

    def save(name: str, taxon_id: str, time: str | None, *, model: str = "Alpha") -> None:
        exif = Image.Exif()
        if time is not None:
            exif[0x0110] = model
            exif.get_ifd(0x8769)[0x9003] = f"2026:05:01 {time}"
        with Image.open(drawings / f"{taxon_id}.png") as drawing:
            drawing.convert("RGB").save(tmp_path / "photos" / name, exif=exif)

    return save


@pytest.fixture
def photos(shoot: Any) -> Path:
    """A burst of an owl, one of a jay by two cameras, and a photo without a time."""
    shoot("1.jpg", OWL, "10:00:00")
    shoot("2.jpg", OWL, "10:00:04")
    shoot("3.jpg", JAY, "10:00:30")
    shoot("4.jpg", JAY, "10:00:31", model="Beta")
    shoot("5.jpg", JAY, "10:00:33")
    shoot("6.jpg", OWL, None)
    return Path("photos")


def parsed(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def names(row: dict[str, Any]) -> list[str]:
    return [Path(photo["image"]).name for photo in row["photos"]]


def test_a_burst_has_one_answer_and_its_seconds_are_a_setting(cli: Any, built_kb: Path, photos: Path) -> None:
    command = ("identify", photos, "--kb", built_kb, "--format", "jsonl", "--group", "burst")
    outcome = cli.call(*command, check=True)
    found = parsed(outcome.stdout)
    assert [names(row) for row in found] == [["1.jpg", "2.jpg"], ["3.jpg", "5.jpg"], ["4.jpg"], ["6.jpg"]]
    assert [row["answer"]["name"] for row in found] == [
        "Bubo scandiacus", "Cyanocitta cristata", "Cyanocitta cristata", "Bubo scandiacus",
    ]  # fmt: skip
    assert "6 photos in 4 encounters; 1 photo without a time of exposure (EXIF), each on its own" in outcome.stderr
    for seconds, n in ((3, 5), (60, 3)):
        assert len(parsed(cli.call(*command, "--set", f"burst_seconds={seconds}", check=True).stdout)) == n
    assert cli.call(*command, "--set", "burst_seconds=-1").exit_code == 2
    alone = cli.call(*command[:4], "--set", "burst_seconds=3")
    assert (alone.exit_code, "The setting burst_seconds needs --group burst." in alone.stderr) == (2, True)


def test_a_column_of_a_list_groups_photos_in_the_order_of_the_list(cli: Any, built_kb: Path, photos: Path) -> None:
    Path("photos/list.csv").write_text(
        '\ufeffnote;path;visit\na;3.jpg;noon\nb;1.jpg;dawn\nc;4.jpg;noon\nd\u2028;2.jpg;\n"e\nf";6.jpg;\n'
    )
    command = ("identify", "photos/list.csv", "--kb", built_kb, "--format", "csv", "--columns", "all")
    outcome = cli.call(*command, "--group-by", "visit", check=True)
    table = list(csv.DictReader(outcome.stdout.splitlines()))
    assert [(row["group"], row["n_photos"], row["photos"]) for row in table] == [
        ("noon", "2", "photos/3.jpg | photos/4.jpg"), ("dawn", "1", "photos/1.jpg"), ("", "1", "photos/2.jpg"),
        ("", "1", "photos/6.jpg"),
    ]  # fmt: skip
    assert "5 photos in 4 encounters; 2 photos without visit, each on its own" in outcome.stderr
    for content, message in (
        ("path,visit\n1.jpg,a\n1.jpg,b\n", "line 3: 1.jpg is in two groups of visit"),
        ("path,visit\n,a\n", "line 2: no path"),
        ("", 'no column "path"'),
    ):
        Path("list.csv").write_text(content)
        outcome = cli.call("identify", "list.csv", "--kb", built_kb, "--group-by", "visit")
        assert (outcome.exit_code, message in outcome.stderr) == (5, True), outcome.stderr
    for more, message in (((), "--group-by needs a CSV of photos."), (("--group", "burst"), "cannot be combined")):
        outcome = cli.call("identify", photos, "--kb", built_kb, "--group-by", "visit", *more)
        assert (outcome.exit_code, message in outcome.stderr) == (2, True)


def test_unreadable_photos_are_named_and_the_others_answer(cli: Any, built_kb: Path, photos: Path) -> None:
    (photos / "1.jpg").write_bytes((photos / "1.jpg").read_bytes()[:-800])  # its head, with the time, stays
    command = ("identify", photos, "--kb", built_kb, "--group", "burst", "--output", "out.parquet", "--columns", "all")
    outcome = cli.call(*command, "--cards", "cards")
    assert outcome.exit_code == 7
    assert f"1 of 4 encounters answered without unreadable photos: {photos / '1.jpg'}" in outcome.stderr
    first = pandas.read_parquet("out.parquet").iloc[0]
    assert (first["status"], first["answer_scientific_name"]) == ("identified", "Bubo scandiacus")
    assert first["unreadable_photos"] == str(photos / "1.jpg")
    [card] = Path("cards").glob("1-*.html")
    assert "1 photo unreadable: 1.jpg." in card.read_text()
    said = "4 of 4 encounters done before; 1 with an unreadable photo (use --set retry_failed=true to retry)"
    assert said in cli.call(*command).stderr
    shutil.copy(photos / "2.jpg", photos / "1.jpg")
    assert cli.call(*command, "--set", "retry_failed=true", check=True).exit_code == 0


def test_a_resumed_run_keeps_encounters_whole(cli: Any, built_kb: Path, photos: Path, shoot: Any) -> None:
    command = ("identify", photos, "--kb", built_kb, "--group", "burst", "--output", "out.jsonl")

    def run() -> tuple[list[list[str]], str]:
        outcome = cli.call(*command, check=True)
        return [names(row) for row in parsed(Path("out.jsonl").read_text())], outcome.stderr

    run()
    assert "4 of 4 encounters done before" in run()[1]
    shoot("0.jpg", OWL, "09:59:57")  # a new first photo of the first burst
    shoot("5b.jpg", JAY, "10:00:35")  # a new last photo of the second
    found, stderr = run()
    assert "2 of 4 encounters done before" in stderr
    assert sorted(found) == [["0.jpg", "1.jpg", "2.jpg"], ["3.jpg", "5.jpg", "5b.jpg"], ["4.jpg"], ["6.jpg"]]
    other = cli.call(*command, "--set", "burst_seconds=9")
    assert (other.exit_code, "burst seconds 5.0 -> 9.0" in other.stderr) == (2, True)
    assert cli.call(*command[:4], "--output", "out.jsonl").exit_code == 2, "without groups"
