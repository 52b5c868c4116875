"""Evidence for a confidence: features of a ranking and of vectors that every knowledge base and preset has.

The *background* are the prototypes of species that the model knows and the knowledge base does not hold. A photo that
fits one of them better than any species of the knowledge base probably shows a species outside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from recognize.confidence.ranks import RANKS, Lineage, lineage_of
from recognize.scoring.exact import or_zero, rounded
from recognize.scoring.fusion import anchor_mode
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.pairs import Scores
from recognize.scoring.stages import Queries, Ranking

Mode = Literal["none", "single", "several"]
"""Number of anchors of the species that have any, on average."""

N_JUDGED: Final = 50
"""Number of best species behind the masses; their scores are exact in every batch."""
LEAST_BACKGROUND: Final = 0.05
"""A background of at most this share of the model's species says too little on unknown birds, and counts as none."""
SHARPNESS: Final = 25.0
"""Inverse temperature of `background_mass`."""
FEATURES: Final = (
    "bias",
    "mass_species", "mass_genus", "mass_family", "mass_order",  # logits of softmax masses, see `_masses`
    "level",  # log-sum-exp of the scores: high if any species fits
    "trained_mass",  # mass of the species with a prototype
    "prototype", "visual", "text",  # cosines of the first species: prototype, centroid of anchors, text
    "best_prototype", "best_visual",  # maximum over all species
    "best_text",  # maximum over the species behind the masses
    "has_prototype", "has_visual", "has_text",  # of the first species, 0 or 1
    "log_anchors",  # log(1 + anchors of the first species)
    "log_species",  # log of the number of species
    "has_background",  # 0 or 1; without a background, the features below are 0
    "background",  # best cosine
    "background_margin",  # best cosine, less the best of the knowledge base
    "background_mass",  # logit of the softmax mass of the background, against the knowledge base
    "background_genus", "background_family", "background_order",  # 1 if its best species shares that of the first
    "background_share",  # share of the model's species that are background
)  # fmt: skip
"""Features of the logistic models, plain numbers; a missing one is 0."""

_CERTAIN: Final = 1e-6  # masses are clipped to this distance from 0 and 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence of the rankings of n photos."""

    rows: Scores
    """`(n, len(FEATURES))`."""
    likest: IntArray
    """Row of `Knowledge.background` most similar to each photo, `(n,)`; -1 without a background."""
    likeness: Scores
    """Softmax mass of that species among background and knowledge base, `(n,)`; 0 without a background."""


def mode_of(knowledge: Knowledge) -> Mode:
    """Return whether the species of a knowledge base have no anchors, one or several."""
    return anchor_mode(knowledge) if len(knowledge.anchors.owners) else "none"


def has_background(knowledge: Knowledge) -> bool:
    """Return whether the model knows enough species outside the knowledge base for evidence on unknown birds."""
    return _is_background(len(knowledge.background), len(knowledge.trained))


def _is_background(n_background: int, n_trained: int) -> bool:
    return n_background > LEAST_BACKGROUND * (n_background + n_trained)


def find_evidence(
    rankings: Sequence[Ranking],
    queries: Queries,
    knowledge: Knowledge,
    lineages: Callable[[IntArray], Sequence[Lineage]],
    *,
    temperature: float,
) -> Evidence:
    """Return the evidence of photos, independent of their batch.

    Args:
        rankings: a ranking of any preset for each photo, with the stages of the first `N_JUDGED` species; the features
            of an empty one are 0.
        queries: vectors of the photos.
        knowledge: the knowledge base that was ranked.
        lineages: species -> lineages.
        temperature: divisor of the scores before the softmax.
    """
    visual = queries.visual.astype(np.float64)
    prototypes, centroids, background = (
        rounded(visual @ matrix.T) if len(matrix) else np.empty((len(visual), 0)) for matrix in knowledge.exact_looks
    )
    seen, is_new = knowledge.with_anchors, knowledge.prototype_rows[knowledge.with_anchors] < 0
    looks = np.concatenate([prototypes, centroids[:, is_new]], axis=1)
    outside = _background_features(looks, background, len(knowledge.trained))
    likest, likeness = np.full(len(visual), -1), np.zeros(len(visual))
    if background.shape[1]:
        likest = background.argmax(axis=1)
        likeness = np.exp(SHARPNESS * background.max(axis=1) - _level(np.concatenate([looks, background], axis=1)))
    best_prototype, best_visual = _best(prototypes), _best(centroids)
    log_species = float(np.log(knowledge.n_species))
    rows = np.zeros((len(rankings), len(FEATURES)))
    for photo, ranking in enumerate(rankings):
        if not len(ranking.species):
            continue
        first = int(ranking.species[0])
        found = lineages(ranking.species[:N_JUDGED])
        masses, level, trained_mass = _masses(ranking, found, knowledge, temperature)
        row, at = int(knowledge.prototype_rows[first]), int(np.searchsorted(seen, first))
        has_anchors = bool(knowledge.anchor_counts[first])
        text = or_zero(ranking.stages.get("text", np.zeros(1))[:N_JUDGED])
        alike = lineage_of(knowledge.background_names[likest[photo]]) if has_background(knowledge) else {}
        rows[photo] = (
            1.0, *masses, level, trained_mass,
            prototypes[photo, row] if row >= 0 else 0.0, centroids[photo, at] if has_anchors else 0.0, text[0],
            best_prototype[photo], best_visual[photo], text.max(),
            row >= 0, has_anchors, knowledge.chunk_counts[first] > 0,
            np.log1p(knowledge.anchor_counts[first]), log_species,
            *outside[photo, :4], *(alike.get(rank, "") == found[0].get(rank) for rank in RANKS[1:]), outside[photo, 4],
        )  # fmt: skip
    return Evidence(rows=rows, likest=likest, likeness=likeness)


def _masses(
    ranking: Ranking, lineages: Sequence[Lineage], knowledge: Knowledge, temperature: float
) -> tuple[list[float], float, float]:
    """Return the logits of the masses of `RANKS`, the level of the scores, and the mass of species with a prototype.

    A species of score 0 competes too, which is an average one in the default preset: else the only species of a
    knowledge base would have all the mass. In presets that score by cosines it is too low to matter.
    """
    scores = ranking.scores[:N_JUDGED] / temperature
    level = float(np.logaddexp.reduce(scores))
    shares = np.exp(scores - np.logaddexp(level, 0.0))
    same = np.zeros(len(shares), dtype=np.bool_)
    same[0] = True
    logits = []
    for rank in RANKS:
        if name := lineages[0].get(rank):
            same = same | np.array([lineage.get(rank) == name for lineage in lineages])
        mass = min(max(float(shares[same].sum()), _CERTAIN), 1 - _CERTAIN)
        logits.append(float(np.log(mass / (1 - mass))))
    is_trained = knowledge.prototype_rows[ranking.species[:N_JUDGED]] >= 0
    return logits, level, float(shares[is_trained].sum())


def _background_features(looks: Scores, background: Scores, n_trained: int) -> Scores:
    """Return has_background, background, its margin, mass and share, `(n, 5)`."""
    n_photos, n_background = background.shape
    found = np.zeros((n_photos, 5))
    if not _is_background(n_background, n_trained):
        return found
    best = background.max(axis=1)
    found[:, 0], found[:, 1] = 1.0, best
    found[:, 4] = n_background / (n_background + n_trained)
    if looks.shape[1]:
        found[:, 2] = best - looks.max(axis=1)
        found[:, 3] = _level(background) - _level(looks)
    return found


def _level(cosines: Scores) -> Scores:
    """Return the log-sum-exp of each row at `SHARPNESS`."""
    top = cosines.max(axis=1)
    level: NDArray[np.float64] = SHARPNESS * top + np.log(np.exp(SHARPNESS * (cosines - top[:, None])).sum(axis=1))
    return level


def _best(cosines: Scores) -> Scores:
    return cosines.max(axis=1) if cosines.shape[1] else np.zeros(len(cosines))
