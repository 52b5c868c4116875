"""VR-RAG on arrays: the pipeline of the paper, the later one of its authors, and single stages."""

from __future__ import annotations

from typing import Final

from data.arrays import FloatArray
from recognize.scoring.knowledge import Knowledge, Queries, check_queries, queries_of_encoders, with_encoders
from recognize.scoring.ranking import (
    Pairs,
    Ranking,
    anchored,
    best_rows,
    cosines,
    mean_of,
    or_zero,
    pair_cosines,
    rank_blocks,
    rankings,
    taken,
    text_cosines,
)

_MOST_ANCHORS: Final = 3  # of a species: VR-RAG, section 5.2


def vr_rag_v1(knowledge: Knowledge, queries: Queries, *, m: int = 30) -> list[Ranking]:
    """Return for each photo the species of the re-ranked summary chunks.

    The score of a chunk, s_c, is the mean over encoders of the raw cosine; the `m` best chunks are the pool. s_i is the
    mean cosine of the photo to the first three anchors of the chunk's species, 0 without anchors. Chunks are ranked by
    s = s_c + s_i; a species takes rank and scores of its best chunk. Equal scores keep the order of rows.

    Source: VR-RAG, sections 5.1 (eq. 1), 5.2 (eq. 2), 5.3; m from section 6.1. The paper specifies neither the pooling
        of anchors nor species without anchors (here s_i = 0). The anchors are the first ones of the
        store, not a random sample.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    return _rank_chunks(knowledge, queries, knowledge.mean_anchors(_MOST_ANCHORS), m=m)


def text_only(knowledge: Knowledge, queries: Queries, *, m: int = 100) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks by text alone: the first stage of vr-rag-v1.

    Source: VR-RAG, section 5.1 (eq. 1); the rows without re-ranker of its table 4.
    """
    check_queries(queries.text_image, knowledge.chunks)
    return _rank_chunks(knowledge, queries, None, m=m)


def direct_rag(knowledge: Knowledge, queries: Queries, *, m: int = 30) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks by the first text-image encoder alone.

    Source: VR-RAG, table 3, direct RAG, with CLIP as the encoder.
    """
    return text_only(with_encoders(knowledge, (0,)), queries_of_encoders(queries, (0,)), m=m)


def _rank_chunks(knowledge: Knowledge, queries: Queries, looks: FloatArray | None, *, m: int) -> list[Ranking]:
    """Return the species of the `m` best chunks, re-ranked by one vector a species if these are given."""

    def rank(block: Queries) -> list[Ranking]:
        by_encoder = text_cosines(knowledge, block)
        text = mean_of(by_encoder)
        pool = best_rows(text, m)
        species = Pairs(pool.photos, knowledge.chunk_owners[pool.items])
        s_c = taken(text, pool)
        named = {name: taken(scores, pool) for name, scores in zip(knowledge.names, by_encoder, strict=True)}
        if looks is None:
            return rankings(len(block), species, s_c, {"text": s_c, **named}, chunks=pool.items)
        s_i = pair_cosines(block.visual, looks, anchored(species, knowledge))
        stages = {"text": s_c, "visual": s_i, **named}
        return rankings(len(block), species, s_c + or_zero(s_i), stages, chunks=pool.items)

    return rank_blocks(queries, rank)


def vr_rag_v2(knowledge: Knowledge, queries: Queries, *, m: int = 100) -> list[Ranking]:
    """Return for each photo the species ranked by one blended vector per encoder and one visual vector.

    s_c is the mean over encoders of the product with (text + image) / 2, not normalised; the `m` best species are the
    pool, ranked by 0.7 s_c + 0.3 s_i. The text of a species is the mean of its chunks, its image and its visual vector
    the mean of its anchors, zero if missing. Species without text and anchors are skipped.

    Source: the later code of the authors of VR-RAG (m = 100, weights 0.7 and 0.3, k = 5). It reads one prepared vector
        per species; the means over chunks and anchors are our choice.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    looks = knowledge.mean_anchors()

    def rank(block: Queries) -> list[Ranking]:
        by_encoder = [cosines(*pair) for pair in zip(block.text_image, knowledge.blends, strict=True)]
        text = mean_of(by_encoder)
        pool = best_rows(text, m)
        species = Pairs(pool.photos, knowledge.blended[pool.items])
        s_c, s_i = taken(text, pool), pair_cosines(block.visual, looks, anchored(species, knowledge))
        named = {name: taken(scores, pool) for name, scores in zip(knowledge.names, by_encoder, strict=True)}
        total = 0.7 * s_c + 0.3 * or_zero(s_i)
        return rankings(len(block), species, total, {"text": s_c, "visual": s_i, **named})

    return rank_blocks(queries, rank)


def anchors_only(knowledge: Knowledge, queries: Queries, *, m: int = 100) -> list[Ranking]:
    """Return for each photo the species of the `m` best anchors, by the best of their anchors alone."""
    check_queries((queries.visual,), (knowledge.anchors,))

    def rank(block: Queries) -> list[Ranking]:
        scores = cosines(block.visual, knowledge.anchors.vectors)
        pool = best_rows(scores, m)
        s_i = taken(scores, pool)
        species = Pairs(pool.photos, knowledge.anchors.owners[pool.items])
        return rankings(len(block), species, s_i, {"visual": s_i})

    return rank_blocks(queries, rank)
