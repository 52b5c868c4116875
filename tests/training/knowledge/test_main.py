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
from data.records import taxon_id
from data.starter.knowledge import StarterSpecies, read_species, read_vectors
from recognize.starter.encoders import load_starter
from training.collection import read_collection
from training.knowledge.__main__ import main
from training.knowledge.vectors import anchor_photos, described
from training.starter.protocol import read_study_collection, set_aside

SHIPPED = read_vectors()
OF_PHOTOS_ALONE = "Regulus regulus"
SET_ASIDE = "Certhia familiaris"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Species with agreeing sources and photos, with an outdated name, with photos alone, with photos set aside."""
    data = tmp_path / "birds"
    (data / "photos").mkdir(parents=True)
    wren = "Thryothorus ludovicianus"
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
        for name in (OF_PHOTOS_ALONE, SET_ASIDE):
            Image.new("RGB", (90, 60)).save(data / "photos" / f"{name}.jpg")
            table.writerow([f"photos/{name}.jpg", name, "", "", "vbet"])
    return data


def test_the_command_writes_facts_sentences_and_vectors(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    result = CliRunner().invoke(main, ["--data", str(folder), "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0
    arguments = ["--data", str(folder), "--out", str(tmp_path / "again"), "--no-vectors"]
    assert CliRunner().invoke(main, arguments, catch_exceptions=False).exit_code == 0
    assert (tmp_path / "again" / "species.jsonl").read_bytes() == (out / "species.jsonl").read_bytes()
    made = [loads(StarterSpecies, line) for line in (out / "species.jsonl").read_text(encoding="utf-8").splitlines()]
    by_hand = [species for species in read_species() if species.by_hand]
    assert [species for species in made if species.by_hand] == by_hand
    wren = next(species for species in made if species.taxon.common_name == "Carolina Wren")
    facts = {(fact.part, fact.colours, fact.shape) for fact in wren.facts}
    assert facts == {("back", ("brown",), ""), ("throat", ("white",), "")}
    assert " ".join(wren.text).count("brown") == 1
    # The blue tit is written by hand, and Nemo nullus is not a bird.
    written = next(species for species in made if species.taxon.scientific_name == SET_ASIDE)
    assert "curved bill" in written.text[0]
    assert [s.taxon.scientific_name for s in made if not s.text] == [OF_PHOTOS_ALONE]
    assert len(made) == len(by_hand) + 3
    assert "2 names are no species of AviList 2025: Nemo nullus, Parus caeruleus" in result.output
    anchors = read_vectors(out / "vectors.npz")
    assert anchors.spaces == recognize.load_encoders("starter").anchor_spaces
    first = anchors.of("thryothorus-ludovicianus")[0]
    assert first.anchor.anchor_id == sha256_hex((folder / "photos" / "0.jpg").read_bytes())
    assert (first.anchor.credit, first.content) == (None, None)
    found = {key: len(rows) for key, rows in anchors.rows.items()}
    assert found == {"thryothorus-ludovicianus": 3, taxon_id(OF_PHOTOS_ALONE): 1, taxon_id(SET_ASIDE): 1}


def test_shipped_vectors_are_of_the_anchors_of_the_protocol_and_no_query(birds: Path) -> None:
    study, whole = read_study_collection(birds), read_collection(birds)
    chosen = {path for _, path in anchor_photos(birds)}
    assert len(chosen) > 3000
    assert not chosen & set(set_aside(whole).known)
    assert not chosen & {study.photos[int(row)].path for row in study.left_over}
    photos: dict[str, list[str]] = defaultdict(list)
    for taxon, path in anchor_photos(birds):
        photos[taxon.taxon_id].append(sha256_hex((birds / path).read_bytes()))
    assert {key: [SHIPPED.anchor_ids[row] for row in rows] for key, rows in SHIPPED.rows.items()} == photos
    assert SHIPPED.spaces == load_starter().anchor_spaces
    assert SHIPPED.text_rows.keys() == described(birds).keys()
