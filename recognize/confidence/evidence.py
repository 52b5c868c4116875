"""Evidence for a confidence: features of a ranking and of vectors that every knowledge base and preset has.

The *background* are the prototypes of species that the model knows and the knowledge base does not hold. A photo that
fits one of them better than any species of the knowledge base probably shows a species outside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.codec import from_json
from data.records import Detection, Taxon, taxon_id
from data.starter.knowledge import SPECIES_FILE, read_bytes
from recognize.answers import RANKS, Lineage
from recognize.detect.birds import CLASSES, SURE
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import anchor_mode
from recognize.scoring.ranking import Ranking, Scores, cosines, or_zero

Mode = Literal["none", "single", "several", "complete"]
"""Number of anchors of the species that have any, on average; `complete`: several, of nearly all species that the model
knows."""

N_JUDGED: Final = 50
"""Number of best species behind the masses; all features of a ranking are theirs."""
LEAST_BACKGROUND: Final = 0.05
"""A background of at most this share of the model's species says too little on unknown birds, and counts as none."""
N_CROWD: Final = 20
"""Number of most similar species behind `crowd`."""
SHARPNESS: Final = 25.0
"""Inverse temperature of `background_mass`."""
FEATURES: Final = (
    "bias",
    "mass_species", "mass_genus", "mass_family", "mass_order",  # logits of softmax masses, see `_masses`
    "level",  # log-sum-exp of the scores: high if any species fits
    "prototype", "visual", "text",  # cosines of the first species: prototype, centroid of anchors, text
    "best_prototype", "best_visual",  # maximum over all species
    "best_text",  # maximum over the species behind the masses
    "best_look",  # maximum over all species with looks, those of the background too: low for a poor look at any bird
    "crowd",  # mean of the `N_CROWD` highest of these
    "has_prototype", "has_visual", "has_text",  # of the first species, 0 or 1
    "log_anchors",  # log(1 + anchors of the first species)
    "log_species",  # log of the number of species
    "background_margin",  # best cosine of the background, less the best of the knowledge base; 0 without a background
    "background_mass",  # logit of the softmax mass of the background, against the knowledge base
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
    """Return the mode of a knowledge base."""
    if not len(knowledge.anchors.owners):
        return "none"
    mode, n_trained = anchor_mode(knowledge), len(knowledge.trained)
    is_complete = n_trained > 0 and not has_background(len(knowledge.background), n_trained)
    return "complete" if is_complete and mode == "several" else mode


def has_background(n_background: int, n_trained: int) -> bool:
    """Return whether the model knows enough species that the knowledge base does not hold."""
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
    visual, seen = queries.visual, knowledge.with_anchors
    prototypes, centroids, background = (
        cosines(visual, matrix).astype(np.float64) if len(matrix) else np.empty((len(visual), 0))
        for matrix in (knowledge.prototypes, knowledge.centroids[seen], knowledge.background)
    )
    looks = np.concatenate([prototypes, centroids[:, knowledge.prototype_rows[seen] < 0]], axis=1)
    outside = _background_features(looks, background, len(knowledge.trained))
    best_prototype, best_visual = _best(prototypes), _best(centroids)
    every = np.concatenate([looks, background], axis=1)
    best_look = _best(every)
    crowd = np.sort(every, axis=1)[:, -N_CROWD:].mean(axis=1) if every.shape[1] else best_look
    likest, likeness = np.full(len(visual), -1), np.zeros(len(visual))
    if background.shape[1]:
        likest = background.argmax(axis=1)
        likeness = np.exp(SHARPNESS * background.max(axis=1) - _level(every))
    log_species = float(np.log(knowledge.n_species))
    rows = np.zeros((len(rankings), len(FEATURES)))
    for photo, ranking in enumerate(rankings):
        if not len(ranking.species):
            continue
        first = int(ranking.species[0])
        found = lineages(ranking.species[:N_JUDGED])
        masses, level = _masses(ranking, found, temperature)
        row, at = int(knowledge.prototype_rows[first]), int(np.searchsorted(seen, first))
        has_anchors = bool(knowledge.anchor_counts[first])
        text = or_zero(ranking.stages.get("text", np.zeros(1))[:N_JUDGED])
        rows[photo] = (
            1.0, *masses, level,
            prototypes[photo, row] if row >= 0 else 0.0, centroids[photo, at] if has_anchors else 0.0, text[0],
            best_prototype[photo], best_visual[photo], text.max(), best_look[photo], crowd[photo],
            row >= 0, has_anchors, knowledge.chunk_counts[first] > 0,
            np.log1p(knowledge.anchor_counts[first]), log_species,
            *outside[photo],
        )  # fmt: skip
    return Evidence(rows=rows, likest=likest, likeness=likeness)


def _masses(ranking: Ranking, lineages: Sequence[Lineage], temperature: float) -> tuple[list[float], float]:
    """Return the logits of the masses of `RANKS`, and the level of the scores.

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
    return logits, level


def _background_features(looks: Scores, background: Scores, n_trained: int) -> Scores:
    """Return the margin, mass and share of the background, `(n, 3)`; 0 without one."""
    n_photos, n_background = background.shape
    found = np.zeros((n_photos, 3))
    if not has_background(n_background, n_trained):
        return found
    found[:, 2] = n_background / (n_background + n_trained)
    if looks.shape[1]:
        found[:, 0] = background.max(axis=1) - looks.max(axis=1)
        found[:, 1] = _level(background) - _level(looks)
    return found


def _level(cosines: Scores) -> Scores:
    """Return the log-sum-exp of each row at `SHARPNESS`."""
    top = cosines.max(axis=1)
    level: NDArray[np.float64] = SHARPNESS * top + np.log(np.exp(SHARPNESS * (cosines - top[:, None])).sum(axis=1))
    return level


def _best(cosines: Scores) -> Scores:
    return cosines.max(axis=1) if cosines.shape[1] else np.zeros(len(cosines))


LONELY: Final = 0.02
"""Share of the reference photos that are lonelier than the loneliest ordinary ones. A strange photo is lonelier still,
by half of their distance to the median, in cosines. Of birds as an unknown group, under 1 % of the photos of known
species are strange, 1 to 2 % of those of other birds, and all pictures of other groups (`benchmarks.other_groups`)."""
LEAST_PHOTOS: Final = 8
"""Reference photos that say how alike they are."""
_COMPARED: Final = 1_024  # reference photos compared with the others, evenly spaced
_BLOCK: Final = 128


class Familiarity:
    """Tells whether a photo is like the reference photos of a knowledge base, by vectors that no species shaped."""

    def __init__(self, knowledge: Knowledge, lineages: Callable[[IntArray], Sequence[Lineage]]) -> None:
        """Keep the knowledge base and the reader of the lineages of its species."""
        self._knowledge, self._lineages = knowledge, lineages

    def is_strange(self, vector: FloatArray, detections: Sequence[Detection]) -> bool:
        """Return whether a photo is unlike all reference photos, or shows an animal that is none of the species.

        The detector's word counts where no reference photo is as like the photo as half of them are to others; without
        enough reference photos it decides alone. `vector` is the vector of the photo, `(dim,)`.
        """
        is_other = self._is_other(detections)
        likeness, anchors = self._likeness, self._knowledge.anchors.vectors
        if len(likeness) < LEAST_PHOTOS:
            return is_other
        unit = vector / max(float(np.linalg.norm(vector)), 1e-9)
        lonely, median = np.quantile(likeness, (LONELY, 0.5)).tolist()
        least = median if is_other else lonely - (median - lonely) / 2
        return bool((anchors @ unit).max() < least)

    def _is_other(self, detections: Sequence[Detection]) -> bool:
        """Return whether the detector is sure of an animal, and no species is of its class."""
        seen = {CLASSES[each.kind] for each in detections if each.kind in CLASSES and each.score >= SURE}
        return bool(seen) and None not in self._classes and not seen & self._classes

    @cached_property
    def _classes(self) -> set[str | None]:
        """Classes of the species; None for a species whose class is not known."""
        return {lineage.get("class") for lineage in self._lineages(np.arange(self._knowledge.n_species))}

    @cached_property
    def _likeness(self) -> FloatArray:
        """Cosine of reference photos to the nearest other one."""
        anchors = np.asarray(self._knowledge.anchors.vectors)
        chosen = np.unique(np.linspace(0, max(0, len(anchors) - 1), _COMPARED).astype(np.intp))[: len(anchors)]
        found = []
        for start in range(0, len(chosen), _BLOCK):
            rows = chosen[start : start + _BLOCK]
            cosines = anchors[rows] @ anchors.T
            cosines[np.arange(len(rows)), rows] = -1.0
            found.append(cosines.max(axis=1))
        return np.concatenate(found) if found else np.empty(0, dtype=np.float32)


LIKENESS: Final = 0.5
"""Softmax mass of a look-alike among background and knowledge base, at least."""


@lru_cache(maxsize=4_096)
def taxon_of(scientific_name: str) -> Taxon:
    """Return a species as it ships with Fieldmark; one with its scientific name and genus alone if it does not."""
    id = taxon_id(scientific_name)
    found = _shipped().get(id)
    if found is not None:
        return from_json(Taxon, found)
    return Taxon(
        taxon_id=id, scientific_name=scientific_name, rank="species", lineage={"genus": scientific_name.split(" ")[0]}
    )


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    """Return id -> taxon in JSON; `read_species` takes ten times as long."""
    taxa = (json.loads(line)["taxon"] for line in read_bytes(SPECIES_FILE).decode().splitlines())
    return {taxon["taxon_id"]: taxon for taxon in taxa}
