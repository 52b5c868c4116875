"""Protocol of measurements: folds over species, query photos and training photos of a collection.

Fixed, so that figures are comparable: five folds over species (*unseen*), one split of the query photos (*seen*), and
the guard against near-duplicates. `set_aside` names photos for published figures: no training, recipe, weight or
threshold may depend on them, and they are read once, when a recipe is final.
`python -m training.starter.protocol --data ../shared/birds` prints their digest.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import IntArray
from recognize.evaluation.collection import ANCHOR_SOURCES, MAX_ANCHORS, Collection, Photo, read_collection
from recognize.evaluation.picture_hash import near_duplicates, picture_hash

N_FOLDS = 5
N_TUNING = 200
NEW_SPECIES = 13  # of 256: five species in a hundred, all of their photos
KNOWN_PHOTOS = 26  # of 256: one photo in ten beyond the anchors of the other species
ASIDE_DIGEST = "8df04fdeaa79f9fea089170408f960338838a2938700131a281456e0fd88b90e"
"""`Aside.digest` of the second state of the bird data, set before the first training run on it."""


@dataclass(frozen=True)
class StudyCollection(Collection):
    """A collection under the protocol."""

    @cached_property
    def folds(self) -> IntArray:
        """Fold of each species of the vocabulary."""
        return np.array([fold_of(name) for name in self.vocabulary], dtype=np.intp)

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """The perceptual hash of each photo."""
        return np.array([perceptual_hash(self.folder / photo.path) for photo in self.photos], dtype=np.uint64)

    @cached_property
    def queries(self) -> IntArray:
        """Query photos for both anchor modes: `left_over` without near-duplicates of anchors."""
        anchors = self.anchors("three")
        return self.left_over[~near_duplicates(self.hashes[self.left_over], self.hashes[anchors])]

    @cached_property
    def tuning(self) -> IntArray:
        """Photos of the half that is not hidden, sorted: training photos of the shipped model but not of the folds."""
        n_hidden = len(self.hidden)
        return np.sort(self.shuffled[n_hidden : n_hidden + N_TUNING])

    def unseen_training(self, fold: int) -> IntArray:
        """Return the training photos of a model for queries of `fold`: all species of the other folds."""
        return np.flatnonzero([fold_of(photo.species) != fold for photo in self.photos])

    @cached_property
    def seen_training(self) -> IntArray:
        """Training photos of the shipped model: all but the hidden half and its near-duplicates."""
        rest = np.setdiff1d(np.arange(len(self.photos)), self.hidden)
        return rest[~near_duplicates(self.hashes[rest], self.hashes[self.hidden])]


def read_study_collection(folder: Path) -> StudyCollection:
    """Return the collection in `folder` under the protocol."""
    collection = read_collection(folder)
    return StudyCollection(collection.folder, collection.photos, collection.descriptions)


def fold_of(species: str) -> int:
    """Return the fold of a species: the first byte of the SHA-256 of its name, modulo five."""
    return hashlib.sha256(species.encode()).digest()[0] % N_FOLDS


def perceptual_hash(path: Path) -> int:
    """Return the `picture_hash` of a file."""
    with Image.open(path) as image:
        return picture_hash(image)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Paths of photos set aside, sorted."""

    new: tuple[str, ...]
    """All photos of species that no model may see."""
    known: tuple[str, ...]
    """Some photos of other species."""

    @property
    def digest(self) -> str:
        """SHA-256 of both lists of paths."""
        return hashlib.sha256("\n".join((*self.new, "", *self.known)).encode()).hexdigest()


def is_new(species: str) -> bool:
    """Return whether all photos of a species are set aside."""
    return _byte_of(species) < NEW_SPECIES


def set_aside(collection: Collection) -> Aside:
    """Return the photos that are set aside, chosen by hashes of names; their species need no description."""
    by_species: dict[str, list[Photo]] = defaultdict(list)
    for photo in collection.photos:
        by_species[photo.species].append(photo)
    rank = {source: i for i, source in enumerate(ANCHOR_SOURCES)}
    known: list[str] = []
    for species, photos in by_species.items():
        if not is_new(species):
            order = sorted(photos, key=lambda photo: (rank.get(photo.source, len(rank)), photo.path))
            known += [photo.path for photo in order[MAX_ANCHORS:] if _byte_of(photo.path) < KNOWN_PHOTOS]
    new = [photo.path for species, photos in by_species.items() if is_new(species) for photo in photos]
    return Aside(new=tuple(sorted(new)), known=tuple(sorted(known)))


def _byte_of(name: str) -> int:
    return hashlib.sha256(f"aside {name}".encode()).digest()[0]


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of photos.csv.")
def main(data: Path) -> None:
    """Print the numbers of photos set aside, and their digest."""
    aside = set_aside(read_collection(data))
    click.echo(f"{len(aside.new):,} photos of new species, {len(aside.known):,} of known ones; digest {aside.digest}")


if __name__ == "__main__":
    main()
