"""Roles of photos in the protocol (query, training), on a small collection and on the real one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from training.collection import read_collection
from training.starter.protocol import (
    ASIDE_DIGEST,
    StudyCollection,
    fold_of,
    is_new,
    read_study_collection,
    set_aside,
)
from training.starter.study import Study


def test_the_real_collection_has_the_documented_numbers(birds: Path) -> None:
    """1,805 photos are left over; 1,553 are neither near-duplicates of anchors nor set aside."""
    collection = read_study_collection(birds)
    assert (len(collection.left_over), len(collection.queries)) == (1805, 1553)
    assert not set(collection.tuning) & set(collection.hidden)


@pytest.fixture(scope="module")
def many(wide: Study) -> StudyCollection:
    return wide.collection


def species_in(collection: StudyCollection, photos: Any) -> set[str]:
    return {collection.photos[i].species for i in photos}


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


def test_a_fold_learns_no_tuning_photo_none_set_aside_and_none_of_its_species(many: StudyCollection) -> None:
    """But all others, hidden ones too."""
    for fold in range(5):
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


def test_the_photos_set_aside_are_those_of_the_published_digest(birds: Path) -> None:
    assert set_aside(read_collection(birds)).digest == ASIDE_DIGEST
