"""The default preset: text and anchors each propose species, and their scores are made comparable, then added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from data.arrays import FloatArray, IntArray
from recognize.exact import DOUBT, Rescore, Scores, dot_rows, find_pool, or_zero, rounded, settle
from recognize.knowledge import Knowledge, check_queries
from recognize.stages import (
    N_SHOWN,
    AnchorPooling,
    Product,
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

AnchorMode = Literal["single", "several"]

_ALIKE: Final = 1e-6  # a smaller deviation is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """How much each stage counts, in standard deviations; only the ratios matter for a ranking.

    `text` and `visual` are for species that the visual encoder was not trained on: for most encoders, all. A species of
    its training has a third stage, `known`, beside which the others count as `known_text` and `known_visual`.
    """

    text: float
    visual: float
    new_species: float = 0.0
    """What a species gets that is not of the training: it lacks a stage in which those can win."""
    known: float = 0.0
    known_text: float = 0.0
    known_visual: float = 0.0


# `starter`: fitted on the held-out species of five folds and on tuning photos of trained ones, half and half, without
# the hidden half of the protocol (`recognize.starter.study`, `shipped_weights`); `single` on one anchor a species,
# `several` on up to three.
# `plain`: not fitted. On 600 photos of 1,407 species with about two anchors, .25 found the species most often among the
# first 30 (.417; .410 without text, .387 with .5). One anchor says less, so text counts more.
# `paper`, `best`: nobody has fitted them yet; those of `plain`.
_NOT_FITTED: Final[Mapping[AnchorMode, FusionWeights]] = {
    "single": FusionWeights(text=0.35, visual=1.0),
    "several": FusionWeights(text=0.25, visual=1.0),
}
WEIGHTS: Final[Mapping[str, Mapping[AnchorMode, FusionWeights]]] = {
    "plain": _NOT_FITTED,
    "paper": _NOT_FITTED,
    "best": _NOT_FITTED,
    "starter": {
        "single": FusionWeights(
            text=1.810, visual=1.334, new_species=2.390, known=1.111, known_text=1.099, known_visual=0.041
        ),
        "several": FusionWeights(
            text=1.134, visual=2.198, new_species=1.530, known=0.888, known_text=1.033, known_visual=0.742
        ),
    },
}
"""Profile -> anchor mode -> weights."""


def anchor_mode(knowledge: Knowledge) -> AnchorMode:
    """Return `several` if the species that have anchors have two or more on average."""
    counts = np.diff(knowledge.anchor_starts)
    return "several" if counts.sum() >= 2 * max(1, (counts > 0).sum()) else "single"


def default(
    knowledge: Knowledge,
    queries: Queries,
    *,
    weights: FusionWeights,
    m: int = 100,
    anchor_pooling: AnchorPooling = "max",
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks and of the `m` best anchors, by both stages together.

    A species' text score is its best chunk's, its visual score the cosine to the centre of its anchors (or its best, or
    mean, anchor's). Where the visual encoder
    knows species from its training, its `m` best prototypes propose species too, and are a third score. All are
    measured in standard deviations from what the photo scores over the knowledge base, so that a stage in which
    everything looks alike cannot drown the other; the final score is their weighted sum. (Over the knowledge base
    means: over all chunks, anchors and prototypes, or 256 of each, evenly spread.) A species without text or without
    anchors gets 0 for what it lacks: as a chunk or an anchor picked blindly would. Equal scores keep the order of rows.
    The stages `text_part` and `visual_part` are what each of the two gave to the final score; `known` and `known_part`
    are of the third.
    """
    check_choice("anchor_pooling", anchor_pooling, ("mean", "max", "centre"))
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    owners = knowledge.chunk_owners
    anchor_matrix = knowledge.anchors.vectors
    trained = _Trained(knowledge, queries, weights)
    text_scales = _scales(queries.text_image, knowledge.chunk_sample)
    visual_scales = _scales((queries.visual,), (knowledge.anchor_sample,))

    def rank(photo: int, rows: list[FloatArray]) -> Ranking:
        chunk_scores, anchor_scores, *known_rows = rows
        text = text_stage(knowledge, queries, photo)
        anchors = anchor_stage(knowledge, queries, photo, anchor_pooling)
        chunks = find_pool(chunk_scores, m, text.mean)
        seen = find_pool(anchor_scores, m, lambda at: dot_rows(anchor_matrix[at], anchors.query))
        species = np.union1d(owners[chunks], knowledge.anchors.owners[seen])
        if known_rows:
            species = np.union1d(species, trained.pool(photo, known_rows[0], m))
        text_weights, visual_weights = trained.weights_of(species)
        best_chunk = _best_chunks(knowledge, chunk_scores, species, text.mean)

        def fuse(at: IntArray, by_encoder: Scores, s_i: Scores, s_k: Scores) -> tuple[Scores, Scores, Scores]:
            s_c = by_encoder.mean(axis=0)
            return (
                text_weights[at] * text_scales[photo].apply(s_c),
                visual_weights[at] * visual_scales[photo].apply(s_i),
                trained.part(photo, species[at], s_k),
            )

        def exact_parts(at: IntArray) -> tuple[Scores, Scores, Scores]:
            return _text_of(text, best_chunk[at]), anchors.exactly(species[at]), trained.exactly(photo, species[at])

        rough_text = np.where(best_chunk >= 0, chunk_scores[best_chunk] if len(chunk_scores) else np.nan, np.nan)
        everything = np.arange(len(species))
        rough_visual = anchors.pooled(species, lambda at: anchor_scores[at])
        rough = fuse(everything, rough_text[None, :], rough_visual, trained.roughly(species, known_rows))
        order, scores = settle(sum(rough[1:], start=rough[0]), lambda at: _total(fuse(at, *exact_parts(at))))
        by_encoder, s_i, s_k = exact_parts(order[:n_shown])
        parts = fuse(order[:n_shown], by_encoder, s_i, s_k)
        scores[:n_shown] = rounded(_total(parts))
        return Ranking(
            species=species[order],
            scores=scores,
            stages={
                "text": by_encoder.mean(axis=0),
                "visual": s_i,
                "text_part": parts[0],
                "visual_part": parts[1],
                **({"known": s_k, "known_part": parts[2]} if known_rows else {}),
                **named_encoders(knowledge, by_encoder),
            },
            n_without_anchors=int((anchors.counts(species) == 0).sum()),
        )

    products = [text_product(knowledge, queries), anchor_product(knowledge, queries), *trained.products()]
    return rank_photos(len(queries), products, rank)


def _total(parts: tuple[Scores, ...]) -> Scores:
    return sum(parts[1:], start=parts[0])


class _Trained:
    """What the visual encoder knows from its training: prototypes of species, for a block of photos."""

    def __init__(self, knowledge: Knowledge, queries: Queries, weights: FusionWeights) -> None:
        self._matrix, self._queries, self._weights = knowledge.prototypes, queries.visual, weights
        self._known = knowledge.known
        self._row_of = np.full(knowledge.n_species, -1, dtype=np.intp)
        self._row_of[knowledge.known] = np.arange(len(knowledge.known))
        self._scales = _scales((queries.visual,), (knowledge.prototype_sample,)) if len(knowledge.known) else []

    def products(self) -> list[Product]:
        """Return what scores all prototypes; nothing where there are none."""
        return [((self._queries,), (self._matrix,))] if len(self._known) else []

    def pool(self, photo: int, scores: FloatArray, m: int) -> IntArray:
        """Return the species of the `m` best prototypes."""
        return self._known[find_pool(scores, m, lambda at: dot_rows(self._matrix[at], self._queries[photo]))]

    def weights_of(self, species: IntArray) -> tuple[Scores, Scores]:
        """Return what text and anchors of each species count."""
        known, weights = self._row_of[species] >= 0, self._weights
        return np.where(known, weights.known_text, weights.text), np.where(known, weights.known_visual, weights.visual)

    def roughly(self, species: IntArray, rows: list[FloatArray]) -> Scores:
        """Return the prototypes' scores from the product, NaN for a species without."""
        at = self._row_of[species]
        return np.where(at >= 0, rows[0][at], np.nan) if rows else np.full(len(species), np.nan)

    def exactly(self, photo: int, species: IntArray) -> Scores:
        """Return the same in float64."""
        at, scores = self._row_of[species], np.full(len(species), np.nan)
        if (at >= 0).any():
            scores[at >= 0] = dot_rows(self._matrix[at[at >= 0]], self._queries[photo])
        return scores

    def part(self, photo: int, species: IntArray, scores: Scores) -> Scores:
        """Return what the third stage gives to the final score: a bonus for a species that is not of the training."""
        if not self._scales:
            return np.zeros(len(species))
        scaled = self._weights.known * self._scales[photo].apply(scores)
        return np.where(self._row_of[species] >= 0, scaled, self._weights.new_species)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Mean and standard deviation of what a photo scores over the chunks or the anchors."""

    mean: float
    deviation: float

    def apply(self, scores: Scores) -> Scores:
        """Return the scores in deviations from the mean; 0 where there is none, or where all are alike."""
        if self.deviation < _ALIKE:
            return np.zeros(len(scores))
        return or_zero((scores - self.mean) / self.deviation)


def _scales(queries: tuple[FloatArray, ...], samples: tuple[Scores, ...]) -> list[_Scale]:
    """Return the scale of each photo, from the sampled rows of each encoder.

    In float64, so that a photo has the same scale in every batch, to more digits than anyone is shown.
    """
    if not samples or not len(samples[0]):
        return [_Scale(0.0, 0.0)] * (len(queries[0]) if queries else 0)
    products = [query.astype(np.float64) @ sample.T for query, sample in zip(queries, samples, strict=True)]
    scores = sum(products[1:], start=products[0]) / len(products)
    return [_Scale(float(mean), float(spread)) for mean, spread in zip(scores.mean(1), scores.std(1), strict=True)]


def _text_of(text: TextStage, rows: IntArray) -> Scores:
    """Return the cosines of chunks, `(n_encoders, n)`; NaN for row -1, which stands for no chunk."""
    cosines = np.full((len(text.matrices), len(rows)), np.nan)
    cosines[:, rows >= 0] = text.by_encoder(rows[rows >= 0])
    return cosines


def _best_chunks(knowledge: Knowledge, scores: FloatArray, species: IntArray, rescore: Rescore) -> IntArray:
    """Return the row of each species' best chunk, the first of equal ones; -1 for a species without text."""
    starts = knowledge.chunk_starts[species]
    counts = knowledge.chunk_starts[species + 1] - starts
    best = np.full(len(species), -1, dtype=np.intp)
    if not counts.any():
        return best
    has = counts > 0
    firsts = np.cumsum(counts[has]) - counts[has]
    rows = np.repeat(starts[has] - firsts, counts[has]) + np.arange(counts.sum())
    of_species = np.repeat(np.arange(len(firsts)), counts[has])
    found = scores[rows].astype(np.float64)
    close = found >= np.maximum.reduceat(found, firsts)[of_species] - DOUBT
    doubtful = close & (np.bincount(of_species[close])[of_species] > 1)
    if doubtful.any():
        found[doubtful] = rescore(rows[doubtful])
    found[~close] = -np.inf
    order = np.lexsort((rows, -found, of_species))
    best[has] = rows[order[firsts]]
    return best
