"""Photos identified with their species in the knowledge base and without it, to fit a calibration of one's own.

A photo that is an anchor is identified without itself and its near-duplicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.arrays import IntArray
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Queries
from recognize.scoring.subset import without_anchors, without_species

N_GROUPS: Final = 50
"""Groups of species that are left out together. Each lacks at most a fiftieth of the other species, or of their
anchors, which costs far less than a variant of the knowledge base per photo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledVectors:
    """Vectors of photos with species of the knowledge base."""

    queries: Queries
    species: IntArray
    """Position of each photo's species in `KnowledgeStore.taxon_ids`."""
    same: tuple[IntArray, ...]
    """Rows of the anchors that show the same picture, for each photo."""

    def __len__(self) -> int:
        return len(self.species)

    def only(self, rows: IntArray) -> LabelledVectors:
        """Return some of the photos."""
        return LabelledVectors(
            queries=rows_of_queries(self.queries, rows),
            species=self.species[rows],
            same=tuple(self.same[row] for row in rows),
        )


Round = tuple[IntArray, Knowledge]
"""Some of the photos, and the knowledge base that identifies them."""


def known_rounds(knowledge: Knowledge, photos: LabelledVectors) -> Iterator[Round]:
    """Yield rounds in which each photo is identified once, without the anchors that show the same picture."""
    if not any(map(len, photos.same)):
        yield np.arange(len(photos)), knowledge
        return
    for group in _groups(photos.species):
        # At most one photo of a species in a round, so that it misses only the photo itself.
        turns = _turn_of(photos.species[group])
        for turn in range(int(turns.max()) + 1):
            round_ = group[turns == turn]
            yield round_, without_anchors(knowledge, np.concatenate([photos.same[photo] for photo in round_]))


def unknown_rounds(knowledge: Knowledge, photos: LabelledVectors, names: Sequence[str]) -> Iterator[Round]:
    """Yield rounds in which each photo is identified once, without its species.

    `names` are the scientific names of all species of the knowledge base.
    """
    for group in _groups(photos.species):
        yield group, without_species(knowledge, np.unique(photos.species[group]), names)


def _groups(species: IntArray) -> list[IntArray]:
    """Return the photos of each group of species; relatives, which are neighbours by name, go to different groups."""
    _, place = np.unique(species, return_inverse=True)
    return [found for group in range(N_GROUPS) if len(found := np.flatnonzero(place % N_GROUPS == group))]


def _turn_of(species: IntArray) -> IntArray:
    """Return for each photo the number of earlier photos of its species."""
    order = np.argsort(species, kind="stable")
    starts = np.searchsorted(species[order], species[order])
    turns = np.empty(len(species), dtype=np.intp)
    turns[order] = np.arange(len(species)) - starts
    return turns


def rows_of_queries(queries: Queries, rows: IntArray) -> Queries:
    """Return the vectors of some photos."""
    return Queries(text_image=tuple(vectors[rows] for vectors in queries.text_image), visual=queries.visual[rows])


def spread(species: IntArray, limit: int) -> IntArray:
    """Return at most `limit` photos, ascending: the first of each species, then the second of each, and so on."""
    order: Sequence[int] = np.lexsort((np.arange(len(species)), _turn_of(species))).tolist()
    return np.sort(np.array(order[:limit], dtype=np.intp))
