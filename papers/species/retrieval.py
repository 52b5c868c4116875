"""Retrieval of species by single text-image encoders, pairs and all, each without and with the visual re-ranker.

Source: VR-RAG, tables 2, 4, 7 by descriptions, tables 1 and 8 by names. Table 4 re-ranks for all encoders only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Final, Literal

import numpy as np

from data.contracts import Encoders, KnowledgeStore, VectorTable
from data.metrics.ranked import hit, rank_of, reciprocal_rank
from papers.species.photos import MeasuredPhotos
from recognize.scoring.knowledge import (
    Knowledge,
    queries_of_encoders,
    read_knowledge,
    with_anchors,
    with_encoders,
    with_species,
)
from recognize.scoring.presets import Settings, check_contents, score
from recognize.scoring.ranking import Ranking

Texts = Literal["descriptions", "names"]
Vocabulary = Literal["open", "bounded"]
"""Possible answers: all species of the knowledge base, or those of the photos."""
Anchors = Literal["kb", "train"]
"""Reference photos: of the knowledge base, or training photos in place of those of their species."""
Row = dict[str, object]
"""Column -> value of one line of CSV."""

NAME_PROMPT: Final = "a photo of {name}"
"""Source: VR-RAG, section 1. Differs: without an article, which does not fit all names."""
PRESETS: Final = ("text-only", "vr-rag-v1")
POOL: Final = 30
"""Chunks; equal with and without re-ranker, so that it permutes the same chunks."""


def encoder_sets(n: int) -> list[tuple[int, ...]]:
    """Return each of n encoders alone, each pair, and all, by position.

    Example:
        >>> encoder_sets(3)
        [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    """
    sizes = [size for size in (1, 2) if size <= n] + ([n] if n > 2 else [])
    return [kept for size in sizes for kept in combinations(range(n), size)]


def retrieval_rows(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: MeasuredPhotos,
    *,
    texts: Texts,
    vocabularies: Sequence[Vocabulary],
    anchors: Sequence[Anchors],
) -> Iterator[Row]:
    """Yield a line for each set of encoders, vocabulary, kind of anchors, preset and measure.

    Raises:
        UsageError: if the knowledge base lacks what a preset needs.
    """
    knowledge, genus_of = read_knowledge(store, encoders), genera(store)
    if texts == "names":
        names = [entry.taxon.common_name for entry in store.species(store.taxon_ids)]
        knowledge = with_names(knowledge, names, encoders)
    at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
    asked = np.array(sorted({at[label] for label in photos.labels}), dtype=np.intp)
    for kept in encoder_sets(len(encoders.text_image)):
        queries = queries_of_encoders(photos.photos.queries, kept)
        for vocabulary, name in product(vocabularies, anchors):
            known = with_encoders(knowledge, kept)
            if name == "train" and photos.training is not None:
                owners = np.array([at[label] for label in photos.training_labels], dtype=np.intp)
                replacing = queries_of_encoders(photos.training.queries, kept)
                known = with_anchors(known, np.unique(owners), owners, replacing)
            known = with_species(known, asked) if vocabulary == "bounded" else known
            for preset in PRESETS if name == anchors[0] else PRESETS[1:]:  # the first uses no anchors
                check_contents(preset, known, store.path)
                ranked = score(preset, known, queries, Settings(m=POOL, profile=encoders.profile))
                rankings = [_named(ranking, known, store.taxon_ids) for ranking in ranked]
                place = {"vocabulary": vocabulary, "texts": texts, "preset": preset}
                place |= {"encoders": "+".join(known.names), "anchors": name}
                for measure, values in values_of(rankings, photos.labels, genus_of).items():
                    yield {**place, **figures(measure, values)}


def _named(ranking: Ranking, knowledge: Knowledge, taxon_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the ranked species of a photo, and those of its ranked chunks, with repeats."""
    chunks = knowledge.chunk_owners[ranking.chunks]
    return [taxon_ids[i] for i in ranking.species], [taxon_ids[i] for i in chunks]


def values_of(
    rankings: Sequence[tuple[list[str], list[str]]], labels: Sequence[str], genus_of: Mapping[str, str]
) -> dict[str, list[float]]:
    """Return measure -> value of each photo; the measures on chunks only if a ranking has chunks.

    `genus` is whether the first species has the right genus.
    """
    ranks = [rank_of(species, label) for (species, _), label in zip(rankings, labels, strict=True)]
    genera_of = [{genus_of[each] for each in species[:1]} for species, _ in rankings]
    values = {
        "top-1": [hit(rank, 1) for rank in ranks],
        "top-5": [hit(rank, 5) for rank in ranks],
        "hit@30": [hit(rank, 30) for rank in ranks],
        **{f"MRR@{k}": [reciprocal_rank(rank, k) for rank in ranks] for k in (1, 5, 10)},
        "genus": [float(genus_of[label] in found) for found, label in zip(genera_of, labels, strict=True)],
    }
    if any(chunks for _, chunks in rankings):
        chunk_ranks = [rank_of(chunks, label) for (_, chunks), label in zip(rankings, labels, strict=True)]
        values |= {f"chunk MRR@{k}": [reciprocal_rank(rank, k) for rank in chunk_ranks] for k in (1, 5, 10)}
    return values


def genera(store: KnowledgeStore) -> dict[str, str]:
    """Return the genus of each species of the store."""
    taxa = [entry.taxon for entry in store.species(store.taxon_ids)]
    return {taxon.taxon_id: taxon.lineage.get("genus") or taxon.scientific_name.split()[0] for taxon in taxa}


def figures(measure: str, values: Sequence[float]) -> Row:
    """Return the columns of a measure with its mean over photos."""
    return {"measure": measure, "n_photos": len(values), "micro": float(np.mean(values))}


def with_names(knowledge: Knowledge, names: Sequence[str], encoders: Encoders) -> Knowledge:
    """Return the knowledge with the text `a photo of NAME` for each species in place of descriptions.

    Source: VR-RAG, section C of the supplement.
    """
    texts = [NAME_PROMPT.format(name=name) for name in names]
    owners = np.arange(len(names), dtype=np.intp)
    ids = tuple(map(str, owners))
    tables = (VectorTable(ids=ids, owners=owners, vectors=each.encode_texts(texts)) for each in encoders.text_image)
    return replace(knowledge, chunks=tuple(tables))
