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
from recognize.encoded_photos import near_duplicates, picture_hash
from training.collection import ANCHOR_SOURCES, MAX_ANCHORS, Collection, Photo, read_collection

N_FOLDS = 5
SEEN = "seen"
TWIN = "twin"
N_TUNING = 600
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
        """Query photos for both anchor modes: `left_over` without near-duplicates of anchors and photos set aside."""
        anchors = self.anchors("three")
        found = self.left_over[~near_duplicates(self.hashes[self.left_over], self.hashes[anchors])]
        return found[~np.isin(found, self.all_aside)]

    @cached_property
    def aside(self) -> Aside:
        """The photos set aside."""
        return set_aside(self)

    @cached_property
    def aside_new(self) -> IntArray:
        """Photos of the species set aside."""
        return self._at(self.aside.new)

    @cached_property
    def aside_known(self) -> IntArray:
        """Photos set aside of other species."""
        return self._at(self.aside.known)

    def _at(self, paths: tuple[str, ...]) -> IntArray:
        wanted = frozenset(paths)
        return np.flatnonzero([photo.path in wanted for photo in self.photos])

    @cached_property
    def tuning(self) -> IntArray:
        """Photos for training of the shipped model but not of the folds, sorted; neither hidden nor set aside.

        One half are of species with many photos, by chance. The others are of species with two or three, the last by
        the order of anchors, so that confidences are fitted on little known species too.
        """
        rest = self.shuffled[len(self.hidden) :]
        many = rest[~np.isin(rest, self.all_aside)][: N_TUNING // 2]
        by_species: dict[str, list[int]] = defaultdict(list)
        for i in self._without(np.union1d(self.hidden, self.all_aside)).tolist():
            by_species[self.photos[i].species].append(i)
        few = [max(found, key=self._anchor_rank) for _, found in sorted(by_species.items()) if 2 <= len(found) <= 3]
        drawn = np.random.default_rng(1).permutation(np.array(few, dtype=np.intp))
        return np.union1d(many, drawn[: N_TUNING // 2])

    def _anchor_rank(self, i: int) -> tuple[int, str]:
        photo = self.photos[i]
        rank = {source: at for at, source in enumerate(ANCHOR_SOURCES)}
        return rank.get(photo.source, len(rank)), photo.path

    @cached_property
    def calibration(self) -> IntArray:
        """The photos that are neither hidden nor set aside, in random order: for ranges of quantised models."""
        rest = np.setdiff1d(np.arange(len(self.photos)), np.union1d(self.hidden, self.all_aside))
        return np.random.default_rng(0).permutation(rest)

    @cached_property
    def all_aside(self) -> IntArray:
        """All photos set aside, sorted."""
        return np.union1d(self.aside_new, self.aside_known)

    def unseen_training(self, fold: int) -> IntArray:
        """Return the training photos of the model of `fold`: all of the other folds, but for `tuning` and set aside."""
        others = np.flatnonzero([fold_of(photo.species) != fold for photo in self.photos])
        return np.setdiff1d(np.intersect1d(self._without(self.all_aside), others), self.tuning)

    @cached_property
    def seen_training(self) -> IntArray:
        """Training photos of the shipped model: all but the hidden half, photos set aside of known species, and copies.

        The species set aside are trained on; the figures of new species are of a twin without them.
        """
        return self._without(np.union1d(self.hidden, self.aside_known))

    @cached_property
    def twin_training(self) -> IntArray:
        """`seen_training` without the species set aside."""
        return self._without(np.union1d(self.hidden, self.all_aside))

    def _without(self, left_out: IntArray) -> IntArray:
        rest = np.setdiff1d(np.arange(len(self.photos)), left_out)
        return rest[~near_duplicates(self.hashes[rest], self.hashes[left_out])]


def read_study_collection(folder: Path) -> StudyCollection:
    """Return the collection in `folder` under the protocol."""
    collection = read_collection(folder)
    return StudyCollection(collection.folder, collection.photos, collection.descriptions)


def fold_of(species: str) -> int:
    """Return the fold of a species: the first byte of the SHA-256 of its name, modulo five."""
    return hashlib.sha256(species.encode()).digest()[0] % N_FOLDS


def model_names() -> list[str]:
    """Return the models: `seen`, `twin`, and `fold0` to `fold4`."""
    return [SEEN, TWIN, *(f"fold{fold}" for fold in range(N_FOLDS))]


def training_photos(collection: StudyCollection, name: str) -> IntArray:
    """Return the training photos of a model.

    The models of folds also leave out the `tuning` photos, so that weights and confidences can be fitted on known
    species (these) and on new ones (those of the fold).
    """
    if name == SEEN:
        return collection.seen_training
    if name == TWIN:
        return collection.twin_training
    return collection.unseen_training(int(name.removeprefix("fold")))


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
