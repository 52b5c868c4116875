"""Presets by name, with the settings that each one accepts, and the default preset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from data.arrays import FloatArray, IntArray
from data.errors import ConfigError, MissingContents, UsageError
from recognize.scoring.knowledge import Knowledge, Queries, check_queries
from recognize.scoring.ranking import (
    Pairs,
    Ranking,
    Scores,
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
from recognize.scoring.vr_rag import anchors_only, direct_rag, text_only, vr_rag_v1, vr_rag_v2
from recognize.settings import CHUNK_PRESETS

AnchorMode = Literal["single", "several"]

_ALIKE: Final = 1e-6  # a smaller deviation is rounding


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
# All others are not fitted. Untrained encoders had the best hit@30 with .25 on 600 photos of 1,407 species with two
# anchors each (.417; .410 without text, .387 with .5). With one anchor, text counts more.
NOT_FITTED: Final[Mapping[AnchorMode, FusionWeights]] = {
    "single": FusionWeights(text=0.35, visual=1.0),
    "several": FusionWeights(text=0.25, visual=1.0),
}
WEIGHTS: Final[Mapping[str, Mapping[AnchorMode, FusionWeights]]] = {
    "general": {
        "single": FusionWeights(text=0.1, visual=1.0),
        "several": FusionWeights(text=0.05, visual=1.0),
    },
    "starter": {
        "single": FusionWeights(
            text=0.776, visual=1.409, new_species=1.726, prototype=0.470, trained_text=0.728, trained_visual=0.669
        ),
        "several": FusionWeights(
            text=0.518, visual=1.672, new_species=0.636, prototype=0.004, trained_text=0.671, trained_visual=1.245
        ),
    },
}
"""Profile -> anchor mode -> weights; those of other profiles are `NOT_FITTED`."""


def anchor_mode(knowledge: Knowledge) -> AnchorMode:
    """Return `several` if species with anchors have one and a half or more on average."""
    counts = knowledge.anchor_counts
    return "several" if counts.sum() >= 1.5 * max(1, (counts > 0).sum()) else "single"


def weights_of(profile: str, knowledge: Knowledge) -> FusionWeights:
    """Return the weights of the default preset."""
    return WEIGHTS.get(profile, NOT_FITTED)[anchor_mode(knowledge)]


def default(knowledge: Knowledge, queries: Queries, *, weights: FusionWeights, m: int = 100) -> list[Ranking]:
    """Return for each photo the species of the `m` best chunks, anchors and prototypes, ranked by all stages together.

    The text score of a species is that of its best chunk, the visual score the cosine to the centroid of its anchors.
    Species that the visual encoder was trained on have a prototype score too. Scores are standardised per photo over
    (256 evenly spaced) chunks, anchors and prototypes of the knowledge base, so that no stage dominates by its scale;
    prototypes of other species complete few anchors and prototypes. The final score is the weighted sum. A missing
    stage counts as 0, the average. Equal scores keep the order of rows. The stages
    `text_part`, `visual_part` and `prototype_part` are the contributions to the final score.
    """
    check_queries((*queries.text_image, queries.visual), (*knowledge.chunks, knowledge.anchors))
    anchors, rows_of = knowledge.anchors, knowledge.prototype_rows
    has_prototypes = len(knowledge.trained) > 0

    def rank(block: Queries) -> list[Ranking]:
        by_encoder = text_cosines(knowledge, block)
        text, texts = mean_of(by_encoder), np.concatenate(block.text_image, axis=1) / np.float32(len(by_encoder))
        pools = [(text, knowledge.chunk_owners), (cosines(block.visual, anchors.vectors), anchors.owners)]
        if has_prototypes:
            pools.append((cosines(block.visual, knowledge.prototypes), knowledge.trained))
        species = _species_of([(best_rows(scores, m), owners) for scores, owners in pools], len(block), knowledge)
        chunks = _best_chunks(knowledge, text, species)
        s_c = taken(text, chunks)
        s_i = pair_cosines(block.visual, knowledge.centroids, anchored(species, knowledge))
        is_trained = rows_of[species.items] >= 0
        text_part = _scaled(s_c, species, texts, knowledge.chunk_sample)
        text_part *= np.where(is_trained, weights.trained_text, weights.text)
        visual_part = _scaled(s_i, species, block.visual, knowledge.anchor_sample)
        visual_part *= np.where(is_trained, weights.trained_visual, weights.visual)
        stages = {"text": s_c, "visual": s_i, "text_part": text_part, "visual_part": visual_part}
        total = text_part + visual_part
        if has_prototypes:
            s_p = taken(pools[-1][0], Pairs(species.photos, rows_of[species.items]))
            scaled = weights.prototype * _scaled(s_p, species, block.visual, knowledge.prototype_sample)
            stages |= {"prototype": s_p, "prototype_part": np.where(is_trained, scaled, weights.new_species)}
            total = total + stages["prototype_part"]
        stages |= {name: taken(scores, chunks) for name, scores in zip(knowledge.names, by_encoder, strict=True)}
        return rankings(len(block), species, total, stages)

    return rank_blocks(queries, rank)


def _species_of(pools: Sequence[tuple[Pairs, IntArray]], n_photos: int, knowledge: Knowledge) -> Pairs:
    """Return the species of rows of several tables with their owners, each once a photo, ascending."""
    is_pooled = np.zeros((n_photos, knowledge.n_species), dtype=bool)
    for pool, owners in pools:
        is_pooled[pool.photos, owners[pool.items]] = True
    return Pairs(*is_pooled.nonzero())


def _best_chunks(knowledge: Knowledge, scores: FloatArray, species: Pairs) -> Pairs:
    """Return the row of each species' best chunk, the first in a tie; -1 without text."""
    best = np.full(len(species), -1, dtype=np.intp)
    has = np.flatnonzero(knowledge.chunk_counts[species.items])
    if len(has):
        counts = knowledge.chunk_counts[species.items[has]]
        firsts = counts.cumsum() - counts
        rows = (knowledge.chunk_starts[species.items[has]] - firsts).repeat(counts) + np.arange(counts.sum())
        found = scores[species.photos[has].repeat(counts), rows]
        winners = np.flatnonzero(found == np.maximum.reduceat(found, firsts).repeat(counts))
        best[has] = rows[winners[winners.searchsorted(firsts)]]
    return Pairs(species.photos, best)


def _scaled(scores: Scores, species: Pairs, queries: FloatArray, sample: FloatArray) -> Scores:
    """Return scores standardised by mean and deviation of each photo's over a sample of the knowledge base.

    They are 0 for NaN, or where all scores of the sample are equal. `queries` are `(n_photos, dim)`; where `scores` are
    a mean over encoders, query and sample have the columns of all.
    """
    if not len(sample):
        return np.zeros(len(scores))
    sampled = cosines(queries, sample).astype(np.float64)
    means, deviations = sampled.mean(axis=1), sampled.std(axis=1)
    stretch = np.where(deviations < _ALIKE, 0.0, 1 / np.maximum(deviations, _ALIKE))
    return or_zero((scores - means[species.photos]) * stretch[species.photos])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a preset; None keeps the preset's own value."""

    m: int | None = None
    """Size of the pool."""
    weights: FusionWeights | None = None
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
        ConfigError: if the preset is unknown.
        UsageError: if a preset other than `default` gets weights.
    """
    if name not in PRESETS:
        raise ConfigError(f'Unknown preset "{name}". Expected one of {", ".join(sorted(PRESETS))}.')
    if settings.weights is not None and name != "default":
        raise UsageError(f"The preset {name} has no weights.")


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
        options["weights"] = settings.weights or weights_of(settings.profile, knowledge)
    return PRESETS[name](knowledge, queries, **options)
