"""Ways of having photos read: how candidates are found, what the reader is told of them, and how many it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from data.contracts import Encoders, KnowledgeStore
from data.records import Candidate
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.setups import Setup, rank_setup
from recognize.reader.candidate_context import Context, Told
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Ranking

K_PAPER: Final = 10
K_COMPARED: Final = (5, 10, 15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of having photos read."""

    setup: Setup | None
    """How candidates are found; None for no retrieval: the model names the species by itself."""
    context: Context = "refined"
    k: int = K_PAPER


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A photo with what the reader is shown beside it."""

    path: Path
    candidates: tuple[Candidate, ...] = ()
    texts: tuple[str | None, ...] = ()


def comparisons(best: Setup = Setup(preset="vr-rag-v1")) -> list[Way]:  # noqa: B008  # frozen
    """Return the paper's comparisons: its own way, without retrieval, direct RAG, other texts, and other k.

    Args:
        best: the paper's own way of finding candidates, in the vocabulary and with the anchors that are wanted.
    """
    contexts: tuple[Context, ...] = ("summary", "chunks", "article")
    return [
        Way(setup=best),
        Way(setup=None),
        Way(setup=replace(best, preset="direct-rag")),
        *(Way(setup=best, context=context) for context in contexts),
        *(Way(setup=best, k=k) for k in K_COMPARED if k != K_PAPER),
    ]


def questions_of(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: EncodedPhotos,
    paths: Sequence[Path],
    way: Way,
    known: Knowledge | None,
    told: Mapping[Context, Told],
) -> tuple[list[Question], list[str | None]]:
    """Return what is shown with each photo, and the re-ranked first species of each."""
    if way.setup is None or known is None:
        return [Question(path=path) for path in paths], [None] * len(paths)
    ids = store.taxon_ids
    questions, firsts = [], []
    for path, ranking in zip(paths, rank_setup(known, photos, way.setup, encoders.profile), strict=True):
        species, chunks = shown_species(known, ranking, way.k)
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
        chunk_ids = [[known.chunks[0].ids[row] for row in rows] for rows in chunks]
        texts = told[way.context].texts(taxon_ids, chunk_ids)
        questions.append(Question(path=path, candidates=candidates, texts=tuple(texts)))
        firsts.append(ids[ranking.species[0]] if len(ranking.species) else None)
    return questions, firsts


def shown_species(knowledge: Knowledge, ranking: Ranking, k: int) -> tuple[list[int], list[list[int]]]:
    """Return the species that a reader is shown, best first, and the rows of each one's chunks among the k best.

    Where a preset ranks chunks, these are the species of the k best chunks, each once; else the k best species, and no
    chunks.

    Source: VR-RAG, section 5.3.
    """
    if not len(ranking.chunks):
        species = [int(i) for i in ranking.species[:k]]
        return species, [[] for _ in species]
    found: dict[int, list[int]] = {}
    for row in ranking.chunks[:k]:
        found.setdefault(int(knowledge.chunk_owners[row]), []).append(int(row))
    return list(found), list(found.values())
