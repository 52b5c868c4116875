"""Protocol of measurements: folds over species, query photos and training photos of a collection.

Fixed, so that figures are comparable: five folds over species (*unseen*), one split of the query photos (*seen*), and
the guard against near-duplicates.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import IntArray
from recognize.evaluation.collection import Collection, read_collection
from recognize.evaluation.picture_hash import near_duplicates, picture_hash

N_FOLDS = 5
N_TUNING = 200


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
