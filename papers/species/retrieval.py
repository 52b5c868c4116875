"""Retrieval of species by single text-image encoders, pairs and all, each without and with the visual re-ranker.

Source: VR-RAG, tables 2, 4, 7 by descriptions, tables 1 and 8 by names. Table 4 re-ranks for all encoders only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, Literal

import numpy as np

from data.contracts import Encoders, KnowledgeStore, VectorTable
from recognize.evaluation.comparison import AnchorSet, Variants, genera, values_of_species
from recognize.evaluation.labelled import MeasuredPhotos, setups_of
from recognize.recognizer import name_species
from recognize.scoring.knowledge import Knowledge, queries_of_encoders, read_knowledge, with_encoders
from recognize.scoring.presets import Settings, score
from recognize.settings import Vocabulary

Texts = Literal["descriptions", "names"]
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
    anchors: Sequence[str],
) -> Iterator[Row]:
    """Yield a line for each set of encoders, setup and measure."""
    knowledge, genus_of = read_knowledge(store, encoders), genera(store)
    if texts == "names":
        names = [entry.taxon.common_name for entry in store.species(store.taxon_ids)]
        knowledge = with_names(knowledge, names, encoders)
    for kept in encoder_sets(len(encoders.text_image)):
        sets = {name: _narrowed(given, kept) for name, given in photos.anchor_sets.items()}
        variants = Variants(store, with_encoders(knowledge, kept), photos.labels, sets)
        queries = queries_of_encoders(photos.photos.queries, kept)
        for setup in setups_of(PRESETS, vocabularies, anchors):
            known = variants.of(setup)
            ranked = score(setup.preset, known, queries, Settings(m=POOL, profile=encoders.profile))
            rankings = [name_species(ranking, known, store.taxon_ids) for ranking in ranked]
            for measure, values in values_of_species(rankings, photos.labels, genus_of).items():
                yield {
                    "vocabulary": setup.vocabulary,
                    "texts": texts,
                    "preset": setup.preset,
                    "encoders": "+".join(known.names),
                    "anchors": setup.anchors,
                    **figures(measure, values),
                }


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


def _narrowed(given: AnchorSet, kept: Sequence[int]) -> AnchorSet:
    """Return an anchor set in the spaces of some of the text-image encoders."""
    queries = queries_of_encoders(given.photos.queries, kept)
    return replace(given, photos=replace(given.photos, queries=queries))
