"""Protocol of measurements: anchor photos, query photos, training photos.

Fixed, so that figures are comparable: vocabulary, anchor modes, five folds over species (*unseen*), one split of the
query photos (*seen*), and the guard against near-duplicates.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import IntArray
from recognize.evaluation.picture_hash import near_duplicates, picture_hash

N_FOLDS = 5
MAX_ANCHORS = 3
N_TUNING = 200
ANCHOR_SOURCES = ("wikipedia_lead_na", "danish_birds", "euro30_cc")
"""Order of sources for anchors; all others follow, by path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Photo:
    """A photo; `path` is relative to the folder of the collection."""

    path: str
    species: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Sentences on the appearance of a species from one source."""

    species: str
    source: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Collection:
    """Photos and descriptions under the protocol. Species are positions in `vocabulary`."""

    folder: Path
    photos: tuple[Photo, ...]
    descriptions: tuple[Description, ...]

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The open vocabulary: all species with a description, sorted."""
        return tuple(sorted({description.species for description in self.descriptions}))

    @cached_property
    def labels(self) -> IntArray:
        """Species of each photo, -1 outside the vocabulary."""
        position = {name: i for i, name in enumerate(self.vocabulary)}
        return np.array([position.get(photo.species, -1) for photo in self.photos], dtype=np.intp)

    @cached_property
    def folds(self) -> IntArray:
        """Fold of each species of the vocabulary."""
        return np.array([fold_of(name) for name in self.vocabulary], dtype=np.intp)

    @cached_property
    def photo_folds(self) -> IntArray:
        """Fold of the species of each photo, in the vocabulary or not."""
        return np.array([fold_of(photo.species) for photo in self.photos], dtype=np.intp)

    def anchors(self, mode: str) -> IntArray:
        """Return the anchor photos of the vocabulary: `three` (at most 3 a species) or `wiki` (the lead image)."""
        rank = {source: i for i, source in enumerate(ANCHOR_SOURCES)}
        chosen: list[int] = []
        by_species: dict[int, list[int]] = defaultdict(list)
        for i in np.flatnonzero(self.labels >= 0):
            by_species[int(self.labels[i])].append(int(i))
        for species in sorted(by_species):
            order = sorted(
                by_species[species], key=lambda i: (rank.get(self.photos[i].source, 99), self.photos[i].path)
            )
            if mode == "wiki":
                order = [i for i in order if self.photos[i].source == ANCHOR_SOURCES[0]]
            chosen += order[:MAX_ANCHORS] if mode == "three" else order[:1]
        return np.array(chosen, dtype=np.intp)

    @cached_property
    def left_over(self) -> IntArray:
        """Photos of the vocabulary outside the anchors `three`, sorted by path."""
        rest = np.setdiff1d(np.flatnonzero(self.labels >= 0), self.anchors("three"))
        return np.array(sorted(rest, key=lambda i: self.photos[i].path), dtype=np.intp)

    @cached_property
    def queries(self) -> IntArray:
        """Query photos for both anchor modes: `left_over` without near-duplicates of anchors."""
        anchors = self.anchors("three")
        return self.left_over[~near_duplicates(self.hashes[self.left_over], self.hashes[anchors])]

    @cached_property
    def hidden(self) -> IntArray:
        """The half of `left_over` that is hidden from the *seen* model, sorted."""
        order = np.random.default_rng(0).permutation(len(self.left_over))
        return np.sort(self.left_over[order[: len(order) // 2]])

    @cached_property
    def tuning(self) -> IntArray:
        """Photos of the other half, sorted, for tuning: training photos of the shipped model but not of the folds."""
        order = np.random.default_rng(0).permutation(len(self.left_over))
        n_hidden = len(order) // 2
        return np.sort(self.left_over[order[n_hidden : n_hidden + N_TUNING]])

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """The perceptual hash of each photo."""
        return np.array([perceptual_hash(self.folder / photo.path) for photo in self.photos], dtype=np.uint64)

    def unseen_training(self, fold: int) -> IntArray:
        """Return the training photos of a model for queries of `fold`: all species of the other folds."""
        return np.flatnonzero(self.photo_folds != fold)

    @cached_property
    def seen_training(self) -> IntArray:
        """Training photos of the shipped model: all but the hidden half and its near-duplicates."""
        rest = np.setdiff1d(np.arange(len(self.photos)), self.hidden)
        return rest[~near_duplicates(self.hashes[rest], self.hashes[self.hidden])]


def read_collection(folder: Path) -> Collection:
    """Return the photos and descriptions in `folder` (`photos.csv`, `descriptions.jsonl`)."""
    with (folder / "photos.csv").open(encoding="utf-8", newline="") as file:
        photos = tuple(
            Photo(path=row["path"], species=row["scientific_name"], source=row["source"])
            for row in csv.DictReader(file)
        )
    with (folder / "descriptions.jsonl").open(encoding="utf-8") as file:
        descriptions = tuple(
            Description(species=row["scientific_name"], source=row["source"], sentences=tuple(row["sentences"]))
            for row in map(json.loads, file)
        )
    return Collection(folder, photos, descriptions)


def fold_of(species: str) -> int:
    """Return the fold of a species: the first byte of the SHA-256 of its name, modulo five."""
    return hashlib.sha256(species.encode()).digest()[0] % N_FOLDS


def perceptual_hash(path: Path) -> int:
    """Return the `picture_hash` of a file."""
    with Image.open(path) as image:
        return picture_hash(image)
