"""Roles of photos in the protocol (query, training), on a small collection and on the real one."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recognize.evaluation.collection import MAX_ANCHORS, Collection, Photo, read_collection
from recognize.evaluation.picture_hash import near_duplicates
from tests.recognize.evaluation.small_collection import SPECIES, write_small_collection
from training.starter.protocol import (
    ASIDE_DIGEST,
    StudyCollection,
    fold_of,
    is_new,
    perceptual_hash,
    read_study_collection,
    set_aside,
)
from training.starter.study import Study


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
    """1,805 photos are left over; 1,553 are neither near-duplicates of anchors nor set aside."""
    collection = read_study_collection(birds)
    assert (len(collection.left_over), len(collection.queries)) == (1805, 1553)
    assert not set(collection.tuning) & set(collection.hidden)


N_TUNING = 60


@pytest.fixture(scope="module")
def many(wide: Study) -> StudyCollection:
    return wide.collection


def species_in(collection: StudyCollection, photos: Any) -> set[str]:
    return {collection.photos[i].species for i in photos}


def test_tuning_photos_are_neither_hidden_nor_set_aside(many: StudyCollection) -> None:
    assert len(many.tuning) == N_TUNING
    assert (np.diff(many.tuning) > 0).all()
    assert not set(many.tuning) & (set(many.hidden) | set(many.all_aside))


def test_half_of_the_tuning_photos_are_of_species_with_two_or_three(many: StudyCollection) -> None:
    """Beside the hidden ones and those set aside. Their last by the order of anchors; the other half are left over."""
    free = set(range(len(many.photos))) - set(many.hidden) - set(many.all_aside)
    of_species: dict[str, list[int]] = {}
    for i in sorted(free):
        of_species.setdefault(many.photos[i].species, []).append(i)
    few = {i for i in many.tuning.tolist() if len(of_species[many.photos[i].species]) <= 3}
    assert len(few) == len(species_in(many, few)) == N_TUNING // 2
    assert few == {of_species[many.photos[i].species][-1] for i in few}
    assert {len(of_species[many.photos[i].species]) for i in few} == {2, 3}
    assert set(many.tuning) - few <= set(many.left_over)


def test_species_with_copies_of_hidden_photos_count_without_them(many: StudyCollection) -> None:
    """A species with two photos, of which one is a copy of a hidden photo, has one, and none for tuning."""
    few = next(i for i in many.tuning.tolist() if Counter(p.species for p in many.photos)[many.photos[i].species] == 2)
    copied = with_copy(many, few, of=int(many.hidden[0]))
    assert few not in copied.tuning
    assert many.photos[few].species not in species_in(copied, copied.tuning)


def with_copy(collection: StudyCollection, photo: int, *, of: int) -> StudyCollection:
    """Return the collection with a photo that is a copy of another."""
    copied = replace(collection)
    copied.__dict__["hashes"] = collection.hashes.copy()
    copied.hashes[photo] = collection.hashes[of]
    return copied


def test_the_shipped_model_learns_the_species_set_aside_but_nothing_hidden(many: StudyCollection) -> None:
    trained = set(many.seen_training)
    assert not trained & (set(many.hidden) | set(many.aside_known))
    assert set(many.aside_new) - set(many.hidden) <= trained
    assert len(many.aside_new) > 20
    assert trained | set(many.hidden) | set(many.aside_known) == set(range(len(many.photos)))


def test_the_twin_learns_nothing_set_aside_and_nothing_hidden(many: StudyCollection) -> None:
    trained = set(many.twin_training)
    assert trained == set(many.seen_training) - set(many.aside_new)
    assert not {name for name in species_in(many, trained) if is_new(name)}
    assert {name for name in species_in(many, many.seen_training) if is_new(name)}


@pytest.mark.parametrize("fold", range(5))
def test_a_fold_learns_no_tuning_photo_none_set_aside_and_none_of_its_species(many: StudyCollection, fold: int) -> None:
    """But all others, hidden ones too."""
    trained = set(many.unseen_training(fold))
    mine = {i for i, photo in enumerate(many.photos) if fold_of(photo.species) == fold}
    assert mine
    assert trained == set(range(len(many.photos))) - mine - set(many.tuning) - set(many.all_aside)
    assert trained & set(many.hidden)


def test_no_model_learns_a_copy_of_a_photo_that_it_must_not_learn(many: StudyCollection) -> None:
    """Photo -> models: a copy of a hidden photo, of a known one set aside, and of a species set aside."""
    copy = int(many.anchors("three")[7])
    fold = (fold_of(many.photos[copy].species) + 1) % 5

    def learners(collection: StudyCollection) -> list[bool]:
        photos = (collection.seen_training, collection.twin_training, collection.unseen_training(fold))
        return [copy in some for some in photos]

    new = next(i for i in many.aside_new.tolist() if i not in set(many.hidden))
    known = next(i for i in many.aside_known.tolist() if i not in set(many.hidden))
    hidden = next(i for i in many.hidden.tolist() if i not in set(many.all_aside))
    assert learners(many) == [True, True, True]
    assert learners(with_copy(many, copy, of=hidden)) == [False, False, True]
    assert learners(with_copy(many, copy, of=known)) == [False, False, False]
    assert learners(with_copy(many, copy, of=new)) == [True, False, False]


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
