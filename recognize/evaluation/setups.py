"""Setups of an evaluation: preset, vocabulary, texts, anchors and encoders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal

import numpy as np

from data.arrays import IntArray
from data.contracts import Encoders, KnowledgeStore
from data.errors import UsageError
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.scoring.knowledge import Knowledge, read_knowledge
from recognize.scoring.presets import Settings, check_contents, check_preset, score
from recognize.scoring.stages import Ranking
from recognize.scoring.subset import (
    queries_of_encoders,
    with_anchors,
    with_encoders,
    with_named_chunks,
    with_names,
    with_species,
)

Vocabulary = Literal["open", "bounded"]
Texts = Literal["descriptions", "names", "names+descriptions"]

KB_ANCHORS: Final = "kb"
_ABLATION_POOL: Final = 30  # the paper's; equal with and without re-ranker, so that it permutes the same chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One setup of ranking the species of a knowledge base."""

    preset: str
    vocabulary: Vocabulary = "open"
    texts: Texts = "descriptions"
    """Texts that photos are compared with."""
    anchors: str = KB_ANCHORS
    """`kb` for the anchors of the knowledge base, or the name of an anchor set."""
    encoders: tuple[int, ...] | None = None
    """Positions of the text-image encoders in use; None for all."""
    m: int | None = None
    """Size of the pool; None for the preset's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """Photos that replace the anchors of a knowledge base."""

    covered: tuple[str, ...]
    """Taxon ids of species that lose their anchors, with or without a photo in their place."""
    photos: EncodedPhotos
    labels: tuple[str, ...]
    """The taxon id of each readable photo."""


def ablation(n_encoders: int, *, vocabulary: Vocabulary = "open", texts: Texts = "descriptions") -> list[Setup]:
    """Return each text-image encoder alone, each pair, and all, each without and with the visual re-ranker.

    Last, all with the name before each description, if descriptions are compared.

    Source: VR-RAG, table 4, which has the re-ranker for all encoders only. Chunks are ranked, 30 in the pool. The rows
    with names are ours: the paper leaves names out since new species are found every year.
    """
    everything = range(n_encoders)
    sizes = [size for size in (1, 2) if size <= n_encoders] + ([n_encoders] if n_encoders > 2 else [])
    presets = ("text-only", "vr-rag-v1")
    found = [
        Setup(preset=preset, vocabulary=vocabulary, texts=texts, encoders=kept, m=_ABLATION_POOL)
        for size in sizes
        for kept in combinations(everything, size)
        for preset in presets
    ]
    if texts != "descriptions":
        return found
    every = tuple(everything)
    named = [replace(found[0], preset=preset, texts="names+descriptions", encoders=every) for preset in presets]
    return found + named


class Variants:
    """The knowledge of a store under each setup; each is computed once."""

    def __init__(
        self,
        store: KnowledgeStore,
        encoders: Encoders,
        labels: Sequence[str],
        anchor_sets: Mapping[str, AnchorSet] | None = None,
    ) -> None:
        """Set up; `labels` are the taxon ids of the photos, which define the bounded vocabulary."""
        self._store, self._encoders, self._anchor_sets = store, encoders, anchor_sets or {}
        self._at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
        self.photo_species: IntArray = self._positions(labels)
        self._cache: dict[tuple[Texts, str, Vocabulary], Knowledge] = {}

    def of(self, setup: Setup) -> Knowledge:
        """Return the knowledge that a setup compares photos with.

        Raises:
            UsageError: if the knowledge base lacks what the preset needs, or the anchor set is unknown.
        """
        known = self._knowledge(setup.texts, setup.anchors, setup.vocabulary)
        check_contents(setup.preset, known, self._store.path)
        return known if setup.encoders is None else with_encoders(known, setup.encoders)

    def _knowledge(self, texts: Texts, anchors: str, vocabulary: Vocabulary = "open") -> Knowledge:
        key = texts, anchors, vocabulary
        if key not in self._cache:
            self._cache[key] = self._compute(*key)
        return self._cache[key]

    def _compute(self, texts: Texts, anchors: str, vocabulary: Vocabulary) -> Knowledge:
        if vocabulary == "bounded":
            return with_species(self._knowledge(texts, anchors), self.photo_species)
        if anchors != KB_ANCHORS:
            given = self._anchor_sets.get(anchors)
            if given is None:
                raise UsageError(f"Unknown anchor set {anchors!r}. Expected one of: {', '.join(self._anchor_sets)}.")
            owners = np.array([self._at.get(label, -1) for label in given.labels], dtype=np.intp)
            photos = given.photos.only(owners >= 0).queries
            known = self._knowledge(texts, KB_ANCHORS)
            return with_anchors(known, self._positions(given.covered), owners[owners >= 0], photos)
        if texts == "names":
            names = [entry.taxon.common_name for entry in self._store.species(self._store.taxon_ids)]
            return with_names(self._knowledge("descriptions", KB_ANCHORS), names, self._encoders)
        if texts == "names+descriptions":
            names = [entry.taxon.common_name for entry in self._store.species(self._store.taxon_ids)]
            known = self._knowledge("descriptions", KB_ANCHORS)
            return with_named_chunks(known, names, self._store.chunk_texts, self._encoders)
        return read_knowledge(self._store, self._encoders)

    def _positions(self, taxon_ids: Iterable[str]) -> IntArray:
        """Return the positions of the species in the store, ascending, each once."""
        return np.array(sorted({self._at[each] for each in taxon_ids if each in self._at}), dtype=np.intp)


def rank_setup(known: Knowledge, photos: EncodedPhotos, setup: Setup, profile: str) -> list[Ranking]:
    """Return the ranking of each photo against `Variants.of(setup)`."""
    settings = Settings(m=setup.m, profile=profile)
    check_preset(setup.preset, settings)
    queries = photos.queries if setup.encoders is None else queries_of_encoders(photos.queries, setup.encoders)
    return score(setup.preset, known, queries, settings)
