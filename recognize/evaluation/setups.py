"""Setups of an evaluation: preset, vocabulary and anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.arrays import IntArray
from data.contracts import KnowledgeStore
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.presets import check_contents
from recognize.scoring.subset import with_anchors, with_species
from recognize.settings import Vocabulary

KB_ANCHORS: Final = "kb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One setup of ranking the species of a knowledge base."""

    preset: str
    vocabulary: Vocabulary = "open"
    anchors: str = KB_ANCHORS
    """`kb` for the anchors of the knowledge base, or the name of an anchor set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """Photos that replace the anchors of a knowledge base."""

    covered: tuple[str, ...]
    """Taxon ids of species that lose their anchors, with or without a photo in their place."""
    photos: EncodedPhotos
    labels: tuple[str, ...]
    """The taxon id of each readable photo."""


class Variants:
    """The knowledge of a store under each setup; each is computed once."""

    def __init__(
        self,
        store: KnowledgeStore,
        knowledge: Knowledge,
        labels: Sequence[str],
        anchor_sets: Mapping[str, AnchorSet] | None = None,
    ) -> None:
        """Set up; `labels` are the taxon ids of the photos, which define the bounded vocabulary."""
        self._path, self._anchor_sets = store.path, anchor_sets or {}
        self._at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
        self.photo_species: IntArray = self._positions(labels)
        self._cache: dict[tuple[str, Vocabulary], Knowledge] = {(KB_ANCHORS, "open"): knowledge}

    def of(self, setup: Setup) -> Knowledge:
        """Return the knowledge that a setup compares photos with.

        Raises:
            UsageError: if the knowledge base lacks what the preset needs.
        """
        known = self._knowledge(setup.anchors, setup.vocabulary)
        check_contents(setup.preset, known, self._path)
        return known

    def _knowledge(self, anchors: str, vocabulary: Vocabulary) -> Knowledge:
        key = anchors, vocabulary
        if key not in self._cache:
            self._cache[key] = (
                with_species(self._knowledge(anchors, "open"), self.photo_species)
                if vocabulary == "bounded"
                else self._with_anchors(self._anchor_sets[anchors])
            )
        return self._cache[key]

    def _with_anchors(self, given: AnchorSet) -> Knowledge:
        owners = np.array([self._at.get(label, -1) for label in given.labels], dtype=np.intp)
        photos = given.photos.only(owners >= 0).queries
        known = self._knowledge(KB_ANCHORS, "open")
        return with_anchors(known, self._positions(given.covered), owners[owners >= 0], photos)

    def _positions(self, taxon_ids: Iterable[str]) -> IntArray:
        """Return the positions of the species in the store, ascending, each once."""
        return np.array(sorted({self._at[each] for each in taxon_ids if each in self._at}), dtype=np.intp)
