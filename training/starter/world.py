"""Models of the folds with photos that they were not trained on, for fitting the weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from data.arrays import IntArray
from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge
from training.collection import ANCHOR_SOURCES
from training.starter.study import Model, Study


@dataclass(frozen=True)
class World:
    """A model, all species of its collection, and photos that it was not trained on."""

    model: Model
    photos: IntArray
    """Photos to identify."""
    anchors: IntArray
    """Photos that may be anchors."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All species with photos or descriptions, sorted."""
        collection = self.model.collection
        return tuple(sorted({*collection.vocabulary, *(photo.species for photo in collection.photos)}))

    @cached_property
    def labels(self) -> IntArray:
        """Species of each photo."""
        row_of = {name: row for row, name in enumerate(self.names)}
        return np.array([row_of[photo.species] for photo in self.model.collection.photos], dtype=np.intp)

    @cached_property
    def prototype_rows(self) -> IntArray:
        """Row of each species among the model's prototypes, -1 for a new one."""
        row_of = {name: row for row, name in enumerate(self.model.heads.species)}
        return np.array([row_of.get(name, -1) for name in self.names], dtype=np.intp)

    @cached_property
    def _text_rows(self) -> IntArray:
        row_of = {name: row for row, name in enumerate(self.model.collection.vocabulary)}
        return np.array([row_of.get(name, -1) for name in self.names], dtype=np.intp)

    @cached_property
    def _anchors_of(self) -> dict[int, list[int]]:
        """Anchors of each species, those of the protocol first."""
        photos = self.model.collection.photos
        rank = {source: i for i, source in enumerate(ANCHOR_SOURCES)}
        order = sorted(self.anchors.tolist(), key=lambda i: (rank.get(photos[i].source, len(rank)), photos[i].path))
        found: dict[int, list[int]] = {}
        for photo in order:
            found.setdefault(int(self.labels[photo]), []).append(photo)
        return found

    def anchors_of(self, species: IntArray, n: int) -> tuple[IntArray, IntArray]:
        """Return up to `n` anchors of each of some species, and the position of each one's species."""
        chosen = [(i, photo) for i, each in enumerate(species) for photo in self._anchors_of.get(int(each), [])[:n]]
        pairs = np.array(chosen, dtype=np.intp).reshape(-1, 2)
        return pairs[:, 1], pairs[:, 0]

    def knowledge(self, species: IntArray, *, n_anchors: int, texts_of: IntArray) -> Knowledge:
        """Return the knowledge of some species, ascending.

        Args:
            species: the species.
            n_anchors: maximum number of anchors of each.
            texts_of: species with a text, if they are described.
        """
        model, heads = self.model, self.model.heads
        photos, owners = self.anchors_of(species, n_anchors)
        ids = tuple(str(photo) for photo in photos)
        described = np.flatnonzero((self._text_rows[species] >= 0) & np.isin(species, texts_of))
        texts = model.texts[self._text_rows[species[described]]]
        rows = self.prototype_rows[species]
        trained = np.flatnonzero(rows >= 0)
        background = np.setdiff1d(np.arange(len(heads.species)), rows)
        return Knowledge(
            n_species=len(species),
            names=("starter",),
            chunks=(VectorTable(ids=tuple(map(str, described)), owners=described, vectors=texts),),
            anchors=VectorTable(ids=ids, owners=owners, vectors=model.looks[photos]),
            images=(VectorTable(ids=ids, owners=owners, vectors=model.photos[photos]),),
            trained=trained,
            prototypes=heads.prototypes[rows[trained]],
            background=heads.prototypes[background],
            background_names=tuple(heads.species[row] for row in background),
        )


def world_of_fold(study: Study, fold: int) -> World:
    """Return the model of a fold with the photos for fitting: of species of the fold, and `tuning` ones.

    Of the `tuning` photos of species with two or three photos one in three is used: photos that people take are mostly
    of well-known species.
    """
    collection = study.collection
    free = np.setdiff1d(np.arange(len(collection.photos)), np.union1d(collection.hidden, collection.all_aside))
    known = set(study.folds[fold].heads.species)
    is_many = np.isin(collection.tuning, collection.left_over)
    many, few = collection.tuning[is_many], collection.tuning[~is_many]
    new = [i for i in free.tolist() if collection.photos[i].species not in known]
    return World(
        model=study.folds[fold],
        photos=np.unique(np.concatenate([np.array(new, dtype=np.intp), many, few[::3]])),
        anchors=np.setdiff1d(free, collection.tuning),
    )
