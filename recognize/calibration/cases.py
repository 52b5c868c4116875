"""Evidence of labelled photos, each identified with its species in the knowledge base and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.records import Taxon
from recognize.answers import RANKS, JudgedRank, Lineage, lineage_with_self
from recognize.confidence.evidence import FEATURES, N_JUDGED, find_evidence
from recognize.scoring.exact import Scores
from recognize.scoring.knowledge import Knowledge, Queries, without_anchors, without_species
from recognize.scoring.presets import Settings, score
from recognize.scoring.stages import Ranking

OnProgress = Callable[[str, int, int], None]
"""Gets (noun, done, total)."""

_DIGITS: Final = 6  # of the temperature


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Evidence of n photos with their species in the knowledge base and without it."""

    species: IntArray
    """`(n,)`."""
    held: Scores
    """`(n, n_features)`, with the species."""
    not_held: Scores
    """`(n, n_features)`, without it."""
    is_right: Mapping[JudgedRank, Truths]
    """Whether the first species, its genus, family and order are right, `(n,)`."""
    is_right_without: Mapping[JudgedRank, Truths]
    """The same of genus, family and order without the species."""

    def __len__(self) -> int:
        return len(self.species)

    def only(self, rows: IntArray) -> Cases:
        """Return some of the photos."""
        return Cases(
            species=self.species[rows],
            held=self.held[rows],
            not_held=self.not_held[rows],
            is_right={rank: found[rows] for rank, found in self.is_right.items()},
            is_right_without={rank: found[rows] for rank, found in self.is_right_without.items()},
        )


class Identifier:
    """Identifies labelled photos with their species in the knowledge base and without it."""

    def __init__(
        self, preset: str, settings: Settings, knowledge: Knowledge, photos: LabelledVectors,
        taxa: Sequence[Taxon], *, on_progress: OnProgress = lambda *_: None,
    ) -> None:  # fmt: skip
        """Keep what is to be identified.

        `settings` have the weights of the whole knowledge base, and `taxa` are all its species.
        """
        self._preset = preset
        self._settings = replace(settings, n_shown=max(settings.n_shown, N_JUDGED))
        self._knowledge = knowledge
        self._photos = photos
        self._names = [taxon.scientific_name for taxon in taxa]
        self._lineages = [lineage_with_self(taxon) for taxon in taxa]
        self._on_progress = on_progress

    def _ranked(self, rounds: Iterator[Round], noun: str) -> Iterator[tuple[Round, list[Ranking]]]:
        done = 0
        for photos, knowledge in rounds:
            queries = self._photos.queries[photos]
            yield (photos, knowledge), score(self._preset, knowledge, queries, self._settings)
            done += len(photos)
            self._on_progress(noun, done, len(self._photos))

    def fit_temperature(self) -> float:
        """Return the temperature at which the softmax of the scores fits best."""
        cases = []
        for (photos, _), rankings in self._ranked(known_rounds(self._knowledge, self._photos), "scale"):
            for truth, ranking in zip(self._photos.species[photos], rankings, strict=True):
                at = np.flatnonzero(ranking.species[:N_JUDGED] == truth)
                cases.append((ranking.scores[:N_JUDGED], int(at[0]) if len(at) else None, 1.0))
        return round(fit_temperature(cases), _DIGITS)

    def cases(self, temperature: float) -> Cases:
        """Return the evidence of all photos at a temperature."""
        rounds = known_rounds(self._knowledge, self._photos), unknown_rounds(self._knowledge, self._photos, self._names)
        held, is_right = self._evidence(rounds[0], temperature, "with species")
        not_held, right_without = self._evidence(rounds[1], temperature, "without")
        return Cases(
            species=self._photos.species,
            held=held,
            not_held=not_held,
            is_right=is_right,
            is_right_without={rank: right_without[rank] for rank in RANKS[1:]},
        )

    def _evidence(
        self, rounds: Iterator[Round], temperature: float, noun: str
    ) -> tuple[Scores, dict[JudgedRank, Truths]]:
        n = len(self._photos)
        rows = np.zeros((n, len(FEATURES)))
        is_right: dict[JudgedRank, Truths] = {rank: np.zeros(n, dtype=np.bool_) for rank in RANKS}
        for (photos, knowledge), rankings in self._ranked(rounds, noun):
            queries = self._photos.queries[photos]
            found = find_evidence(rankings, queries, knowledge, self._lineages_of, temperature=temperature)
            rows[photos] = found.rows
            for photo, ranking in zip(photos.tolist(), rankings, strict=True):
                if len(ranking.species):
                    for rank in RANKS:
                        is_right[rank][photo] = self._is_right(rank, photo, int(ranking.species[0]))
        return rows, is_right

    def _lineages_of(self, species: IntArray) -> list[Lineage]:
        return [self._lineages[i] for i in species.tolist()]

    def _is_right(self, rank: JudgedRank, photo: int, first: int) -> bool:
        truth = int(self._photos.species[photo])
        if rank == "species" or first == truth:
            return first == truth
        name = self._lineages[truth].get(rank)
        return name is not None and self._lineages[first].get(rank) == name


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
            queries=self.queries[rows],
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


def spread(species: IntArray, limit: int) -> IntArray:
    """Return at most `limit` photos, ascending: the first of each species, then the second of each, and so on."""
    order: Sequence[int] = np.lexsort((np.arange(len(species)), _turn_of(species))).tolist()
    return np.sort(np.array(order[:limit], dtype=np.intp))


Truths = NDArray[np.bool_]


def fit_temperature(cases: Iterable[tuple[Scores, int | None, float]]) -> float:
    """Return the temperature with the highest likelihood from 0.002 to 20, by golden section: one for cosines too.

    Args:
        cases: for each photo the scores of its candidates, the position of the right one, and its weight; photos
            without the right one are ignored.
    """
    ranked: Sequence[tuple[Scores, int, float]] = [(scores, at, share) for scores, at, share in cases if at is not None]

    def loss(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return float(sum(w * (np.logaddexp.reduce(s * scale) - s[at] * scale) for s, at, w in ranked))

    ratio = (np.sqrt(5) - 1) / 2
    low, high = -6.0, 3.0
    for _ in range(32):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))
