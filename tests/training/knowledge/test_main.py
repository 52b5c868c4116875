"""The command that makes the bundled knowledge, and the shipped result."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import recognize
from data.codec import loads
from data.files import sha256_hex
from data.starter.knowledge import StarterSpecies, read_species
from data.starter.vectors import read_vectors
from recognize.evaluation.collection import read_collection
from recognize.starter.encoders import load_starter
from training.knowledge.__main__ import main
from training.knowledge.vectors import anchor_photos, described

SHIPPED = read_vectors()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two species: one with agreeing sources and photos, and one with only an outdated name."""
    data = tmp_path / "birds"
    (data / "photos").mkdir(parents=True)
    wren = "Troglodytes troglodytes"
    rows = [
        {"scientific_name": wren, "source": "a-x", "sentences": ["Bird with a brown back.", "Bird with a thin bill."]},
        {"scientific_name": wren, "source": "a-y", "sentences": ["Bird with a white throat."]},
        {"scientific_name": wren, "source": "b", "sentences": ["back: brown", "tail: short", "throat: white"]},
        {"scientific_name": wren, "source": "c", "sentences": ["It has a short tail and a brown back."]},
        {"scientific_name": "Parus caeruleus", "source": "b", "sentences": ["back: green"]},
        {"scientific_name": "Nemo nullus", "source": "b", "sentences": ["back: green"]},
    ]
    (data / "descriptions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (data / "articles.jsonl").write_text("", encoding="utf-8")
    with (data / "photos.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["path", "scientific_name", "common_name", "ebird_code", "source"])
        for i in range(4):
            colour = tuple(np.random.default_rng(i).integers(0, 255, 3).tolist())
            Image.new("RGB", (90, 60), colour).save(data / "photos" / f"{i}.jpg")
            table.writerow([f"photos/{i}.jpg", wren, "Wren", "", "vbet"])
    return data


def test_the_command_writes_facts_sentences_and_vectors(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    result = CliRunner().invoke(main, ["--data", str(folder), "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0
    made = [loads(StarterSpecies, line) for line in (out / "species.jsonl").read_text(encoding="utf-8").splitlines()]
    by_hand = [species for species in read_species() if species.by_hand]
    assert [species for species in made if species.by_hand] == by_hand
    wren = next(species for species in made if species.taxon.common_name == "Eurasian Wren")
    assert {(fact.part, fact.colours, fact.shape) for fact in wren.facts} == {
        ("back", ("brown",), ""),
        ("throat", ("white",), ""),
        ("tail", (), "short"),
    }
    assert " ".join(wren.text).count("brown") == 1
    # The blue tit is written by hand, and Nemo nullus is not a bird.
    assert len(made) == len(by_hand) + 1
    anchors = read_vectors(out / "vectors.npz")
    assert anchors.spaces == recognize.load_encoders("starter").anchor_spaces
    first = anchors.of("troglodytes-troglodytes")[0]
    assert first.anchor.anchor_id == sha256_hex((folder / "photos" / "0.jpg").read_bytes())
    assert (first.anchor.credit, first.content) == (None, None)
    assert len(anchors.of("troglodytes-troglodytes")) == 3


def test_a_second_run_writes_the_same_files(folder: Path, tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        arguments = ["--data", str(folder), "--out", str(tmp_path / name), "--no-vectors"]
        assert CliRunner().invoke(main, arguments, catch_exceptions=False).exit_code == 0
        contents.append((tmp_path / name / "species.jsonl").read_bytes())
    assert contents[0] == contents[1]


def test_no_anchor_is_an_evaluation_photo(birds: Path) -> None:
    collection = read_collection(birds)
    chosen = {path for _, path in anchor_photos(birds)}
    three = {collection.photos[int(row)].path for row in collection.anchors("three")}
    evaluated = {collection.photos[int(row)].path for row in collection.left_over}
    assert len(chosen) > 1500
    assert chosen <= three
    assert not chosen & evaluated


def test_shipped_vectors_belong_to_the_anchor_photos_and_shipped_encoders(birds: Path) -> None:
    """They were made from the first state of the data: 25 species were removed since, 50 were added."""
    photos: dict[str, list[str]] = defaultdict(list)
    for taxon, path in anchor_photos(birds):
        photos[taxon.taxon_id].append(sha256_hex((birds / path).read_bytes()))
    shipped = {key: [SHIPPED.anchor_ids[row] for row in rows] for key, rows in SHIPPED.rows.items()}
    still = shipped.keys() & photos.keys()
    assert {key: shipped[key] for key in still} == {key: photos[key] for key in still}
    assert (len(shipped.keys() - still), len(photos.keys() - still)) == (25, 50)
    assert SHIPPED.spaces == load_starter().anchor_spaces
    texts = described(birds).keys()
    assert (len(SHIPPED.text_rows.keys() - texts), len(texts - SHIPPED.text_rows.keys())) == (25, 50)


def test_shipped_vectors_are_unit_rows_of_shipped_species() -> None:
    known = {species.taxon.taxon_id for species in read_species()}
    assert set(SHIPPED.rows) <= known
    for matrix in SHIPPED.matrices:
        np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=2e-3)


def test_at_least_1200_species_have_a_text_or_photo_vectors() -> None:
    with_text = {species.taxon.taxon_id for species in read_species() if species.text}
    assert len(with_text | set(SHIPPED.rows)) >= 1200
