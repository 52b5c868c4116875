"""Presets by name, with the settings that each one accepts, and the default preset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from data.arrays import FloatArray, IntArray
from data.errors import ConfigError, MissingContents, UsageError
from recognize.scoring.exact import (
    DOUBT,
    Pairs,
    Product,
    Rescore,
    Scores,
    Stages,
    dot_pairs,
    find_pools,
    or_zero,
    rounded,
    settle,
)
from recognize.scoring.knowledge import Knowledge, Queries, check_queries
from recognize.scoring.stages import (
    N_SHOWN,
    STRETCH,
    AnchorStage,
    Ranking,
    TextStage,
    anchor_product,
    mean_of,
    named_encoders,
    rank_photos,
    rankings,
    rows_of,
    text_product,
)
from recognize.scoring.vr_rag import anchors_only, direct_rag, text_only, vr_rag_v1, vr_rag_v2
from recognize.settings import CHUNK_PRESETS

AnchorMode = Literal["single", "several"]

_ALIKE: Final = 1e-6  # a smaller deviation is rounding
_SCALED: Final = 512  # photos at once, which bounds memory


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """Weights of the stages, per standard deviation; only ratios matter for a ranking.

    `text` and `visual` apply to species that the visual encoder was not trained on; `trained_text`, `trained_visual`
    and `prototype` to the others.
    """

    text: float
    visual: float
    new_species: float = 0.0
    """Bonus of species that the visual encoder was not trained on, which lack the prototype stage."""
    prototype: float = 0.0
    trained_text: float = 0.0
    trained_visual: float = 0.0


# `starter`: fitted by `training.starter.weights` on all species, with photos of species that the models of folds know
# and of new ones, half and half; `single` on one anchor a species, `several` on up to three.
# `general`: colours in texts add nothing to anchors, and more than .1 harms (`benchmarks.other_groups`). They decide
# where there are no anchors: the right one of 223 species is among the first five for .11 of the photos, not .02.
# `paper`, `best`: not fitted. Untrained encoders had the best hit@30 with .25 on 600 photos of 1,407 species with two
# anchors each (.417; .410 without text, .387 with .5). With one anchor, text counts more.
_NOT_FITTED: Final[Mapping[AnchorMode, FusionWeights]] = {
    "single": FusionWeights(text=0.35, visual=1.0),
    "several": FusionWeights(text=0.25, visual=1.0),
}
WEIGHTS: Final[Mapping[str, Mapping[AnchorMode, FusionWeights]]] = {
    "general": {
        "single": FusionWeights(text=0.1, visual=1.0),
        "several": FusionWeights(text=0.05, visual=1.0),
    },
    "paper": _NOT_FITTED,
    "best": _NOT_FITTED,
    "starter": {
        "single": FusionWeights(
            text=0.832, visual=1.510, new_species=1.821, prototype=0.844, trained_text=0.859, trained_visual=0.336
        ),
        "several": FusionWeights(
            text=0.598, visual=1.761, new_species=0.894, prototype=0.412, trained_text=0.807, trained_visual=0.889
        ),
    },
}
"""Profile -> anchor mode -> weights."""


def anchor_mode(knowledge: Knowledge) -> AnchorMode:
    """Return `several` if species with anchors have one and a half or more on average."""
    counts = knowledge.anchor_counts
    return "several" if counts.sum() >= 1.5 * max(1, (counts > 0).sum()) else "single"


def default(
    knowledge: Knowledge,
    queries: Queries,
    *,
    weights: FusionWeights,
    m: int = 100,
    n_shown: int = N_SHOWN,
) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks, anchors and prototypes, ranked by all stages together.

    The text score of a species is that of its best chunk, the visual score the cosine to the centroid of its anchors.
    Species that the visual encoder was trained on have a prototype score too. Scores are standardised per photo over
    (256 evenly spaced) chunks, anchors and prototypes of the knowledge base, so that no stage dominates by its scale;
    prototypes of other species complete few anchors and prototypes. The final score is the weighted sum. A missing
    stage counts as 0, the average. Equal scores keep the order of rows. The stages
    `text_part`, `visual_part` and `prototype_part` are the contributions to the final score.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    chunk_owners, anchor_owners = knowledge.chunk_owners, knowledge.anchors.owners

    text_scales = _scale(queries.text_image, knowledge.chunk_sample)
    visual_scales = _scale((queries.visual,), knowledge.anchor_sample)
    prototype_scales = _scale((queries.visual,), knowledge.prototype_sample) if len(knowledge.trained) else None

    def rank(photos: slice, scores: list[FloatArray]) -> list[Ranking]:
        chunk_scores, anchor_scores, *prototype_scores = scores
        batch = queries[photos]
        text = TextStage.of(knowledge, batch)
        anchors = AnchorStage(knowledge, batch.visual, "centroid")
        scale = prototype_scales[photos] if prototype_scales else None
        prototypes = _Prototypes(knowledge, batch.visual, weights, scale)
        text_scale, visual_scale = text_scales[photos], visual_scales[photos]
        chunks = find_pools(chunk_scores, m, text.mean)
        seen = find_pools(anchor_scores, m, anchors.cosines)
        proposed = [Pairs(chunks.photos, chunk_owners[chunks.items]), Pairs(seen.photos, anchor_owners[seen.items])]
        if prototype_scores:
            proposed.append(prototypes.pool(prototype_scores[0], m))
        species = _unique_pairs(proposed, knowledge.n_species)
        text_weights, visual_weights = prototypes.weights_of(species.items)
        best_chunk = _best_chunks(knowledge, chunk_scores, species, text.mean)

        def fuse(at: IntArray, s_c: Scores, s_i: Scores, s_p: Scores) -> tuple[Scores, Scores, Scores]:
            photos = species.photos[at]
            return (
                text_weights[at] * text_scale.apply(photos, s_c),
                visual_weights[at] * visual_scale.apply(photos, s_i),
                prototypes.part(species[at], s_p),
            )

        def explain(at: IntArray) -> tuple[Scores, Stages]:
            by_encoder = _text_cosines(text, Pairs(species.photos[at], best_chunk[at]))
            s_c, s_i, s_p = mean_of(by_encoder), anchors.exactly(species[at]), prototypes.exactly(species[at])
            parts = fuse(at, s_c, s_i, s_p)
            return _total(parts), {
                "text": s_c,
                "visual": s_i,
                "text_part": parts[0],
                "visual_part": parts[1],
                **({"prototype": s_p, "prototype_part": parts[2]} if prototype_scores else {}),
                **named_encoders(knowledge, by_encoder),
            }

        text_scores = _rough_texts(chunk_scores, Pairs(species.photos, best_chunk))
        visual_scores = anchors.of_product(species, anchor_scores)
        rough = fuse(np.arange(len(species)), text_scores, visual_scores, prototypes.roughly(species, prototype_scores))
        stretches = text_scale.stretch, visual_scale.stretch * STRETCH, prototypes.stretch
        settled = settle(species, _total(rough), explain, n_shown=n_shown, doubts=_doubts(weights, *stretches))
        return rankings(
            settled,
            species[settled.order],
            n_photos=len(batch),
            n_shown=n_shown,
            n_without=np.bincount(species.photos[anchors.counts(species.items) == 0], minlength=len(batch)),
        )

    products = [text_product(knowledge, queries), anchor_product(knowledge, queries)]
    if len(knowledge.trained):
        products.append(Product((queries.visual,), (knowledge.prototypes,)))
    return rank_photos(len(queries), products, rank)


def _doubts(weights: FusionWeights, text: Scores, visual: Scores, prototype: Scores) -> Scores:
    """Return the doubt on each photo's scores, which grows with the scaling of its stages."""
    text_weight = max(abs(weights.text), abs(weights.trained_text))
    visual_weight = max(abs(weights.visual), abs(weights.trained_visual))
    doubts: Scores = DOUBT * (text_weight * text + visual_weight * visual + abs(weights.prototype) * prototype)
    return doubts


def _total(parts: tuple[Scores, ...]) -> Scores:
    return sum(parts[1:], start=parts[0])


def _unique_pairs(proposed: Sequence[Pairs], n_species: int) -> Pairs:
    """Return all pairs of photo and species, each once, in order."""
    keys = np.sort(np.concatenate([pairs.photos * n_species + pairs.items for pairs in proposed]))
    pairs = Pairs(*np.divmod(keys, n_species))
    return pairs[pairs.is_new()]  # `np.unique` takes five times as long


class _Prototypes:
    """Prototype scores of species that the visual encoder was trained on."""

    def __init__(self, knowledge: Knowledge, queries: FloatArray, weights: FusionWeights, scale: _Scale | None) -> None:
        self._matrix, self._queries, self._weights, self._scale = knowledge.prototypes, queries, weights, scale
        self._trained, self._row_of = knowledge.trained, knowledge.prototype_rows

    @property
    def stretch(self) -> Scores:
        """Scaling of the stage for each photo."""
        return np.zeros(len(self._queries)) if self._scale is None else self._scale.stretch

    def pool(self, scores: FloatArray, m: int) -> Pairs:
        """Return the species of the `m` best prototypes."""
        rows = find_pools(scores, m, lambda rows: dot_pairs(self._matrix, self._queries, rows))
        return Pairs(rows.photos, self._trained[rows.items])

    def weights_of(self, species: IntArray) -> tuple[Scores, Scores]:
        """Return the weights of text and anchors for each species."""
        is_trained, weights = self._row_of[species] >= 0, self._weights
        return np.where(is_trained, weights.trained_text, weights.text), np.where(
            is_trained, weights.trained_visual, weights.visual
        )

    def roughly(self, species: Pairs, scores: list[FloatArray]) -> Scores:
        """Return the prototype scores from the product, NaN without a prototype."""
        found, at = np.full(len(species), np.nan), self._row_of[species.items]
        if scores:
            found[at >= 0] = scores[0][species.photos[at >= 0], at[at >= 0]]
        return found

    def exactly(self, species: Pairs) -> Scores:
        """Return the prototype scores in float64, NaN without a prototype."""
        found, at = np.full(len(species), np.nan), self._row_of[species.items]
        if (at >= 0).any():
            found[at >= 0] = dot_pairs(self._matrix, self._queries, Pairs(species.photos, at)[at >= 0])
        return found

    def part(self, species: Pairs, scores: Scores) -> Scores:
        """Return the contribution to the final score, a bonus for species without a prototype."""
        if self._scale is None:
            return np.zeros(len(species))
        scaled = self._weights.prototype * self._scale.apply(species.photos, scores)
        return np.where(self._row_of[species.items] >= 0, scaled, self._weights.new_species)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Mean and scaling of the scores of photos over a knowledge base, `(n_photos,)` each."""

    means: Scores
    stretch: Scores
    """1 / standard deviation, 0 if all scores are equal."""

    def __getitem__(self, photos: slice) -> _Scale:
        return _Scale(self.means[photos], self.stretch[photos])

    def apply(self, photos: IntArray, scores: Scores) -> Scores:
        """Return standardised scores; 0 for NaN, or if all scores are equal."""
        return or_zero((scores - self.means[photos]) * self.stretch[photos])


def _scale(queries: tuple[FloatArray, ...], sample: Scores) -> _Scale:
    """Return the scale of each photo over sampled rows with the columns of all encoders.

    In float64, so that the scale of a photo does not depend on its batch.
    """
    n_photos = len(queries[0])
    scales = _Scale(np.zeros(n_photos), np.zeros(n_photos))
    for first in range(0, n_photos if len(sample) else 0, _SCALED):
        photos = slice(first, first + _SCALED)
        scores = np.concatenate([query[photos] for query in queries], axis=1, dtype=np.float64) @ sample.T
        scores /= len(queries)
        means = np.add.reduce(scores, axis=1) / len(sample)
        scores -= means[:, None]
        deviations = np.sqrt(np.einsum("ij,ij->i", scores, scores) / len(sample))
        scales.means[photos] = means
        np.divide(1.0, deviations, out=scales.stretch[photos], where=deviations >= _ALIKE)
    return scales


def _rough_texts(scores: FloatArray, rows: Pairs) -> Scores:
    """Return the scores of chunks from the product; NaN for row -1, no chunk."""
    found, has = np.full(len(rows), np.nan), rows.items >= 0
    found[has] = scores[rows.photos[has], rows.items[has]]
    return found


def _text_cosines(text: TextStage, rows: Pairs) -> Scores:
    """Return the cosines of chunks, `(n_encoders, n)`; NaN for row -1, no chunk."""
    cosines = np.full((len(text.matrices), len(rows)), np.nan)
    has = rows.items >= 0
    cosines[:, has] = text.by_encoder(rows[has])
    return cosines


def _best_chunks(knowledge: Knowledge, scores: FloatArray, species: Pairs, rescore: Rescore) -> IntArray:
    """Return the row of each species' best chunk, the first in a tie; -1 without text."""
    counts = knowledge.chunk_counts[species.items]
    best = np.full(len(species), -1, dtype=np.intp)
    has = counts > 0
    if not has.any():
        return best
    counts = counts[has]
    rows, firsts = rows_of(knowledge.chunk_starts, species[has], counts)
    found = scores[rows.photos, rows.items]
    close = found >= np.repeat(np.maximum.reduceat(found, firsts) - np.float32(DOUBT), counts)
    n_close = np.add.reduceat(close, firsts, dtype=np.intp)
    if len(rows) == len(firsts) or (n_close == 1).all():
        best[has] = rows.items[close]
        return best
    rivals = np.flatnonzero(close & np.repeat(n_close > 1, counts))
    exact = np.where(close, 0.0, -np.inf)
    exact[rivals] = rounded(rescore(rows[rivals]))
    # The first row with the best score of its species.
    winners = np.flatnonzero(exact == np.repeat(np.maximum.reduceat(exact, firsts), counts))
    of_species = np.searchsorted(firsts, winners, side="right") - 1
    best[has] = rows.items[winners[np.searchsorted(of_species, np.arange(len(firsts)))]]
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a preset; None keeps the preset's own value."""

    m: int | None = None
    """Size of the pool."""
    weights: FusionWeights | None = None
    n_shown: int = N_SHOWN
    """Species per photo with scores of every stage."""
    profile: str = "starter"
    """Profile that selects the weights of `default`."""


PRESETS: Final[dict[str, Callable[..., list[Ranking]]]] = {
    "anchors-only": anchors_only,
    "default": default,
    "direct-rag": direct_rag,
    "text-only": text_only,
    "vr-rag-v1": vr_rag_v1,
    "vr-rag-v2": vr_rag_v2,
}
"""Name -> scoring function. `anchors-only` and `text-only` are single stages, for comparison."""


def check_preset(name: str, settings: Settings) -> None:
    """Check the name of a preset and its settings.

    Raises:
        ConfigError: if the preset is unknown, or `default` has no weights for the profile.
        UsageError: if a preset other than `default` gets weights.
    """
    if name not in PRESETS:
        raise ConfigError(f'Unknown preset "{name}". Expected one of {", ".join(sorted(PRESETS))}.')
    if settings.weights is not None and name != "default":
        raise UsageError(f"The preset {name} has no weights.")
    if name == "default" and settings.weights is None and settings.profile not in WEIGHTS:
        raise ConfigError(
            f'The default preset has no weights for the profile "{settings.profile}".',
            hint="Pass your own weights, or use vr-rag-v1.",
        )


def check_contents(name: str, knowledge: Knowledge, path: Path) -> None:
    """Raise `MissingContents` if the knowledge base at `path` lacks what a preset compares photos with."""
    has_texts, has_photos = len(knowledge.chunk_owners) > 0, len(knowledge.anchors.owners) > 0
    if name in CHUNK_PRESETS:
        lacking = "" if has_texts else "descriptions"
    elif name == "anchors-only":
        lacking = "" if has_photos else "reference photos"
    else:
        has_prototypes = name == "default" and len(knowledge.trained) > 0
        lacking = "" if has_texts or has_photos or has_prototypes else "descriptions or reference photos"
    if lacking:
        hint = "Use --preset default." if has_texts or has_photos else "kb status shows what it has."
        raise MissingContents(f"The preset {name} needs {lacking}, and {path} has none.", hint=hint)


def score(name: str, knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    """Return the ranking of each photo by a preset; `check_preset` first."""
    options: dict[str, Any] = {} if settings.m is None else {"m": settings.m}
    if name == "default":
        options["weights"] = settings.weights or WEIGHTS[settings.profile][anchor_mode(knowledge)]
    return PRESETS[name](knowledge, queries, n_shown=settings.n_shown, **options)
