"""Photos ranked with their species in the knowledge base, or without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from data.arrays import IntArray
from data.records import taxon_id
from data.starter.knowledge import read_species
from recognize.answers import JudgedRank, Lineage
from recognize.confidence.evidence import N_JUDGED, find_evidence
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import FusionWeights, default
from recognize.scoring.ranking import Ranking, Scores
from training.starter.study import Model, Study


@lru_cache(maxsize=2)
def lineages_of(names: tuple[str, ...]) -> list[Lineage]:
    """Return the lineage of each species name by the shipped facts; the genus alone of names without facts."""
    taxa = {species.taxon.taxon_id: species.taxon for species in read_species()}
    return [taxa[taxon_id(name)].lineage if taxon_id(name) in taxa else {"genus": name.split()[0]} for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Ranking of a photo by one knowledge base. Species are positions in the protocol's vocabulary."""

    truth: int
    ranking: Ranking
    queries: Queries
    """Vectors of the photo."""
    knowledge: Knowledge
    vocabulary: IntArray
    """The species of the knowledge base, ascending."""
    lineages: Sequence[Lineage]

    @property
    def first(self) -> int:
        """The first species."""
        return int(self.vocabulary[self.ranking.species[0]])

    def is_right(self, rank: JudgedRank) -> bool:
        """Return whether the first species, or its genus or family, is right."""
        if rank == "species":
            return self.first == self.truth
        name = self.lineages[self.truth].get(rank, "")
        return self.first == self.truth or (name != "" and self.lineages[self.first].get(rank) == name)

    def evidence(self, temperature: float) -> Scores:
        """Return the features of the photo."""
        lineages = self.lineages
        rows: Scores = find_evidence(
            [self.ranking], self.queries, self.knowledge, lambda s: [lineages[i] for i in self.vocabulary[s]],
            temperature=temperature,
        ).rows[0]  # fmt: skip
        return rows

    def scores(self) -> tuple[Scores, int | None]:
        """Return the scores of the candidates, and the position of the right species among them, if any."""
        at = np.flatnonzero(self.vocabulary[self.ranking.species[:N_JUDGED]] == self.truth)
        return self.ranking.scores[:N_JUDGED], int(at[0]) if len(at) else None


def ask(
    study: Study,
    model: Model,
    mode: str,
    photos: IntArray,
    weights: FusionWeights,
    *,
    is_unknown: bool = False,
    vocabulary: IntArray | None = None,
) -> list[Case]:
    """Return the cases of some photos, in their order.

    Args:
        study: models and photos.
        model: model to ask.
        mode: `three` or `wiki`.
        photos: photos to identify.
        weights: weights of the default preset.
        is_unknown: leave each photo's own species out of the knowledge base.
        vocabulary: species of the knowledge base, ascending; default: all.
    """
    vocabulary = study.everything if vocabulary is None else vocabulary
    truth = study.collection.labels[photos]
    lineages = lineages_of(study.collection.vocabulary)
    cases: dict[int, Case] = {}
    groups = [(truth == species, vocabulary[vocabulary != species]) for species in np.unique(truth)]
    for mine, included in groups if is_unknown else [(np.ones(len(photos), dtype=bool), vocabulary)]:
        knowledge = model.knowledge(mode, included)
        queries = model.queries(photos[mine])
        rankings = default(knowledge, queries, weights=weights)
        for row, (at, ranking) in enumerate(zip(np.flatnonzero(mine), rankings, strict=True)):
            cases[int(at)] = Case(
                truth=int(truth[at]), ranking=ranking, queries=queries[slice(row, row + 1)], knowledge=knowledge,
                vocabulary=included, lineages=lineages,
            )  # fmt: skip
    return [cases[at] for at in range(len(photos))]
