"""Roles of photos in the protocol (query, training), on a small collection and on the real one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recognize.evaluation.collection import MAX_ANCHORS, Collection, Photo, read_collection
from recognize.evaluation.picture_hash import near_duplicates
from tests.recognize.evaluation.small_collection import SPECIES, write_small_collection
from training.starter.protocol import ASIDE_DIGEST, fold_of, is_new, perceptual_hash, read_study_collection, set_aside


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


def many_photos(n_species: int, n_photos: int) -> Collection:
    photos = [
        Photo(path=f"{species}-{i}.jpg", species=f"Avis {species}", source="birds525_valid")
        for species in range(n_species)
        for i in range(n_photos)
    ]
    return Collection(Path("nowhere"), tuple(photos), ())


def test_a_new_species_loses_all_photos_and_a_known_one_keeps_its_anchors() -> None:
    whole = many_photos(400, 8)
    aside = set_aside(whole)
    new = {photo.species for photo in whole.photos if is_new(photo.species)}
    assert 5 < len(new) < 40
    assert list(aside.new) == sorted(photo.path for photo in whole.photos if photo.species in new)
    of_known = [photo for photo in whole.photos if photo.path in aside.known]
    assert not {photo.species for photo in of_known} & new
    assert all(int(photo.path[-5]) >= MAX_ANCHORS for photo in of_known)
    n_spare = (400 - len(new)) * (8 - MAX_ANCHORS)
    assert 0.07 * n_spare < len(of_known) < 0.14 * n_spare


def test_other_photos_do_not_change_the_choice() -> None:
    small, large = set_aside(many_photos(100, 4)), set_aside(many_photos(200, 6))
    assert set(small.new) <= set(large.new)
    assert set(small.known) <= set(large.known)


def test_the_photos_set_aside_are_those_of_the_published_digest(birds: Path) -> None:
    assert set_aside(read_collection(birds)).digest == ASIDE_DIGEST
