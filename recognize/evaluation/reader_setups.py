"""Setups of a reader: retrieval, descriptions and number of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from data.contracts import Encoders, KnowledgeStore
from data.records import Candidate
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.setups import Setup, rank_setup
from recognize.reader.candidate_context import CandidateContext
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Ranking
from recognize.settings import FORCED_PRESETS, ReaderContext

K_PAPER: Final = 10
K_COMPARED: Final = (5, 10, 15)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSetup:
    """One setup of a reader."""

    retrieval: Setup | None
    """Retrieval of candidates; None: the model names the species alone."""
    context: ReaderContext = "refined"
    k: int = K_PAPER
    forced: bool | None = None
    """Whether one of the candidates must be chosen; None: as the preset has it."""

    @property
    def is_forced(self) -> bool:
        """Whether the reader has to choose one of the candidates."""
        by_preset = self.retrieval is not None and self.retrieval.preset in FORCED_PRESETS
        return by_preset if self.forced is None else self.forced


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A photo with candidates and descriptions for the reader."""

    path: Path
    candidates: tuple[Candidate, ...] = ()
    texts: tuple[str | None, ...] = ()


def comparisons(best: Setup) -> list[ReaderSetup]:
    """Return the paper's comparisons: its own setup, no retrieval, direct RAG, other descriptions, other k.

    Args:
        best: the paper's retrieval, in the vocabulary and with the anchors to use.
    """
    contexts: tuple[ReaderContext, ...] = ("summary", "chunks", "article")
    return [
        ReaderSetup(retrieval=best),
        ReaderSetup(retrieval=None),
        ReaderSetup(retrieval=replace(best, preset="direct-rag")),
        *(ReaderSetup(retrieval=best, context=context) for context in contexts),
        *(ReaderSetup(retrieval=best, k=k) for k in K_COMPARED if k != K_PAPER),
    ]


def questions_of(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: EncodedPhotos,
    paths: Sequence[Path],
    setup: ReaderSetup,
    knowledge: Knowledge | None,
    contexts: Mapping[ReaderContext, CandidateContext],
) -> tuple[list[Question], list[str | None]]:
    """Return the question for each photo, and the first species of its re-ranked candidates."""
    if setup.retrieval is None or knowledge is None:
        return [Question(path=path) for path in paths], [None] * len(paths)
    ids = store.taxon_ids
    questions, firsts = [], []
    for path, ranking in zip(paths, rank_setup(knowledge, photos, setup.retrieval, encoders.profile), strict=True):
        species, chunks = shown_species(knowledge, ranking, setup.k)
        taxon_ids = [ids[i] for i in species]
        taxa = [entry.taxon for entry in store.species(taxon_ids)]
        candidates = tuple(
            Candidate(
                taxon_id=taxon.taxon_id,
                scientific_name=taxon.scientific_name,
                common_name=taxon.common_name,
                score=float(score),
            )
            for taxon, score in zip(taxa, ranking.scores, strict=False)
        )
        chunk_ids = [[knowledge.chunks[0].ids[row] for row in rows] for rows in chunks]
        texts = contexts[setup.context].texts(taxon_ids, chunk_ids)
        questions.append(Question(path=path, candidates=candidates, texts=tuple(texts)))
        firsts.append(ids[ranking.species[0]] if len(ranking.species) else None)
    return questions, firsts


def shown_species(knowledge: Knowledge, ranking: Ranking, k: int) -> tuple[list[int], list[list[int]]]:
    """Return the candidates for a reader, best first, and the rows of their chunks among the k best.

    For presets that rank chunks: the species of the k best chunks, each once; else the k best species, without chunks.

    Source: VR-RAG, section 5.3.
    """
    if not len(ranking.chunks):
        species = [int(i) for i in ranking.species[:k]]
        return species, [[] for _ in species]
    found: dict[int, list[int]] = {}
    for row in ranking.chunks[:k]:
        found.setdefault(int(knowledge.chunk_owners[row]), []).append(int(row))
    return list(found), list(found.values())
