"""Vocabulary, anchors and hidden photos of a collection."""

from pathlib import Path
from typing import Any

import pytest

from data.errors import BadInput
from tests.training.small_collection import SPECIES, write_small_collection
from training.collection import read_collection


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("birds")
    write_small_collection(folder)
    return read_collection(folder)


def paths(collection: Any, photos: Any) -> Any:
    return [collection.photos[i].path for i in photos]


def test_the_vocabulary_is_the_species_with_descriptions(collection: Any) -> None:
    assert collection.vocabulary == tuple(SPECIES[:2])
    assert set(collection.labels[10:]) == {-1}


def test_the_lead_image_is_the_first_or_the_only_anchor(collection: Any) -> None:
    assert paths(collection, collection.anchors("three")) == [
        "0-4.png",
        "0-0.png",
        "0-1.png",
        "1-4.png",
        "1-0.png",
        "1-1.png",
    ]
    assert paths(collection, collection.anchors("wiki")) == ["0-4.png", "1-4.png"]


def test_half_of_the_photos_that_are_not_anchors_are_hidden(collection: Any) -> None:
    assert paths(collection, collection.left_over) == ["0-2.png", "0-3.png", "1-2.png", "1-3.png"]
    assert len(collection.hidden) == 2
    assert set(collection.hidden) < set(collection.left_over)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("photos.csv", b"path,source\na.jpg,x\n"),
        ("photos.csv", b"path,scientific_name,source\n\xff,a,x\n"),
        ("descriptions.jsonl", b"no JSON\n"),
        ("descriptions.jsonl", b"{}\n"),
        ("descriptions.jsonl", b"[1]\n"),
    ],
)
def test_a_file_in_another_format_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    write_small_collection(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=f"{name} is not a file of a photo collection"):
        read_collection(tmp_path)


def test_the_real_collection_has_the_documented_counts(birds: Path) -> None:
    """1,432 species, 1,828 and 758 anchors, 1,805 photos left over."""
    collection = read_collection(birds)
    numbers = [
        len(collection.vocabulary),
        len(collection.anchors("three")),
        len(collection.anchors("wiki")),
        len(collection.left_over),
        len(collection.hidden),
    ]
    assert numbers == [1432, 1828, 758, 1805, 902]
