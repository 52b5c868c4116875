"""The shipped drawings: complete, in the colours of the facts, and equal to the output of `training.plates`."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from data.files import sha256_hex
from data.starter.drawings import Drawing, drawings_of, index_digest, read_drawings
from data.starter.knowledge import read_species
from tests.training.plates.colour_words import wrong_colours
from training.plates.catalogue import PLATES
from training.plates.files import shipped_drawings, write_shipped

ROOT = Path(__file__).resolve().parents[3]
SPECIES = {species.taxon.taxon_id: species for species in read_species()}


def picture_of(drawing: Drawing) -> Image.Image:
    return Image.open(io.BytesIO(drawing.png())).convert("RGB")


def test_the_index_lists_every_file_and_its_digest() -> None:
    folder = resources.files("data") / "starter" / "drawings"
    assert sorted(file.name for file in folder.iterdir()) == sorted(
        ["index.json", *(drawing.file for drawing in read_drawings())]
    )
    assert [drawing.file for drawing in read_drawings() if sha256_hex(drawing.png()) != drawing.sha256] == []
    assert len(index_digest()) == 64


def test_every_species_has_three_anchors_and_one_query_per_plumage() -> None:
    anchors = Counter(drawing.taxon_id for drawing in read_drawings() if drawing.purpose == "anchor")
    assert set(anchors.values()) == {3}
    assert len(anchors) >= 12
    queries = [drawing.plate for drawing in read_drawings() if drawing.purpose == "query"]
    assert sorted(queries) == sorted({drawing.plate for drawing in read_drawings()})


def test_anchors_alternate_between_plumages() -> None:
    mallards = drawings_of("anas-platyrhynchos", "anchor")
    assert [drawing.file for drawing in mallards] == [
        "anas-platyrhynchos-male-1.png", "anas-platyrhynchos-female-1.png", "anas-platyrhynchos-male-2.png"
    ]  # fmt: skip
    assert drawings_of("struthio-camelus", "anchor") == []


def test_drawings_have_the_colours_of_the_facts() -> None:
    for drawing in read_drawings()[::3]:
        picture = picture_of(drawing)
        assert picture.size == (360, 360)
        small = picture.resize((180, 180), Image.Resampling.BOX)
        assert wrong_colours(small, SPECIES[drawing.taxon_id], drawing.sex) == [], drawing.file


def test_the_shipped_files_equal_fresh_drawings() -> None:
    """Compared by pixels, because versions of Pillow round differently."""
    for i in range(0, len(read_drawings()), 9):
        plate, purpose, number = shipped_drawings()[i]
        shipped, drawn = read_drawings()[i], plate.draw(purpose, number)
        difference = ImageChops.difference(picture_of(shipped), drawn)
        assert sum(ImageStat.Stat(difference).mean) / 3 < 1, shipped.file
        assert (shipped.plate, shipped.purpose) == (plate.name, purpose)


def test_write_shipped_replaces_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.plates.files.PLATES", PLATES[:1])
    (tmp_path / "old.png").write_bytes(b"old")
    written = write_shipped(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["index.json", *(each.file for each in written)])
    assert [each.file for each in written] == [each.file for each in read_drawings()[: len(written)]]


def test_reading_the_index_loads_neither_pillow_nor_numpy() -> None:
    code = "import sys; from data.starter.drawings import read_drawings; read_drawings(); "
    code += "print({'PIL', 'numpy', 'training'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, text=True)
    assert done.stdout.strip() == "set()"
