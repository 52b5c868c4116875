"""Candidates of a photo: the first species of a ranking with names, summaries and anchors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray
from data.contracts import KnowledgeStore
from data.records import AnchorMatch, Answer, Candidate, SpeciesEntry, Taxon
from recognize.answers import RANKS, UNKNOWN_FROM, Lineage, lineage_with_self, rank_of
from recognize.confidence.calibration import Chances
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.ranking import Ranking

_CACHED: Final = 4_000  # species in memory
_DIGITS: Final = 6  # of scores in results, the precision of float32


class CandidateMaker:
    """Makes candidates from a knowledge base and its vectors; species are cached."""

    def __init__(self, store: KnowledgeStore, knowledge: Knowledge) -> None:
        self._store = store
        self._knowledge = knowledge
        self._vectors = np.asarray(knowledge.anchors.vectors)  # faster slices than of a memory map
        self._cache: dict[int, SpeciesEntry] = {}

    def read(self, species: Iterable[int]) -> dict[int, SpeciesEntry]:
        """Return the species at these positions, reading those missing from the cache in one query."""
        wanted = sorted(set(species))
        cache = self._cache  # another thread, or another stream of photos, may start a new one
        new = [i for i in wanted if i not in cache]
        if new and len(cache) > _CACHED:
            cache, new = {}, wanted
            self._cache = cache
        entries = self._store.species([self._store.taxon_ids[i] for i in new])
        cache.update(zip(new, entries, strict=True))
        return {i: cache[i] for i in wanted}

    def taxon(self, species: int) -> Taxon:
        """Return the taxon of a species."""
        return self.read([species])[species].taxon

    def lineages(self, species: IntArray) -> list[Lineage]:
        """Return the lineages of entries; a genus or family is part of its own."""
        wanted: list[int] = species.tolist()
        entries = self.read(wanted)
        return [lineage_with_self(entries[i].taxon) for i in wanted]

    def candidates(
        self,
        ranking: Ranking,
        query: FloatArray,
        *,
        places: Sequence[int],
        confidences: Sequence[float] = (),
    ) -> tuple[Candidate, ...]:
        """Return the species at some places of a photo's ranking.

        `query` is the vector of the photo in the visual space, `(dim,)`; `confidences` are those of the first species.
        """
        at = np.array(places, dtype=np.intp)
        species: list[int] = ranking.species[at].tolist()
        scores: list[float] = ranking.scores[at].tolist()
        stages: dict[str, list[float]] = {stage: given[at].tolist() for stage, given in ranking.stages.items()}
        boosts = stages.get("list")
        entries = self.read(species)
        made = []
        for rank, (i, score) in enumerate(zip(species, scores, strict=True)):
            entry = entries[i]
            made.append(
                Candidate(
                    taxon_id=entry.taxon.taxon_id,
                    scientific_name=entry.taxon.scientific_name,
                    common_name=entry.taxon.common_name,
                    score=round(score, _DIGITS),
                    scores={stage: _shown(given[rank]) for stage, given in stages.items()},
                    score_without_list=None if boosts is None else round(score - boosts[rank], _DIGITS),
                    anchors=self._anchor_matches(i, entry, query),
                    summary=entry.summary.text if entry.summary else None,
                    confidence=confidences[places[rank]] if confidences else None,
                    family=entry.taxon.lineage.get("family"),
                    order=entry.taxon.lineage.get("order"),
                    taxon_rank=rank_of(entry.taxon.rank),
                )
            )
        return tuple(made)

    def _anchor_matches(self, species: int, entry: SpeciesEntry, query: FloatArray) -> tuple[AnchorMatch, ...]:
        """Return the species' anchors, the most similar first."""
        first, end = self._knowledge.anchor_starts[species : species + 2]
        credits = {anchor.anchor_id: anchor.credit for anchor in entry.anchors}
        similarities: list[float] = (self._vectors[first:end].astype(np.float64) @ query.astype(np.float64)).tolist()
        matches = [
            AnchorMatch(id=id, similarity=round(similarity, _DIGITS), credit=credits.get(id))
            for id, similarity in zip(self._knowledge.anchors.ids[first:end], similarities, strict=True)
        ]
        return tuple(sorted(matches, key=lambda match: -match.similarity))


def _shown(score: float) -> float | None:
    return None if isnan(score) else round(score, _DIGITS) + 0.0  # NaN: the stage does not apply; -0.0 becomes 0.0


def answer_of(
    first: Taxon | None,
    chances: Chances | None,
    lineage: Lineage,
    *,
    min_confidence: float,
    likest: Taxon | None = None,
) -> Answer:
    """Return the answer for a photo.

    Without chances it is the first species with a null confidence. With them it is `none` with the chance of a species
    outside the knowledge base, if that is more than `UNKNOWN_FROM` and the look is not poor; else the lowest rank of
    the first species with enough confidence; else `none` without a confidence. An entry that is a genus or family is
    named at its own rank or above, never as a species.

    Args:
        first: first species of the ranking, or entry of a higher rank.
        chances: its chances.
        lineage: its lineage, with itself if it is of a higher rank.
        min_confidence: minimum confidence of an answer.
        likest: species outside the knowledge base that the photo resembles most.
    """
    if first is None:
        return Answer(rank="none", name="")
    family, order = lineage.get("family"), lineage.get("order")
    own = rank_of(first.rank)
    if chances is None:
        return Answer(
            rank=own, name=first.scientific_name, common_name=first.common_name,
            family=None if own == "order" else family, order=order,
        )  # fmt: skip
    if chances.unknown > UNKNOWN_FROM and not chances.is_poor:
        alike = {} if likest is None else {"looks_like": likest.scientific_name}
        if likest is not None and likest.common_names:
            alike["looks_like_common_name"] = likest.common_names[0]
        return Answer(rank="none", name="", confidence=chances.unknown, p_unknown=chances.unknown, **alike)
    for rank in RANKS[RANKS.index(own) :]:
        name = first.scientific_name if rank == own else lineage.get(rank)
        if name is not None and chances.right(rank) >= min_confidence:
            return Answer(
                rank=rank, name=name, common_name=first.common_name if rank == own else None,
                confidence=chances.right(rank), p_unknown=chances.unknown, family=None if rank == "order" else family,
                order=order,
            )  # fmt: skip
    return Answer(rank="none", name="", p_unknown=chances.unknown)
