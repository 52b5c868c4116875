"""Bundled weights: file sizes, reading time, and the encoders that use them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recognize.starter.encoders import HEADS_FILE, TOWER_FILE, Weights, load_starter
from recognize.starter.tower import Tower
from training.collection import read_collection


@pytest.fixture(scope="module")
def encoders() -> Any:
    return load_starter()


def pictures(n: Any) -> Any:
    rng = np.random.default_rng(n)
    return [Image.fromarray(rng.integers(0, 256, (40, 60, 3), dtype=np.uint8)) for _ in range(n)]


def test_the_files_are_small_and_encoding_does_not_import_torch() -> None:
    folder = Weights().folder
    assert (folder / TOWER_FILE).stat().st_size <= 14e6 and (folder / HEADS_FILE).stat().st_size <= 11e6
    code = (
        "import sys; from PIL import Image; from recognize.starter.encoders import load_starter; e = load_starter();"
        "e.visual.encode_images([Image.new('RGB', (9, 9))]); e.sentence.encode_texts(['red']);"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_space_names_the_weights_it_depends_on(encoders: Any) -> None:
    """Photo vectors depend on tower and heads, sentence vectors on the heads alone."""
    tower, heads = encoders.visual.weights.tower.digest, encoders.visual.weights.revision
    pair, look, words = encoders.spaces
    assert all(part in space for space in (pair, look) for part in (tower, heads, "260"))
    assert heads in words and tower not in words
    asked, same, other = encoders.text_image[0].weights.heads.encode_pairs(
        ["Red crown.", "A reddish cap.", "Tail red."]
    )
    assert (asked @ same, asked @ other) == (pytest.approx(1, abs=1e-6), 0), "synonyms are the same pair"


def test_features_of_repeated_pictures_are_cached(tmp_path: Path) -> None:
    """For pictures just seen, the tower does not even need its file."""
    path = tmp_path / "tower.onnx"
    path.write_bytes((Weights().folder / TOWER_FILE).read_bytes())
    tower, images = Tower(path), pictures(3)
    first = tower.features(images)
    kept = first.copy()
    first[:] = 0
    tower._session = None
    path.unlink()
    assert (tower.features(images) == kept).all(), "changing returned features leaves the cache intact"


def test_prototypes_are_unit_rows_of_named_species(encoders: Any) -> None:
    names, rows = encoders.visual.prototypes()
    assert len(names) == len(set(names)) == len(rows) > 1500
    assert rows.shape[1] == encoders.visual.dim
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    hashes = encoders.visual.photo_hashes()
    assert (hashes.dtype, len(hashes)) == (np.uint64, 4_574), "one for each training photo, as the model card says"
    assert (hashes[1:] >= hashes[:-1]).all()


def test_most_hidden_photos_are_nearest_to_their_prototype(encoders: Any, shared: Path) -> None:
    """A quality floor on real photos outside training; full results are in docs/results.md."""
    birds = read_collection(shared / "birds")
    hidden = [i for i in birds.hidden if birds.photos[i].source == "birds525_valid"][::6]
    names, prototypes = encoders.visual.prototypes()
    images = []
    for i in hidden:
        with Image.open(birds.folder / birds.photos[i].path) as image:
            images.append(image.convert("RGB"))
    found = (encoders.visual.encode_images(images) @ prototypes.T).argmax(axis=1)
    right = [names[f] == birds.photos[i].species for f, i in zip(found, hidden, strict=True)]
    assert len(right) >= 30
    assert np.mean(right) >= 0.7
