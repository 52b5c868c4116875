"""Kinship of photos with the genus, family and order of their first species, for birds outside the knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from recognize.confidence.evidence import N_JUDGED, SHARPNESS, has_background
from recognize.confidence.ranks import RANKS, JudgedRank, Lineage, lineage_of
from recognize.scoring.exact import rounded
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.pairs import Scores
from recognize.scoring.stages import Ranking


class Kinship:
    """Chance, by looks alone, that a bird outside the knowledge base belongs to the taxa of the first species.

    It is the softmax mass of a taxon among all species that the model or the knowledge base has looks of. For photos of
    species whose prototype was left out, orders with a mass of .40, .59, .82 and .97 were right for .48, .58, .80 and
    .97; families and genera less often. Without a background it is 1, but 0 for a taxon that all species of the
    knowledge base share, where nothing speaks for it but the choice of the species. No taxon has more than a taxon
    that it belongs to.
    """

    def __init__(self, knowledge: Knowledge, lineages: Callable[[IntArray], Sequence[Lineage]]) -> None:
        """Keep the knowledge base and the reader of the lineages of its species."""
        self._knowledge = knowledge
        self._lineages = lineages

    def of(self, rankings: Sequence[Ranking], visual: FloatArray) -> Scores:
        """Return the chances of the genus, family and order, `(n, 3)`; 0 for empty rankings and unnamed taxa.

        `visual` are the vectors of the photos in the visual space, `(n, dim)`.
        """
        found = np.zeros((len(rankings), len(RANKS) - 1))
        masses = self._masses(visual) if has_background(self._knowledge) else None
        for photo, ranking in enumerate(rankings):
            if not len(ranking.species):
                continue
            first, *others = self._lineages(ranking.species[:N_JUDGED])
            least = 1.0
            for step in reversed(range(len(RANKS) - 1)):
                rank, name = RANKS[step + 1], first.get(RANKS[step + 1])
                if not name:
                    chance = 0.0 if rank == RANKS[-1] else least
                elif masses is not None:
                    chance = float(masses[photo] @ (self._names[rank] == name))
                else:
                    is_shared = all(other.get(rank) == name for other in others) and self._taxa[rank] == {name}
                    chance = float(not is_shared)
                least = found[photo, step] = min(least, chance)
        return found

    def _masses(self, visual: FloatArray) -> Scores:
        """Return the softmax of the likeness of photos to all species with looks, `(n, n_looks)`."""
        prototypes, centroids, background = self._knowledge.exact_looks
        looks = np.concatenate([prototypes, centroids[self._is_new], background])
        cosines = rounded(visual.astype(np.float64) @ looks.T)
        weights = np.exp(SHARPNESS * (cosines - cosines.max(axis=1, keepdims=True)))
        masses: Scores = weights / weights.sum(axis=1, keepdims=True)
        return masses

    @property
    def _is_new(self) -> NDArray[np.bool_]:
        """Whether each species with anchors has no prototype."""
        knowledge = self._knowledge
        return knowledge.prototype_rows[knowledge.with_anchors] < 0

    @cached_property
    def _taxa(self) -> dict[JudgedRank, set[str | None]]:
        """Taxa of the species of the knowledge base at each rank."""
        lineages = self._lineages(np.arange(self._knowledge.n_species))
        return {rank: {lineage.get(rank) for lineage in lineages} for rank in RANKS[1:]}

    @cached_property
    def _names(self) -> dict[JudgedRank, NDArray[np.str_]]:
        """Name at each rank of all species with looks."""
        knowledge = self._knowledge
        held = self._lineages(np.concatenate([knowledge.trained, knowledge.with_anchors[self._is_new]]))
        lineages = [*held, *(lineage_of(name) for name in knowledge.background_names)]
        return {rank: np.array([lineage.get(rank, "") for lineage in lineages]) for rank in RANKS[1:]}
