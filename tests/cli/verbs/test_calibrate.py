"""`kb calibrate`: labelled photos, reference photos, refusals, and its use by `kb identify`."""

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter

from tests.cli.conftest import documented_keys
from tests.drawn_birds import drawn_bird
from tests.made_once import made_once


def vary(content: bytes, rng: np.random.Generator) -> Image.Image:
    """Return a blurred crop with other colours."""
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    side = rng.uniform(0.65, 1)
    left, top = rng.uniform(0, 1 - side, 2)
    box = (left * picture.width, top * picture.height, (left + side) * picture.width, (top + side) * picture.height)
    picture = ImageEnhance.Color(picture.resize((200, 200), box=box)).enhance(rng.uniform(0.1, 1.6))
    return picture.filter(ImageFilter.GaussianBlur(rng.uniform(0, 4)))


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four altered drawings each of twenty species, in class folders; tests must not write to it."""
    from training.plates.catalogue import PLATES

    def draw(folder: Path) -> None:
        rng = np.random.default_rng(0)
        for taxon_id in sorted({plate.taxon_id for plate in PLATES}):
            species = folder / taxon_id.replace("-", " ").capitalize()
            species.mkdir(parents=True)
            for number in range(4):
                vary(drawn_bird(taxon_id), rng).save(species / f"{number}.jpg")

    return made_once(tmp_path_factory, "labelled", draw)


def identified(cli: Any, kb: Path, photos: Path) -> tuple[list[Any], float]:
    """Return the rows, and the gap between the mean confidence of the first species and its accuracy."""
    done = cli.call("identify", photos, "--kb", kb, "--format", "jsonl", "--quiet", check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [row for row in rows if row["candidates"]]  # in some blurred drawings no bird is found
    right = [Path(row["image"]).parent.name == row["candidates"][0]["scientific_name"] for row in rows]
    return rows, abs(float(np.mean([row["candidates"][0]["confidence"] for row in rows]) - np.mean(right)))


@pytest.mark.integration
def test_labelled_photos_change_the_confidence_of_identify(
    cli: Any, built_kb: Path, labelled: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(built_kb, tmp_path / "own.kb")
    cli.call("calibrate", "--kb", own, "--photos", labelled, "--quiet", check=True)
    (before, error), (after, new_error) = identified(cli, built_kb, labelled), identified(cli, own, labelled)
    assert before[0]["calibration"] != after[0]["calibration"]
    assert new_error < min(error, 0.1)
    assert [row["candidates"][0]["taxon_id"] for row in before] == [row["candidates"][0]["taxon_id"] for row in after]


@pytest.mark.integration
def test_the_report_has_the_quality_and_its_meaning(cli: Any, built_kb: Path, labelled: Path, tmp_path: Path) -> None:
    """With an unreadable photo; photos without a species of the knowledge base are named."""
    own = shutil.copytree(built_kb, tmp_path / "own.kb")
    photos = shutil.copytree(labelled, tmp_path / "photos")
    (photos / "Pica pica" / "0.jpg").write_bytes(b"no picture")
    done = cli.call("calibrate", "--kb", own, "--photos", photos)
    assert (done.exit_code, "1 photo unreadable; the first is" in done.stderr) == (7, True)
    lines = done.stdout.splitlines()
    assert lines[0] == f"Calibrated: {own}, preset default"
    assert re.match(r"7\d photos of 20 species; the right species comes first for (\d\d|100) %$", lines[1])
    assert any(line.split() == ["estimated", "calibrated"] for line in lines)
    assert "and without it (10 %). Measured on species outside the fit." in lines
    assert re.search(r"without (7\d) of \1", done.stderr)
    for old, new in (("Pica pica", "Larus argentatus"), ("Bubo scandiacus", "Some bird")):
        shutil.copytree(labelled / old, tmp_path / "others" / new)
    outcome = cli.call("calibrate", "--kb", own, "--photos", tmp_path / "others")
    assert (outcome.exit_code, "No photo of" in outcome.stderr) == (5, True)
    assert "1 label (4 photos) matched no species: Some bird (unknown" in outcome.stderr
    assert "1 species (4 photos) not in the knowledge base: Larus argentatus" in outcome.stderr
    of_preset = ("--preset", "vr-rag-v2", "--format", "json", "--quiet")
    found = json.loads(cli.call("calibrate", "--kb", own, "--photos", labelled, *of_preset, check=True).stdout)
    assert set(found) == documented_keys("kb calibrate --format json")
    assert (found["n_species"], found["calibrated"]["calibration_error"] < 0.3) == (20, True)
    noted = json.loads(cli.call("status", "--kb", own, "--format", "json", check=True).stdout)["calibrations"]
    assert noted.keys() == {"default", "vr-rag-v2"}
