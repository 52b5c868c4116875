"""Photos set aside: whole species, some photos of others, and never an anchor of these."""

from pathlib import Path

from recognize.evaluation.collection import MAX_ANCHORS, Collection, Photo, read_collection
from training.starter.aside import DIGEST, is_new, set_aside


def collection(n_species: int, n_photos: int) -> Collection:
    photos = [
        Photo(path=f"{species}-{i}.jpg", species=f"Avis {species}", source="birds525_valid")
        for species in range(n_species)
        for i in range(n_photos)
    ]
    return Collection(Path("nowhere"), tuple(photos), ())


def test_a_new_species_loses_all_photos_and_a_known_one_keeps_its_anchors() -> None:
    whole = collection(400, 8)
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
    small, large = set_aside(collection(100, 4)), set_aside(collection(200, 6))
    assert set(small.new) <= set(large.new)
    assert set(small.known) <= set(large.known)


def test_the_photos_set_aside_are_those_of_the_published_digest(birds: Path) -> None:
    assert set_aside(read_collection(birds)).digest == DIGEST
