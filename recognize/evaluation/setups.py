"""Setups of an evaluation: preset, vocabulary, texts, anchors and encoders, and the knowledge base under each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np

from data.arrays import IntArray
from data.contracts import Encoders, KnowledgeStore
from data.errors import UsageError
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.scoring.knowledge import Knowledge, read_knowledge
from recognize.scoring.presets import Settings, find_preset
from recognize.scoring.stages import Ranking
from recognize.scoring.subset import queries_of_encoders, with_anchors, with_encoders, with_names, with_species
from recognize.settings import CHUNK_PRESETS

Vocabulary = Literal["open", "bounded"]
Texts = Literal["descriptions", "names"]

KB_ANCHORS: Final = "kb"
_ABLATION_POOL: Final = 30  # the paper's; equal with and without re-ranker, so that it permutes the same chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One setup of ranking the species of a knowledge base."""

    preset: str
    vocabulary: Vocabulary = "open"
    texts: Texts = "descriptions"
    anchors: str = KB_ANCHORS
    """`kb` for the anchors of the knowledge base, or the name of an anchor set."""
    encoders: tuple[int, ...] | None = None
    """Positions of the text-image encoders in use; None for all."""
    m: int | None = None
    """Size of the pool; None for the preset's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """Photos that replace a knowledge base's anchors: training photos of a dataset, or those of its wiki."""

    covered: tuple[str, ...]
    """Taxon ids of the species whose anchors are replaced, with or without a photo in their place."""
    photos: EncodedPhotos
    labels: tuple[str, ...]
    """The taxon id of each readable photo."""


def ablation(n_encoders: int, *, vocabulary: Vocabulary = "open", texts: Texts = "descriptions") -> list[Setup]:
    """Return each text-image encoder alone, each pair, and all, each without and with the visual re-ranker.

    Source: VR-RAG, table 4, which has the re-ranker for all encoders only. Chunks are ranked, 30 in the pool.
    """
    everything = range(n_encoders)
    sizes = [size for size in (1, 2) if size <= n_encoders] + ([n_encoders] if n_encoders > 2 else [])
    return [
        Setup(preset=preset, vocabulary=vocabulary, texts=texts, encoders=kept, m=_ABLATION_POOL)
        for size in sizes
        for kept in combinations(everything, size)
        for preset in ("text-only", "vr-rag-v1")
    ]


class Variants:
    """The knowledge of a store under each setup; names are encoded once."""

    def __init__(
        self,
        store: KnowledgeStore,
        encoders: Encoders,
        labels: Sequence[str],
        anchor_sets: Mapping[str, AnchorSet] | None = None,
    ) -> None:
        """Read the store; `labels` are the taxon ids of the photos, which define the bounded vocabulary."""
        self._store, self._encoders = store, encoders
        self._at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
        self.asked: IntArray = self._positions(labels)
        self._anchor_sets = anchor_sets or {}
        self._stored = read_knowledge(store, encoders)
        self._whole: dict[tuple[Texts, str], Knowledge] = {("descriptions", KB_ANCHORS): self._stored}
        self._bounded: dict[tuple[Texts, str], Knowledge] = {}

    def of(self, setup: Setup) -> Knowledge:
        """Return the knowledge that a setup scores photos against.

        Raises:
            UsageError: if the knowledge base lacks what the preset needs, or the anchor set is unknown.
        """
        key = setup.texts, setup.anchors
        known = self._texts(setup.texts) if setup.anchors == KB_ANCHORS else self._with_set(setup)
        if setup.preset in CHUNK_PRESETS and not len(known.chunk_owners):
            raise UsageError(f"the preset {setup.preset} starts from texts, and {self._store.path} holds none")
        if setup.preset == "anchors-only" and not len(known.anchors.owners):
            raise UsageError(f"the preset anchors-only needs anchors, and {self._store.path} holds none")
        if setup.vocabulary == "bounded":
            if key not in self._bounded:
                self._bounded[key] = with_species(known, self.asked)
            known = self._bounded[key]
        return known if setup.encoders is None else with_encoders(known, setup.encoders)

    def _texts(self, texts: Texts) -> Knowledge:
        key = texts, KB_ANCHORS
        if key not in self._whole:
            names = [entry.taxon.common_name for entry in self._store.species(self._store.taxon_ids)]
            self._whole[key] = with_names(self._stored, names, self._encoders)
        return self._whole[key]

    def _with_set(self, setup: Setup) -> Knowledge:
        key = setup.texts, setup.anchors
        if key not in self._whole:
            given = self._anchor_sets.get(setup.anchors)
            if given is None:
                raise UsageError(f"expected an anchor set ({', '.join(self._anchor_sets)}), got {setup.anchors!r}")
            owners = np.array([self._at.get(label, -1) for label in given.labels], dtype=np.intp)
            photos = given.photos.only(owners >= 0).queries
            self._whole[key] = with_anchors(
                self._texts(setup.texts), self._positions(given.covered), owners[owners >= 0], photos
            )
        return self._whole[key]

    def _positions(self, taxon_ids: Iterable[str]) -> IntArray:
        """Return the positions of the species in the store, ascending, each once."""
        return np.array(sorted({self._at[each] for each in taxon_ids if each in self._at}), dtype=np.intp)


def rank_setup(known: Knowledge, photos: EncodedPhotos, setup: Setup, profile: str) -> list[Ranking]:
    """Return the ranking of each photo against `Variants.of(setup)`."""
    settings = Settings(m=setup.m, profile=profile)
    queries = photos.queries if setup.encoders is None else queries_of_encoders(photos.queries, setup.encoders)
    return find_preset(setup.preset, settings)(known, queries, settings)
