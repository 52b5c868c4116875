"""Roles of photos (anchor, query, training): on a small collection, and on the real one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recognize.evaluation.picture_hash import near_duplicates
from recognize.evaluation.protocol import fold_of, perceptual_hash, read_collection

SPECIES = ["Corvus corax", "Pica pica", "Turdus merula"]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Five photos of each of three species; the fourth of the first one is its lead image, made smaller."""
    folder = tmp_path_factory.mktemp("birds")
    rng = np.random.default_rng(0)
    rows = ["path,scientific_name,common_name,ebird_code,source"]
    pictures = {}
    for s, name in enumerate(SPECIES):
        for i in range(5):
            coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
            picture = coarse.resize((128, 128), Image.Resampling.BICUBIC)
            if (s, i) == (0, 3):
                picture = pictures["0-4.png"].resize((90, 90))
            source = "wikipedia_lead_na" if i == 4 and s < 2 else "birds525_valid"
            pictures[f"{s}-{i}.png"] = picture
            if (s, i) == (0, 2):  # so that the lead image is there when its copy is made
                pictures["0-4.png"] = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize(
                    (128, 128)
                )
            rows.append(f"{s}-{i}.png,{name},x,y,{source}")
    for path, picture in pictures.items():
        picture.save(folder / path)
    pictures_of_lead = pictures["0-4.png"]
    pictures_of_lead.resize((90, 90), Image.Resampling.BICUBIC).save(folder / "0-3.png")
    (folder / "photos.csv").write_text("\n".join(rows), encoding="utf-8")
    texts = [{"scientific_name": name, "source": "x", "sentences": ["Black."]} for name in SPECIES[:2]]
    (folder / "descriptions.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    return read_collection(folder)


def paths(collection: Any, photos: Any) -> Any:
    return [collection.photos[i].path for i in photos]


def test_the_vocabulary_is_what_is_described(collection: Any) -> None:
    assert collection.vocabulary == tuple(SPECIES[:2])
    assert set(collection.labels[10:]) == {-1}


def test_the_lead_image_is_the_first_of_three_anchors_and_the_only_one_of_wiki(collection: Any) -> None:
    assert paths(collection, collection.anchors("three")) == [
        "0-4.png",
        "0-0.png",
        "0-1.png",
        "1-4.png",
        "1-0.png",
        "1-1.png",
    ]
    assert paths(collection, collection.anchors("wiki")) == ["0-4.png", "1-4.png"]


def test_a_near_duplicate_of_an_anchor_is_left_over_but_never_asked(collection: Any) -> None:
    assert "0-3.png" in paths(collection, collection.left_over)
    assert "0-3.png" not in paths(collection, collection.queries)


def test_no_query_is_an_anchor_or_outside_the_vocabulary(collection: Any) -> None:
    assert not set(collection.queries) & set(collection.anchors("three"))
    assert (collection.labels[collection.queries] >= 0).all()


def test_the_seen_model_is_trained_on_no_hidden_photo(collection: Any) -> None:
    assert len(collection.hidden) == len(collection.left_over) // 2
    assert not set(collection.seen_training) & set(collection.hidden)


@pytest.mark.parametrize("fold", range(5))
def test_a_fold_s_species_are_not_in_its_training_photos(collection: Any, fold: int) -> None:
    trained = {collection.photos[i].species for i in collection.unseen_training(fold)}
    assert trained == {name for name in SPECIES if fold_of(name) != fold}


def test_a_smaller_copy_has_nearly_the_same_hash_and_another_picture_has_not(collection: Any) -> None:
    values = np.array([perceptual_hash(collection.folder / f"0-{i}.png") for i in (4, 3, 0)], dtype=np.uint64)
    assert near_duplicates(values[1:], values[:1]).tolist() == [True, False]


def test_the_real_collection_has_the_protocol_s_numbers(birds: Path) -> None:
    """1,432 species, 1,828 and 758 anchors, 1,805 photos left over; five of these look too much like anchors."""
    collection = read_collection(birds)
    numbers = [
        len(collection.vocabulary),
        len(collection.anchors("three")),
        len(collection.anchors("wiki")),
        len(collection.left_over),
    ]
    assert numbers == [1432, 1828, 758, 1805]
    assert len(collection.queries) == 1800
    assert len(collection.hidden) == 902
    assert not set(collection.tuning) & set(collection.hidden)
