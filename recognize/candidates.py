"""The candidates of a photo: the first species of a ranking, with what the knowledge base says of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray
from data.contracts import KnowledgeStore
from data.records import AnchorMatch, Candidate, SpeciesEntry, Taxon
from recognize.confidence.calibration import Lineage
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.pairs import dot_rows
from recognize.scoring.stages import Ranking

_MOST_KEPT: Final = 4_000  # species that are kept in memory, some 10 MB
_DIGITS: Final = 6  # of the scores shown; float32 has no more to say


@dataclass(frozen=True, slots=True)
class _Known:
    """What the rows of a species have in common."""

    taxon: Taxon
    summary: str | None
    anchors: tuple[tuple[str, str | None], ...]
    """Ids and credits, in the order of their vectors."""
    vectors: FloatArray


class CandidateMaker:
    """Makes candidates; what it read of a species is kept, since birds come again.

    Args:
        store: what is known.
        knowledge: the vectors of that store.
    """

    def __init__(self, store: KnowledgeStore, knowledge: Knowledge) -> None:
        self._store = store
        self._knowledge = knowledge
        self._vectors = np.asarray(knowledge.anchors.vectors)  # a slice of a memory map takes several times as long
        self._known: dict[int, _Known] = {}
        self._lineages: dict[int, Lineage] = {}

    def read(self, species: Iterable[int]) -> None:
        """Read what `candidates` and `taxon` will be asked for, by position, in one go."""
        if len(self._known) > _MOST_KEPT:
            self._known = {}
        new = sorted(set(species) - self._known.keys())
        entries = self._store.species([self._store.taxon_ids[i] for i in new])
        self._known |= {i: self._what_is_known(i, entry) for i, entry in zip(new, entries, strict=True)}

    def taxon(self, species: int) -> Taxon:
        """Return the taxon of a species that was read."""
        return self._known[species].taxon

    def lineages(self, species: IntArray) -> list[Lineage]:
        """Return the lineages of some species; each is read once."""
        wanted: list[int] = species.tolist()
        new = [i for i in wanted if i not in self._lineages]
        if new:
            for i, entry in zip(new, self._store.species([self._store.taxon_ids[i] for i in new]), strict=True):
                self._lineages[i] = entry.taxon.lineage
        return [self._lineages[i] for i in wanted]

    def candidates(self, ranking: Ranking, query: FloatArray, *, n: int) -> tuple[Candidate, ...]:
        """Return the first `n` species of a ranking, which must have been read.

        Args:
            ranking: of one photo.
            query: its vector in the visual space.
            n: at most so many.
        """
        species: list[int] = ranking.species[:n].tolist()
        scores: list[float] = ranking.scores[:n].tolist()
        stages: dict[str, list[float]] = {stage: given[:n].tolist() for stage, given in ranking.stages.items()}
        boosts = stages.get("list")
        made = []
        for rank, (i, score) in enumerate(zip(species, scores, strict=True)):
            known = self._known[i]
            made.append(
                Candidate(
                    taxon_id=known.taxon.taxon_id,
                    scientific_name=known.taxon.scientific_name,
                    common_name=known.taxon.common_name,
                    score=round(score, _DIGITS),
                    scores={stage: _shown(given[rank]) for stage, given in stages.items()},
                    score_without_list=None if boosts is None else round(score - boosts[rank], _DIGITS),
                    anchors=_anchor_matches(known, query),
                    summary=known.summary,
                )
            )
        return tuple(made)

    def _what_is_known(self, species: int, entry: SpeciesEntry) -> _Known:
        first, end = self._knowledge.anchor_starts[species : species + 2]
        credits = {anchor.anchor_id: anchor.credit for anchor in entry.anchors}
        return _Known(
            taxon=entry.taxon,
            summary=entry.summary.text if entry.summary else None,
            anchors=tuple((id, credits.get(id)) for id in self._knowledge.anchors.ids[first:end]),
            vectors=self._vectors[first:end],
        )


def _anchor_matches(known: _Known, query: FloatArray) -> tuple[AnchorMatch, ...]:
    """Return the species' anchors, the most similar first."""
    similarities: list[float] = dot_rows(known.vectors, query).tolist()
    matches = [
        AnchorMatch(id=id, similarity=round(similarity, _DIGITS), credit=credit)
        for (id, credit), similarity in zip(known.anchors, similarities, strict=True)
    ]
    matches.sort(key=lambda match: -match.similarity)
    return tuple(matches)


def _shown(score: float) -> float | None:
    return None if score != score else round(score, _DIGITS)  # NaN: nothing to compare with
