"""`kb identify` with the detector: several birds, no bird, and `--fast`."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.starter.drawings import drawings_of

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


def test_each_bird_of_a_photo_has_a_row_with_its_box_and_a_card(
    cli: Any, built_kb: Path, pair: Path, sky: Path, tmp_path: Path
) -> None:
    cards = tmp_path / "cards"
    *rows, none = rows_of(cli, pair, sky, "--kb", built_kb, "--cards", cards)
    assert [(row["image"], row["bird"], row["n_birds"]) for row in rows] == [(str(pair), 1, 2), (str(pair), 2, 2)]
    for row, (left, top) in zip(sorted(rows, key=lambda row: float(row["box"][0])), PLACES, strict=True):
        assert left - 10 <= row["box"][0] < row["box"][2] <= left + SIDE + 10
        assert top - 10 <= row["box"][1] < row["box"][3] <= top + SIDE + 10
    assert (none["status"], none["candidates"], none["answer"]["name"], none["shows"]) == ("no_bird", [], "", None)
    assert "No bird found." in cli.call("identify", sky, "--kb", built_kb, check=True).stdout
    first, second = sorted(cards.glob("pair-*.html"), key=lambda page: len(page.name))
    assert "bird 1 of 2" in first.read_text() and "bird 2 of 2" in second.read_text()
    assert "No bird found" in next(cards.glob("sky-*.html")).read_text()
    assert "1 without a bird" in (cards / "index.html").read_text()
    fast = rows_of(cli, pair, sky, "--kb", built_kb, "--fast")
    assert [(row["box"], row["n_birds"], row["status"] == "no_bird") for row in fast] == [
        (None, 1, False), (None, 1, True),
    ]  # fmt: skip


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
