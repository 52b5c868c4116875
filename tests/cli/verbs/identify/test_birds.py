"""`kb identify` with the detector: several birds, no bird, and `--fast`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.starter.drawings import drawings_of
from tests.servers.openai_server import OpenAIServer

PLACES = ((300, 200), (700, 450))
SIDE = 130


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A meadow with two small drawn magpies."""
    picture = Image.new("RGB", (1000, 700), (120, 160, 120))
    magpie = Image.open(io.BytesIO(drawings_of("pica-pica", "query")[0].png())).convert("RGB")
    for place in PLACES:
        picture.paste(magpie.resize((SIDE, SIDE)), place)
    file = tmp_path / "pair.png"
    picture.save(file)
    return file


@pytest.fixture
def sky(tmp_path: Path) -> Path:
    """A plain blue picture."""
    file = tmp_path / "sky.png"
    Image.new("RGB", (420, 280), (90, 140, 220)).save(file)
    return file


def rows_of(cli: Any, *arguments: object) -> list[dict[str, Any]]:
    done = cli.call("identify", *arguments, "--format", "jsonl", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_bird_of_a_photo_has_a_row_with_its_box(cli: Any, built_kb: Path, pair: Path) -> None:
    rows = rows_of(cli, pair, "--kb", built_kb)
    assert [(row["image"], row["bird"], row["n_birds"]) for row in rows] == [(str(pair), 1, 2), (str(pair), 2, 2)]
    for row, (left, top) in zip(sorted(rows, key=lambda row: float(row["box"][0])), PLACES, strict=True):
        assert left - 10 <= row["box"][0] < row["box"][2] <= left + SIDE + 10
        assert top - 10 <= row["box"][1] < row["box"][3] <= top + SIDE + 10


def test_fast_compares_the_photo_as_a_whole_but_a_flat_one_shows_no_bird(
    cli: Any, built_kb: Path, pair: Path, sky: Path
) -> None:
    rows = rows_of(cli, pair, sky, "--kb", built_kb, "--fast")
    assert [(row["box"], row["n_birds"], row["status"] == "no_bird") for row in rows] == [
        (None, 1, False),
        (None, 1, True),
    ]


def test_csv_has_the_box_and_the_number_of_each_bird(cli: Any, built_kb: Path, pair: Path) -> None:
    done = cli.call("identify", pair, "--kb", built_kb, "--format", "csv", check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["bird"], len(row["box"].split())) for row in rows] == [("1", 4), ("2", 4)]


def test_the_table_numbers_the_birds(cli: Any, built_kb: Path, pair: Path) -> None:
    printed = cli.call("identify", pair, "--kb", built_kb, check=True).stdout
    assert f"{pair}, bird 1 of 2\n" in printed
    assert f"{pair}, bird 2 of 2\n" in printed


def test_a_picture_of_one_colour_shows_no_bird(cli: Any, built_kb: Path, sky: Path) -> None:
    (row,) = rows_of(cli, sky, "--kb", built_kb)
    assert (row["status"], row["candidates"], row["answer"]["name"], row["shows"]) == ("no_bird", [], "", None)
    assert "No bird found." in cli.call("identify", sky, "--kb", built_kb, check=True).stdout


def test_each_bird_has_a_card(cli: Any, built_kb: Path, pair: Path, sky: Path, tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    cli.call("identify", pair, sky, "--kb", built_kb, "--cards", cards, check=True)
    first, second = sorted(cards.glob("pair-*.html"), key=lambda page: len(page.name))
    assert "bird 1 of 2" in first.read_text()
    assert "bird 2 of 2" in second.read_text()
    assert "No bird found" in next(cards.glob("sky-*.html")).read_text()
    assert "1 without a bird" in (cards / "index.html").read_text()


def test_cards_of_birds_that_a_photo_no_longer_has_are_removed(
    cli: Any, built_kb: Path, pair: Path, sky: Path, tmp_path: Path
) -> None:
    cards = tmp_path / "cards"
    command = ("identify", pair, "--kb", built_kb, "--cards", cards)
    cli.call(*command, sky, check=True)
    first, second = sorted(cards.glob("pair-*.html"), key=lambda page: len(page.name))
    third = second.with_name(second.name.replace("-2.html", "-3.html"))
    third.write_text("mine")
    outcome = cli.call(*command, "--fast", check=True)
    assert sorted(cards.glob("pair-*.html")) == [third, first], "never another file"
    assert "open " + str(cards / "index.html") + " in a browser; it also shows 1 of earlier runs\n" in outcome.stderr
    assert "2 photos: " in (cards / "index.html").read_text()


def test_the_index_of_cards_replaces_no_other_page(cli: Any, built_kb: Path, pair: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<h1>My site</h1>")
    outcome = cli.call("identify", pair, "--kb", built_kb, "--cards", tmp_path)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert f"{tmp_path / 'index.html'} exists but was not written by kb identify." in outcome.stderr
    assert (tmp_path / "index.html").read_text() == "<h1>My site</h1>"


def test_the_reader_sees_each_bird_by_itself(
    cli: Any, built_kb: Path, pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer('{"reason": "seen", "answer": "A"}') as server:
        (tmp_path / "fieldmark.toml").write_text(f'[llm.vision]\nmodel = "scripted"\nbase_url = "{server.base_url}"\n')
        monkeypatch.chdir(tmp_path)
        rows = rows_of(cli, pair, "--kb", built_kb, "--reader")
    sizes = [Image.open(io.BytesIO(call.images[0])).size for call in server.calls]
    assert len(rows) == len(sizes) == 2
    assert all(side <= 2 * SIDE for size in sizes for side in size), "not the photo of 1000 x 700"


def test_a_photo_of_several_birds_is_resumed_as_one(cli: Any, built_kb: Path, pair: Path, tmp_path: Path) -> None:
    command = ("identify", pair, "--kb", built_kb, "--output", tmp_path / "rows.csv")
    cli.call(*command, check=True)
    before = (tmp_path / "rows.csv").read_text()
    assert "Resuming: 1 of 1 photo done before" in cli.call(*command, check=True).stderr
    assert (tmp_path / "rows.csv").read_text() == before


def test_a_file_made_with_the_detector_is_not_continued_without_it(
    cli: Any, built_kb: Path, pair: Path, tmp_path: Path
) -> None:
    command = ("identify", pair, "--kb", built_kb, "--output", tmp_path / "rows.csv")
    cli.call(*command, check=True)
    assert "another detector of birds, or none (--fast)" in cli.call(*command, "--fast").stderr


def test_reference_photos_encoded_without_the_detector_are_named_with_the_remedy(
    cli: Any, drawings: Path, tmp_path: Path
) -> None:
    import kb
    import recognize
    from kb.sources.starter import StarterSource

    source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
    kb.build(tmp_path / "old.kb", source.drawn_taxa()[:2], source, replace(encoders, detector=None))
    command = ("identify", drawings / "bubo-scandiacus.png", "--kb", "old.kb")
    warning = (
        "warning: The reference photos of 2 of 2 species were encoded without the detector of birds, or by another "
        "version of it. kb build --only encode --kb old.kb encodes them again\n"
    )
    assert warning in cli.call(*command, check=True).stderr
    cli.call("build", "--only", "encode", "--kb", "old.kb", check=True)
    assert "reference photos" not in cli.call(*command, check=True).stderr
