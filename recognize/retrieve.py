"""VR-RAG as pure functions on arrays: the paper's pipeline, its authors' later one, and each stage alone."""

from __future__ import annotations

import numpy as np

from data.arrays import FloatArray, IntArray
from recognize.exact import dot_rows, find_pool, or_zero, rounded, settle
from recognize.knowledge import Knowledge, check_queries
from recognize.stages import (
    N_SHOWN,
    AnchorPooling,
    Queries,
    Ranking,
    TextStage,
    anchor_product,
    anchor_stage,
    check_choice,
    named_encoders,
    rank_photos,
    text_product,
    text_stage,
)


def vr_rag_v1(
    knowledge: Knowledge,
    queries: Queries,
    *,
    m: int = 30,
    anchor_pooling: AnchorPooling = "mean",
    max_anchors: int = 3,
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species of the re-ranked summary chunks.

    The score of a chunk, s_c, is the mean over encoders of the raw cosine; the `m` best chunks are the pool. s_i is the
    mean (or the maximum) of the cosines of the photo to the first `max_anchors` anchors of the chunk's species, 0 for a
    species without. Chunks are ranked by s = s_c + s_i; a species stands where its best chunk stands, with that chunk's
    scores. Equal scores keep the order of rows. What goes to the reader is `reader_species`.

    Source: VR-RAG, sections 5.1 (eq. 1), 5.2 (eq. 2), 5.3; m from section 6.1. The paper does not say how a species'
        anchors are joined: `anchor_pooling` chooses. Nor what becomes of a species without anchors: s_i = 0 here, and
        it is counted. The anchors are the first ones of the store, not a random sample.
    """
    check_choice("anchor_pooling", anchor_pooling, ("mean", "max"))
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    owners = knowledge.chunk_owners

    def rank(photo: int, rows: list[FloatArray]) -> Ranking:
        text = text_stage(knowledge, queries, photo)
        anchors = anchor_stage(knowledge, queries, photo, anchor_pooling, max_anchors)
        pool = find_pool(rows[0], m, text.mean)
        species, of_chunk = np.unique(owners[pool], return_inverse=True)
        order, scores = settle(
            rows[0][pool] + or_zero(anchors.roughly(species))[of_chunk],
            lambda at: text.mean(pool[at]) + or_zero(anchors.exactly(owners[pool[at]])),
        )
        chunks = pool[order]
        best = _first_of_each(owners[chunks])
        scores, shown = scores[best], chunks[best[:n_shown]]
        by_encoder, s_i = text.by_encoder(shown), anchors.exactly(owners[shown])
        s_c = by_encoder.mean(axis=0)
        scores[:n_shown] = rounded(s_c + or_zero(s_i))
        return Ranking(
            species=owners[chunks[best]],
            scores=scores,
            stages={"text": s_c, "visual": s_i, **named_encoders(knowledge, by_encoder)},
            chunks=chunks,
            n_without_anchors=int((anchors.counts(species) == 0).sum()),
        )

    return rank_photos(len(queries), [text_product(knowledge, queries)], rank)


def reader_species(knowledge: Knowledge, ranking: Ranking, *, k: int = 10) -> IntArray:
    """Return the species of the `k` best chunks of vr-rag-v1, each once: those whose summaries go to the reader.

    Source: VR-RAG, section 5.3; k from section 6.1.
    """
    owners = knowledge.chunk_owners[ranking.chunks[:k]]
    return owners[_first_of_each(owners)]


def vr_rag_v2(
    knowledge: Knowledge,
    queries: Queries,
    *,
    m: int = 100,
    text_weight: float = 0.7,
    visual_weight: float = 0.3,
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species ranked by one blended vector a species and encoder, and one visual vector.

    s_c is the mean over encoders of the product with (text + image) / 2, which is not made a unit vector again; the `m`
    best species are the pool, ranked by 0.7 s_c + 0.3 s_i. A species' text is the mean of its chunks, its image and its
    visual vector the mean of its anchors; what is missing is a zero vector. A species with neither takes no part.

    Source: the code that the authors of VR-RAG published later (its constants: m = 100, weights 0.7 and 0.3, k = 5). It
        reads prepared vectors, one a species; how several chunks or anchors become one is our choice.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    has = (np.diff(knowledge.chunk_starts) > 0) | (np.diff(knowledge.anchor_starts) > 0)
    kept = np.flatnonzero(has)
    blends = knowledge.blends if has.all() else tuple(blend[kept] for blend in knowledge.blends)

    looks = knowledge.mean_anchors()

    def rank(photo: int, rows: list[FloatArray]) -> Ranking:
        text = TextStage(blends, tuple(query[photo] for query in queries.text_image))
        visual = queries.visual[photo]
        pool = find_pool(rows[0], m, text.mean)
        order, scores = settle(
            text_weight * rows[0][pool] + visual_weight * (looks[kept[pool]] @ visual),
            lambda at: text_weight * text.mean(pool[at]) + visual_weight * dot_rows(looks[kept[pool[at]]], visual),
        )
        species = kept[pool[order]]
        without = np.diff(knowledge.anchor_starts)[species] == 0
        by_encoder, s_i = text.by_encoder(pool[order[:n_shown]]), dot_rows(looks[species[:n_shown]], visual)
        s_c = by_encoder.mean(axis=0)
        scores[:n_shown] = rounded(text_weight * s_c + visual_weight * s_i)
        return Ranking(
            species=species,
            scores=scores,
            stages={
                "text": s_c,
                "visual": np.where(without[:n_shown], np.nan, s_i),
                **named_encoders(knowledge, by_encoder),
            },
            n_without_anchors=int(without.sum()),
        )

    return rank_photos(len(queries), [(queries.text_image, blends)], rank)


def text_only(knowledge: Knowledge, queries: Queries, *, m: int = 100, n_shown: int = N_SHOWN) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks, by text alone: the first stage of vr-rag-v1.

    Source: VR-RAG, section 5.1 (eq. 1); the rows without re-ranker of its table 4.
    """
    check_queries(queries.text_image, knowledge.chunks)
    owners = knowledge.chunk_owners

    def rank(photo: int, rows: list[FloatArray]) -> Ranking:
        text = text_stage(knowledge, queries, photo)
        pool = find_pool(rows[0], m, text.mean)
        order, scores = settle(rows[0][pool], lambda at: text.mean(pool[at]))
        chunks = pool[order]
        best = _first_of_each(owners[chunks])
        scores, by_encoder = scores[best], text.by_encoder(chunks[best[:n_shown]])
        s_c = by_encoder.mean(axis=0)
        scores[:n_shown] = rounded(s_c)
        return Ranking(
            species=owners[chunks[best]],
            scores=scores,
            stages={"text": s_c, **named_encoders(knowledge, by_encoder)},
            chunks=chunks,
        )

    return rank_photos(len(queries), [text_product(knowledge, queries)], rank)


def anchors_only(
    knowledge: Knowledge,
    queries: Queries,
    *,
    m: int = 100,
    anchor_pooling: AnchorPooling = "max",
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species of the `m` best anchors, by their anchors alone."""
    check_choice("anchor_pooling", anchor_pooling, ("mean", "max", "centre"))
    check_queries((queries.visual,), (knowledge.anchors,))
    matrix = knowledge.anchors.vectors

    def rank(photo: int, rows: list[FloatArray]) -> Ranking:
        anchors = anchor_stage(knowledge, queries, photo, anchor_pooling)
        pool = find_pool(rows[0], m, lambda at: dot_rows(matrix[at], anchors.query))
        species = np.unique(knowledge.anchors.owners[pool])
        order, scores = settle(anchors.pooled(species, lambda at: rows[0][at]), lambda at: anchors.exactly(species[at]))
        s_i = anchors.exactly(species[order[:n_shown]])
        scores[:n_shown] = rounded(s_i)
        return Ranking(species=species[order], scores=scores, stages={"visual": s_i})

    return rank_photos(len(queries), [anchor_product(knowledge, queries)], rank)


def _first_of_each(owners: IntArray) -> IntArray:
    """Return where each species stands first, in that order."""
    return np.sort(np.unique(owners, return_index=True)[1])
