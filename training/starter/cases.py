"""Photos ranked with their species in the knowledge base and without it; calibration is fitted on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.records import taxon_id
from data.starter.knowledge import read_species
from recognize.confidence.calibration import N_JUDGED, Evidence, JudgedRank, Lineage, find_evidence
from recognize.scoring.fusion import FusionWeights, default
from recognize.scoring.pairs import Scores
from recognize.scoring.stages import Ranking
from training.starter.study import Model, Study


@dataclass(frozen=True)
class Lineages:
    """The lineage of each species of the protocol's vocabulary, from the facts that ship."""

    names: Sequence[str]

    @cached_property
    def all(self) -> list[Lineage]:
        """In the order of the vocabulary; the genus alone for the few names that the checklist has not."""
        taxa = {species.taxon.taxon_id: species.taxon for species in read_species()}
        found: list[Lineage] = []
        for name in self.names:
            taxon = taxa.get(taxon_id(name))
            found.append(taxon.lineage if taxon else {"genus": name.split()[0]})
        return found

    def same(self, species: IntArray, others: IntArray, rank: JudgedRank) -> NDArray[np.bool_]:
        """Return for each pair whether both are of the same species, genus or family."""
        same: NDArray[np.bool_] = np.equal(species, others)
        if rank != "species":
            names = np.array([lineage.get(rank, "") for lineage in self.all])
            same |= (names[species] == names[others]) & (names[species] != "")
        return same


@lru_cache(maxsize=2)
def lineages_of(names: tuple[str, ...]) -> Lineages:
    """Return the lineages of a vocabulary."""
    return Lineages(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One photo asked of one knowledge base."""

    truth: int
    """Its species, a position in the protocol's vocabulary."""
    ranking: Ranking
    trained: IntArray
    """The species that the model was trained on, positions in `kept`."""
    kept: IntArray
    """The species of the knowledge base, positions in the protocol's vocabulary, ascending."""
    lineages: Lineages

    @property
    def first(self) -> int:
        """The first species, a position in the protocol's vocabulary."""
        return int(self.kept[self.ranking.species[0]])

    def evidence(self, temperature: float) -> Evidence:
        """Return what its chances are made of."""
        return find_evidence(
            self.ranking,
            self.trained,
            lambda s: [self.lineages.all[i] for i in self.kept[s]],
            temperature=temperature,
        )

    def scores(self) -> tuple[Scores, int | None]:
        """Return the scores that are weighed against each other, and which is the right species', if any."""
        at = np.flatnonzero(self.kept[self.ranking.species[:N_JUDGED]] == self.truth)
        return self.ranking.scores[:N_JUDGED], int(at[0]) if len(at) else None


def ask(
    study: Study,
    model: Model,
    mode: str,
    photos: IntArray,
    weights: FusionWeights,
    *,
    is_absent: bool = False,
    vocabulary: IntArray | None = None,
) -> list[Case]:
    """Return the cases of some photos, in their order.

    Args:
        study: models and photos.
        model: the one that is asked.
        mode: `three` or `wiki`.
        photos: what it is asked.
        weights: of the default preset.
        is_absent: leave each photo's own species out of the knowledge base.
        vocabulary: the species of the knowledge base, ascending; all by default.
    """
    vocabulary = study.everything if vocabulary is None else vocabulary
    truth = study.collection.labels[photos]
    lineages = lineages_of(study.collection.vocabulary)
    cases: dict[int, Case] = {}
    groups = [(truth == species, vocabulary[vocabulary != species]) for species in np.unique(truth)]
    for mine, kept in groups if is_absent else [(np.ones(len(photos), dtype=bool), vocabulary)]:
        knowledge = model.knowledge(mode, kept)
        queries = model.queries(photos[mine])
        rankings = default(knowledge, queries, weights=weights, anchor_pooling="centroid", n_shown=N_JUDGED)
        for at, ranking in zip(np.flatnonzero(mine), rankings, strict=True):
            cases[int(at)] = Case(
                truth=int(truth[at]), ranking=ranking, trained=knowledge.trained, kept=kept, lineages=lineages
            )
    return [cases[at] for at in range(len(photos))]


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What parameters are fitted on: groups of cases that count the same as wholes."""

    present: tuple[Sequence[Case], ...]
    """Photos of species new to the models, and of species that they know; the species is in the knowledge base."""
    absent: tuple[Sequence[Case], ...]
    """The same photos, their species left out."""


def lesson(study: Study, mode: str, weights: FusionWeights, *, without: int | None = None) -> Lesson:
    """Return what to fit on: the models of the folds, asked for new species and for ones they know.

    Args:
        study: models and photos.
        mode: `three` or `wiki`.
        weights: of the default preset.
        without: a fold no photo of whose species is read; with None the hidden half is left out instead.
    """
    labels, folds = study.collection.labels, study.collection.folds
    groups: dict[bool, tuple[list[Case], list[Case]]] = {False: ([], []), True: ([], [])}
    for fold, model in enumerate(study.folds):
        asked = [study.fold_queries(fold), study.held[folds[labels[study.held]] != fold]]
        if without is None:
            asked[0] = np.setdiff1d(asked[0], study.collection.hidden)
        else:
            asked = [photos[folds[labels[photos]] != without] for photos in asked]
        for is_absent, group in groups.items():
            for cases, photos in zip(group, asked, strict=True):
                cases += ask(study, model, mode, photos, weights, is_absent=is_absent)
    return Lesson(present=groups[False], absent=groups[True])
