"""VR-RAG on arrays: the pipeline of the paper, the later one of its authors, and single stages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from recognize.scoring.exact import (
    DOUBT,
    Pairs,
    Product,
    Scores,
    Stages,
    dot_pairs,
    find_pools,
    or_zero,
    rough_products,
    settle,
)
from recognize.scoring.knowledge import Knowledge, Queries, check_queries, queries_of_encoders, with_encoders
from recognize.scoring.stages import (
    N_SHOWN,
    AnchorStage,
    Ranking,
    TextStage,
    anchor_product,
    mean_of,
    named_encoders,
    rank_photos,
    rankings,
    text_product,
)

_MOST_ANCHORS: Final = 3  # of a species: VR-RAG, section 5.2


def vr_rag_v1(
    knowledge: Knowledge,
    queries: Queries,
    *,
    m: int = 30,
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species of the re-ranked summary chunks.

    The score of a chunk, s_c, is the mean over encoders of the raw cosine; the `m` best chunks are the pool. s_i is the
    mean cosine of the photo to the first three anchors of the chunk's species, 0 without anchors. Chunks are ranked by
    s = s_c + s_i; a species takes rank and scores of its best chunk. Equal scores keep the order of rows.

    Source: VR-RAG, sections 5.1 (eq. 1), 5.2 (eq. 2), 5.3; m from section 6.1. The paper specifies neither the pooling
        of anchors nor species without anchors (here s_i = 0). The anchors are the first ones of the
        store, not a random sample.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    anchors = AnchorStage(knowledge, queries.visual, "mean", _MOST_ANCHORS)
    return _rank_chunks(knowledge, queries, anchors, m=m, n_shown=n_shown)


def text_only(knowledge: Knowledge, queries: Queries, *, m: int = 100, n_shown: int = N_SHOWN) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks by text alone: the first stage of vr-rag-v1.

    Source: VR-RAG, section 5.1 (eq. 1); the rows without re-ranker of its table 4.
    """
    check_queries(queries.text_image, knowledge.chunks)
    return _rank_chunks(knowledge, queries, None, m=m, n_shown=n_shown)


def direct_rag(knowledge: Knowledge, queries: Queries, *, m: int = 30, n_shown: int = N_SHOWN) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks by the first text-image encoder alone.

    Source: VR-RAG, table 3, direct RAG, with CLIP as the encoder.
    """
    return text_only(with_encoders(knowledge, (0,)), queries_of_encoders(queries, (0,)), m=m, n_shown=n_shown)


def _rank_chunks(
    knowledge: Knowledge, queries: Queries, anchors: AnchorStage | None, *, m: int, n_shown: int
) -> list[Ranking]:
    """Return the species of the `m` best chunks, re-ranked with an anchor stage if one is given."""
    owners = knowledge.chunk_owners

    def rank(photos: slice, scores: list[FloatArray]) -> list[Ranking]:
        batch = queries[photos]
        text = TextStage.of(knowledge, batch)
        visual = anchors and replace(anchors, queries=batch.visual)
        pool = find_pools(scores[0], m, text.mean)
        of_pool = Pairs(pool.photos, owners[pool.items])
        is_new = of_pool.is_new()

        def explain(at: IntArray) -> tuple[Scores, Stages]:
            by_encoder = text.by_encoder(pool[at])
            s_c = mean_of(by_encoder)
            named = named_encoders(knowledge, by_encoder)
            if visual is None:
                return s_c, {"text": s_c, **named}
            s_i = visual.exactly(of_pool[at])
            return s_c + or_zero(s_i), {"text": s_c, "visual": s_i, **named}

        rough: NDArray[np.floating] = scores[0][pool.photos, pool.items]
        n_without = None
        if visual is not None:
            species = of_pool[is_new]
            rough = rough + or_zero(visual.rough_mean(species))[is_new.cumsum() - 1]
            n_without = np.bincount(species.photos[visual.counts(species.items) == 0], minlength=len(batch))
        settled = settle(pool, rough, explain, n_shown=n_shown, heads_of=partial(_best_of_each, is_new))
        return rankings(
            settled,
            of_pool[settled.order[settled.heads]],
            n_photos=len(batch),
            n_shown=n_shown,
            chunks=pool[settled.order],
            n_without=n_without,
        )

    return rank_photos(len(queries), [text_product(knowledge, queries)], rank)


def vr_rag_v2(
    knowledge: Knowledge,
    queries: Queries,
    *,
    m: int = 100,
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species ranked by one blended vector per encoder and one visual vector.

    s_c is the mean over encoders of the product with (text + image) / 2, not normalised; the `m` best species are the
    pool, ranked by 0.7 s_c + 0.3 s_i. The text of a species is the mean of its chunks, its image and its visual vector
    the mean of its anchors, zero if missing. Species without text and anchors are skipped.

    Source: the later code of the authors of VR-RAG (m = 100, weights 0.7 and 0.3, k = 5). It reads one prepared vector
        per species; the means over chunks and anchors are our choice.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    kept, blends, looks = knowledge.blended, knowledge.blends, knowledge.mean_anchors()
    n_anchors = knowledge.anchor_counts

    def rank(photos: slice, scores: list[FloatArray]) -> list[Ranking]:
        batch = queries[photos]
        text = TextStage((blends,), batch.text_image, knowledge.blend_columns)
        pool = find_pools(scores[0], m, text.mean)
        species = Pairs(pool.photos, kept[pool.items])

        def total(s_c: NDArray[np.floating], s_i: NDArray[np.floating]) -> Scores:
            return 0.7 * s_c.astype(np.float64) + 0.3 * s_i.astype(np.float64)

        def explain(at: IntArray) -> tuple[Scores, Stages]:
            by_encoder, s_i = text.by_encoder(pool[at]), dot_pairs(looks, batch.visual, species[at])
            s_c = mean_of(by_encoder)
            seen = np.where(n_anchors[species.items[at]] > 0, s_i, np.nan)
            return total(s_c, s_i), {"text": s_c, "visual": seen, **named_encoders(knowledge, by_encoder)}

        rough = total(scores[0][pool.photos, pool.items], rough_products(looks, batch.visual, species))
        settled = settle(pool, rough, explain, n_shown=n_shown)
        return rankings(
            settled,
            species[settled.order],
            n_photos=len(batch),
            n_shown=n_shown,
            n_without=np.bincount(species.photos[n_anchors[species.items] == 0], minlength=len(batch)),
        )

    return rank_photos(len(queries), [Product(queries.text_image, (blends,))], rank)


def anchors_only(
    knowledge: Knowledge,
    queries: Queries,
    *,
    m: int = 100,
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species of the `m` best anchors, by the best of their anchors alone."""
    check_queries((queries.visual,), (knowledge.anchors,))
    owners = knowledge.anchors.owners

    def rank(photos: slice, scores: list[FloatArray]) -> list[Ranking]:
        batch = queries[photos]
        anchors = AnchorStage(knowledge, batch.visual, "max")
        pool = find_pools(scores[0], m, anchors.cosines)
        of_pool = Pairs(pool.photos, owners[pool.items])
        species = of_pool[of_pool.is_new()]

        def explain(at: IntArray) -> tuple[Scores, Stages]:
            s_i = anchors.exactly(species[at])
            return s_i, {"visual": s_i}

        rough, doubts = anchors.of_product(species, scores[0]), np.full(len(batch), DOUBT)
        settled = settle(species, rough, explain, n_shown=n_shown, doubts=doubts)
        return rankings(settled, species[settled.order], n_photos=len(batch), n_shown=n_shown)

    return rank_photos(len(queries), [anchor_product(knowledge, queries)], rank)


def _best_of_each(is_new: NDArray[np.bool_], order: IntArray) -> IntArray:
    """Return the ranks of each species' best chunk, photo by photo, ascending.

    Args:
        is_new: chunks that are the first of their species, in input order.
        order: positions of the chunks by rank.
    """
    if not len(order):
        return np.empty(0, dtype=np.intp)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    heads = np.minimum.reduceat(places, is_new.nonzero()[0])
    heads.sort()
    return heads
