"""A collection of labelled photos and descriptions, with its anchors and the photos hidden from the starter models."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from data.arrays import IntArray
from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines

MAX_ANCHORS = 3
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
    """Photos and descriptions. Species are positions in `vocabulary`."""

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

    def anchors(self, mode: str) -> IntArray:
        """Return the anchor photos of the vocabulary: `three` (at most 3 a species) or `wiki` (the lead image)."""
        chosen: list[int] = []
        by_species: dict[int, list[int]] = defaultdict(list)
        for i in np.flatnonzero(self.labels >= 0):
            by_species[int(self.labels[i])].append(int(i))
        for species in sorted(by_species):
            order = sorted(by_species[species], key=lambda i: anchor_order(self.photos[i]))
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
    def shuffled(self) -> IntArray:
        """The photos of `left_over` in a fixed random order; the first half is hidden."""
        order: IntArray = self.left_over[np.random.default_rng(0).permutation(len(self.left_over))]
        return order

    @cached_property
    def hidden(self) -> IntArray:
        """The half of `left_over` that the starter models were not trained on, sorted."""
        return np.sort(self.shuffled[: len(self.shuffled) // 2])


def anchor_order(photo: Photo) -> tuple[int, str]:
    """Return the sort key of a photo of a species; the first ones are its anchors."""
    is_known = photo.source in ANCHOR_SOURCES
    return ANCHOR_SOURCES.index(photo.source) if is_known else len(ANCHOR_SOURCES), photo.path


def read_collection(folder: Path) -> Collection:
    """Return the photos and descriptions in `folder`.

    Args:
        folder: contains `photos.csv` with the columns `path`, `scientific_name` and `source`, and `descriptions.jsonl`
            with the keys `scientific_name`, `source` and `sentences`.

    Raises:
        BadInput: if a file cannot be read or has another format.
    """
    file = folder / "photos.csv"
    try:
        with file.open(encoding="utf-8", newline="") as rows:
            photos = tuple(
                Photo(path=row["path"], species=row["scientific_name"], source=row["source"])
                for row in csv.DictReader(rows, restval="")
            )
        file = folder / "descriptions.jsonl"
        descriptions = tuple(
            Description(species=row["scientific_name"], source=row["source"], sentences=tuple(row["sentences"]))
            for row in map(load_json, read_lines(file))
        )
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise BadInput(f"{file} is not a file of a photo collection ({type(error).__name__}: {error})") from error
    return Collection(folder, photos, descriptions)
