"""Roles of photos in the protocol (query, training), on a small collection and on the real one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recognize.evaluation.picture_hash import near_duplicates
from tests.recognize.evaluation.small_collection import SPECIES, write_small_collection
from training.starter.protocol import fold_of, perceptual_hash, read_study_collection


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("birds")
    write_small_collection(folder)
    return read_study_collection(folder)


def paths(collection: Any, photos: Any) -> Any:
    return [collection.photos[i].path for i in photos]


def test_a_near_duplicate_of_an_anchor_is_not_a_query(collection: Any) -> None:
    assert "0-3.png" in paths(collection, collection.left_over)
    assert "0-3.png" not in paths(collection, collection.queries)


def test_queries_are_not_anchors_and_have_a_known_species(collection: Any) -> None:
    assert not set(collection.queries) & set(collection.anchors("three"))
    assert (collection.labels[collection.queries] >= 0).all()


def test_hidden_photos_are_not_in_the_training_of_the_seen_model(collection: Any) -> None:
    assert len(collection.hidden) == len(collection.left_over) // 2
    assert not set(collection.seen_training) & set(collection.hidden)


@pytest.mark.parametrize("fold", range(5))
def test_species_of_a_fold_are_not_in_its_training_photos(collection: Any, fold: int) -> None:
    trained = {collection.photos[i].species for i in collection.unseen_training(fold)}
    assert trained == {name for name in SPECIES if fold_of(name) != fold}


def test_a_smaller_copy_is_a_near_duplicate_by_hash(collection: Any) -> None:
    values = np.array([perceptual_hash(collection.folder / f"0-{i}.png") for i in (4, 3, 0)], dtype=np.uint64)
    assert near_duplicates(values[1:], values[:1]).tolist() == [True, False]


def test_the_real_collection_has_the_documented_numbers(birds: Path) -> None:
    """1,805 photos are left over; five of them are near-duplicates of anchors."""
    collection = read_study_collection(birds)
    assert (len(collection.left_over), len(collection.queries)) == (1805, 1800)
    assert not set(collection.tuning) & set(collection.hidden)
