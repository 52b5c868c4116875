"""Search for species by name or description."""

from __future__ import annotations

import numpy as np

from data.contracts import TextEncoder
from data.records import TaxonMatch
from kb.checklist.names import fold
from kb.lookup.bm25 import tokens
from kb.lookup.findings import check_encoder, vector_of
from kb.lookup.index import LookupIndex, index_of
from kb.store.knowledge_base import KnowledgeBase

# Weights of words and vectors; a name counts more than any description.
WORDS_SHARE = 0.65
VECTOR_SHARE = 0.35
MIN_SIMILARITY = 0.35


def search(store: KnowledgeBase, text: str, encoder: TextEncoder, *, n: int = 10) -> list[TaxonMatch]:
    """Return up to `n` species that match a name or description, best first, ties by name.

    The score adds points for a name in the text (0.8 to 2), the BM25 score of the words of name and summary (up to
    0.65), and the cosine of text and summary (up to 0.35).

    Args:
        store: open knowledge base.
        text: a name, part of a name, or a description such as "red crest and black face".
        encoder: sentence encoder of the knowledge base.
        n: largest number of species.

    Raises:
        SpaceMismatch: for another encoder.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> _ = kb.build("birds.kb", source.drawn_taxa()[:4], source, encoders)
        >>> with kb.open("birds.kb") as store:
        ...     kb.search(store, "red shoulder patch", encoders.sentence, n=1)[0].common_name
        'Red-winged Blackbird'
    """
    if n < 1:
        raise ValueError(f"expected n of at least 1, got {n}")
    check_encoder(store, encoder)
    if not text.strip():
        return []
    index = index_of(store)
    row_of = {taxon.taxon_id: row for row, taxon in enumerate(index.taxa)}
    words = tokens(text)
    scores = WORDS_SHARE * index.summaries.scores(words).astype(np.float64)
    vector = vector_of(encoder, text)
    for taxon_id, similarity in store.query_species(vector, max(50, 5 * n)) if vector is not None and row_of else []:
        row = row_of.get(taxon_id)
        if row is None:  # during a build, Chroma is ahead of the open state
            continue
        if scores[row] > 0 or similarity >= MIN_SIMILARITY:
            scores[row] += VECTOR_SHARE * max(similarity, 0.0)
    for taxon_id, points in _name_points(index, text).items():
        scores[row_of[taxon_id]] += points
    rows = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], index.taxa[row].common_name))
    return [
        TaxonMatch(
            taxon_id=index.taxa[row].taxon_id,
            scientific_name=index.taxa[row].scientific_name,
            common_name=index.taxa[row].common_name,
            rank=index.taxa[row].rank,
            score=round(float(scores[row]), 6),
        )
        for row in rows[:n]
    ]


def _name_points(index: LookupIndex, text: str) -> dict[str, float]:
    """Return taxon_id -> points of the species named in the text."""
    wanted = fold(text)
    points: dict[str, float] = {}
    for mention in index.names.find(text):
        if mention.kind == "species":
            points[mention.ids[0]] = 2.0 if fold(mention.text) == wanted else 1.5
        elif mention.kind == "group":
            points |= {taxon_id: max(points.get(taxon_id, 0.0), 1.0) for taxon_id in mention.ids}
    if len(wanted) >= 3:
        for taxon in index.taxa:
            if any(fold(name).startswith(wanted) for name in (*taxon.common_names, taxon.scientific_name)):
                points[taxon.taxon_id] = max(points.get(taxon.taxon_id, 0.0), 1.2)
    if not points and len(text.split()) <= 5:
        points = {taxon_id: likeness for taxon_id, likeness in index.names.closest(text)}
    return points
