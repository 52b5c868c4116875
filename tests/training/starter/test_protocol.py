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
    """Queries are left-over photos that are neither near-duplicates of anchors nor set aside."""
    collection, found = read_study_collection(birds), read_collection(birds)
    parts = (found.vocabulary, found.anchors("three"), found.anchors("wiki"), found.left_over, found.hidden)
    assert [len(part) for part in (*parts, collection.queries)] == [1432, 1828, 758, 1805, 902, 1553]
    assert set_aside(found).digest == ASIDE_DIGEST
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


def test_the_models_learn_nothing_hidden_and_the_twin_and_folds_nothing_set_aside(many: StudyCollection) -> None:
    hidden, seen, twin = set(many.hidden), set(many.seen_training), set(many.twin_training)
    assert seen | hidden | set(many.aside_known) == set(range(len(many.photos)))
    assert not seen & (hidden | set(many.aside_known))
    assert set(many.aside_new) - hidden <= seen and len(many.aside_new) > 20
    assert twin == seen - set(many.aside_new)
    assert [any(map(is_new, species_in(many, photos))) for photos in (seen, twin)] == [True, False]
    for fold in range(5):  # no tuning photo and none of its species, but all others, hidden ones too
        mine = {i for i, photo in enumerate(many.photos) if fold_of(photo.species) == fold}
        others = set(range(len(many.photos))) - mine - set(many.tuning) - set(many.all_aside)
        assert mine and set(many.unseen_training(fold)) == others and others & hidden


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
