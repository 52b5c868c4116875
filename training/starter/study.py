"""Starter models under study: their knowledge of the protocol's species, and the ranks by each preset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray, as_unit_rows
from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import FusionWeights, default
from recognize.scoring.ranking import Ranking
from recognize.scoring.vr_rag import anchors_only, text_only, vr_rag_v1, vr_rag_v2
from recognize.starter.encoders import Heads, read_heads
from training.starter.fitting import Sample, as_fusion_weights, fit_weights, stage_scores
from training.starter.protocol import N_FOLDS, StudyCollection, read_study_collection

SETTINGS: Final = ("unseen", "seen")
ABSENT: Final = 1_000_000
"""Rank of a species that a preset did not rank."""


@dataclass(frozen=True)
class Model:
    """Trained heads, and the looks of queries and anchors."""

    collection: StudyCollection
    heads: Heads
    views: FloatArray
    """Looks of each photo and of the crop to its bird, `(2, n_photos, dim)`."""

    @cached_property
    def looks(self) -> FloatArray:
        """All photos in the visual space."""
        return as_unit_rows(self.views.mean(axis=0))

    @cached_property
    def photos(self) -> FloatArray:
        """All photos in the text-image space."""
        return as_unit_rows(np.mean([self.heads.shared(view) for view in self.views], axis=0))

    @cached_property
    def texts(self) -> FloatArray:
        """The descriptions of each species, in the text-image space."""
        sentences: dict[str, list[str]] = {name: [] for name in self.collection.vocabulary}
        for description in self.collection.descriptions:
            sentences[description.species] += description.sentences
        return self.heads.encode_texts(["\n".join(sentences[name]) for name in self.collection.vocabulary])

    def knowledge(self, mode: str, vocabulary: IntArray) -> Knowledge:
        """Return the knowledge of some species: one chunk each, and their anchors."""
        position = np.full(len(self.collection.vocabulary), -1, dtype=np.intp)
        position[vocabulary] = np.arange(len(vocabulary))
        anchors = np.setdiff1d(self.collection.anchors(mode), self.collection.all_aside, assume_unique=True)
        anchors = anchors[position[self.collection.labels[anchors]] >= 0]
        owners = position[self.collection.labels[anchors]]
        ids = tuple(self.collection.photos[i].path for i in anchors)
        row_of = {name: row for row, name in enumerate(self.heads.species)}
        names = [self.collection.vocabulary[i] for i in vocabulary]
        background = sorted(row for name, row in row_of.items() if name not in set(names))
        trained = np.array([i for i, name in enumerate(names) if name in row_of], dtype=np.intp)
        return Knowledge(
            n_species=len(vocabulary),
            names=("starter",),
            chunks=(VectorTable(ids=tuple(names), owners=np.arange(len(names)), vectors=self.texts[vocabulary]),),
            anchors=VectorTable(ids=ids, owners=owners, vectors=self.looks[anchors]),
            images=(VectorTable(ids=ids, owners=owners, vectors=self.photos[anchors]),),
            trained=trained,
            prototypes=self.heads.prototypes[[row_of[names[i]] for i in trained]],
            background=self.heads.prototypes[background],
            background_names=tuple(self.heads.species[row] for row in background),
        )

    def queries(self, photos: IntArray) -> Queries:
        """Return the vectors of some photos."""
        return Queries(text_image=(self.photos[photos],), visual=self.looks[photos])


Score = Callable[[Knowledge, Queries, FusionWeights], list[Ranking]]
ROWS: Final[dict[str, Score]] = {
    "text only": lambda k, q, w: text_only(k, q, m=100),
    "anchors only": lambda k, q, w: anchors_only(k, q, m=k.n_species * 3),
    "vr-rag-v1": lambda k, q, w: vr_rag_v1(k, q),
    "vr-rag-v2": lambda k, q, w: vr_rag_v2(k, q),
    "default": lambda k, q, w: default(k, q, weights=w),
}


def rank_of(ranking: Ranking, truth: int) -> int:
    """Return the rank of the right species, `ABSENT` if it was not ranked."""
    found = np.flatnonzero(ranking.species == truth)
    return int(found[0]) + 1 if len(found) else ABSENT


def ranks_of(rankings: Sequence[Ranking], truth: IntArray) -> IntArray:
    """Return the rank of the right species for each photo."""
    return np.array([rank_of(*pair) for pair in zip(rankings, truth, strict=True)], dtype=np.intp)


@dataclass(frozen=True)
class Study:
    """The shipped model, the models of the folds, and their ranks."""

    collection: StudyCollection
    seen: Model
    folds: tuple[Model, ...]
    twin: Model
    """The shipped model without the species set aside."""
    fitted: dict[str, list[FusionWeights]] = field(default_factory=dict)

    @cached_property
    def hidden(self) -> IntArray:
        """The queries of `seen`."""
        hidden: IntArray = np.intersect1d(self.collection.hidden, self.collection.queries)
        return hidden

    def fold_queries(self, fold: int) -> IntArray:
        """Return the queries of species that the model of the fold has not seen."""
        queries = self.collection.queries
        mine: IntArray = queries[self.collection.folds[self.collection.labels[queries]] == fold]
        return mine

    @cached_property
    def everything(self) -> IntArray:
        """All species: the open vocabulary."""
        return np.arange(len(self.collection.vocabulary))

    @cached_property
    def held(self) -> IntArray:
        """Photos left out of training for all folds, of species that most folds know."""
        held: IntArray = np.intersect1d(self.collection.tuning, self.collection.queries)
        return held

    def samples(self, mode: str, *, blind: bool = False) -> list[list[Sample]]:
        """Return the samples of each fold for fitting weights: species new to its model, and known ones, equally.

        `blind` removes the prototypes.
        """
        labels = self.collection.labels
        result = []
        for fold, model in enumerate(self.folds):
            new = self.fold_queries(fold)
            known = self.held[self.collection.folds[labels[self.held]] != fold]
            knowledge = model.knowledge(mode, self.everything)
            knowledge = without_prototypes(knowledge) if blind else knowledge
            result.append(
                [
                    Sample(stages=stage_scores(knowledge, model.queries(photos)), truth=labels[photos], share=0.5)
                    for photos in (new, known)
                ]
            )
        return result

    def nested_weights(self, mode: str, *, blind: bool = False) -> list[FusionWeights]:
        """Return for each fold the weights fitted without any photo of its species.

        Only the weights are nested: the models of the other folds were trained on photos of these species.
        """
        key = f"{mode}, blind" if blind else mode
        if key in self.fitted:
            return self.fitted[key]
        samples = self.samples(mode, blind=blind)
        nested = []
        for fold in range(N_FOLDS):
            chosen = []
            for other in range(N_FOLDS):
                if other == fold:
                    continue
                for sample in samples[other]:
                    others = self.collection.folds[sample.truth] != fold
                    chosen.append(Sample(stages=sample.stages[others], truth=sample.truth[others], share=sample.share))
            nested.append(as_fusion_weights(fit_weights(chosen)))
        self.fitted[key] = nested
        return nested

    def ranks(self, setting: str, mode: str, row: str, weights: Sequence[FusionWeights], *, bounded: bool) -> IntArray:
        """Return the ranks of the right species, for the photos of `queries_of(setting)`."""
        queries, labels, folds = self.queries_of(setting), self.collection.labels, self.collection.folds
        vocabulary = np.unique(labels[queries]) if bounded else self.everything
        ranks = np.full(len(queries), ABSENT, dtype=np.intp)
        for fold in range(N_FOLDS):
            mine = folds[labels[queries]] == fold
            model = self.seen if setting == "seen" else self.folds[fold]
            rankings = ROWS[row](model.knowledge(mode, vocabulary), model.queries(queries[mine]), weights[fold])
            ranks[mine] = ranks_of(rankings, np.searchsorted(vocabulary, labels[queries[mine]]))
        return ranks

    def mixed_ranks(self, mode: str, *, blind: bool) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
        """Return (photos, ranks) of species new to the folds' models, and of species that the same models know.

        The ranks are of the default preset, with `blind` without prototypes.
        """
        weights, labels, folds = self.nested_weights(mode, blind=blind), self.collection.labels, self.collection.folds
        photos: tuple[list[IntArray], list[IntArray]] = ([], [])
        ranks: tuple[list[IntArray], list[IntArray]] = ([], [])
        for fold, model in enumerate(self.folds):
            knowledge = model.knowledge(mode, self.everything)
            knowledge = without_prototypes(knowledge) if blind else knowledge
            for kind, queries in enumerate((self.fold_queries(fold), self.held)):
                for own in range(N_FOLDS):
                    mine = queries[folds[labels[queries]] == own]
                    if kind == 1 and own == fold:
                        continue
                    rankings = ROWS["default"](knowledge, model.queries(mine), weights[own])
                    photos[kind].append(mine)
                    ranks[kind].append(ranks_of(rankings, labels[mine]))
        new, known = ((np.concatenate(photos[kind]), np.concatenate(ranks[kind])) for kind in (0, 1))
        return new, known

    def queries_of(self, setting: str) -> IntArray:
        """Return the queries of a setting."""
        return self.hidden if setting == "seen" else self.collection.queries


def without_prototypes(knowledge: Knowledge) -> Knowledge:
    """Return the knowledge of an encoder with unknown training species."""
    return replace(
        knowledge,
        trained=np.empty(0, dtype=np.intp),
        prototypes=np.empty((0, knowledge.prototypes.shape[1]), np.float32),
        background=np.empty((0, knowledge.prototypes.shape[1]), np.float32),
        background_names=(),
    )


def read_study(data: Path, work: Path) -> Study:
    """Return the shipped model and the folds' models."""
    collection = read_study_collection(data)

    def model(name: str) -> Model:
        views = np.load(work / f"{name}.looks.npy").astype(np.float32)
        return Model(collection, read_heads(work / f"{name}.heads.npz"), views)

    folds = tuple(model(f"fold{fold}") for fold in range(N_FOLDS))
    return Study(collection, model("seen"), folds, twin=model("twin"))
