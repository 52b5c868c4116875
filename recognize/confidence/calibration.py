"""Calibrated confidence: probabilities and the answer from the scores of one photo.

A calibration is valid for one knowledge base and the encoders, preset and weights of its fit. It gives the probability
that the first species, its genus and its family are right, *given that the species is in the knowledge base*, and the
probability that it is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Final, Literal

import numpy as np

from data.arrays import IntArray
from data.codec import dumps, loads, to_json
from data.errors import StoreError
from data.files import sha256_hex, write_atomic
from data.records import Answer, PhotoStatus, Taxon
from recognize.scoring.exact import or_zero
from recognize.scoring.fusion import AnchorMode, FusionWeights
from recognize.scoring.stages import N_SHOWN, Ranking

SCHEMA: Final = 1
N_JUDGED: Final = 50
"""Number of best species behind a confidence; their scores are exact in every batch."""
FEATURES: Final = (
    "bias", "mass", "level", "trained_mass", "is_trained", "prototype", "visual", "best_prototype", "best_visual",
    "text",
)  # fmt: skip
"""Features of the logistic models; see `Evidence`."""

JudgedRank = Literal["species", "genus", "family"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family")
Lineage = Mapping[str, str]
"""Rank -> name for one species, with `genus` and `family` if known."""

_CERTAIN: Final = 1e-6  # masses are clipped to this distance from 0 and 1
CHANCE_DIGITS: Final = 4  # far below the calibration error of a hundredth


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Features of the ranking of one photo."""

    masses: Mapping[JudgedRank, float]
    """Softmax of the scores, summed over the first species, its genus, its family."""
    level: float
    """Log-sum-exp of the scores, high if any species fits."""
    trained_mass: float
    """Softmax summed over the species that the visual encoder was trained on."""
    is_trained: bool
    """Whether the visual encoder was trained on the first species."""
    prototype: float
    """Cosine of the photo to the prototype of the first species, 0 without one; `visual` and `text` likewise."""
    visual: float
    text: float
    best_prototype: float
    """Maximum over the first ten species."""
    best_visual: float

    def row(self, rank: JudgedRank) -> tuple[float, ...]:
        """Return the values of `FEATURES` for a rank; the mass as a logit."""
        mass = min(max(self.masses[rank], _CERTAIN), 1 - _CERTAIN)
        return (
            1.0, log(mass / (1 - mass)), self.level, self.trained_mass, float(self.is_trained),
            self.prototype, self.visual, self.best_prototype, self.best_visual, self.text,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Fitted parameters of one anchor mode: feature -> coefficient of four logistic functions."""

    weights: FusionWeights
    """Weights of the preset at fitting time."""
    temperature: float
    """Divisor of the scores before the softmax."""
    species: Mapping[str, float]
    genus: Mapping[str, float]
    family: Mapping[str, float]
    unknown: Mapping[str, float]
    """Fitted with equally many photos of unknown and known species."""

    def __post_init__(self) -> None:
        for model in (self.species, self.genus, self.family, self.unknown):
            if set(model) != set(FEATURES):
                raise StoreError(f"expected coefficients of {', '.join(FEATURES)}, got {', '.join(sorted(model))}")
        if not self.temperature > 0:
            raise StoreError(f"expected a temperature above 0, got {self.temperature}")

    def chance(self, model: Mapping[str, float], row: Sequence[float]) -> float:
        """Return the logistic function of a row of features."""
        # Faster than NumPy for ten numbers.
        return _logistic(sum(model[name] * value for name, value in zip(FEATURES, row, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Calibrated probabilities for one photo, in [0, 1]."""

    confidence: Mapping[JudgedRank, float]
    """Of the first species, its genus and its family, given that the species is in the knowledge base."""
    unknown: float
    """Probability that the species is not in the knowledge base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration of one knowledge base, preset and set of encoders."""

    schema: int = SCHEMA
    profile: str
    preset: str
    spaces: tuple[str, ...]
    vocabulary: str
    """`vocabulary_hash` of the knowledge base."""
    parameters: Mapping[AnchorMode, Parameters]
    fitted_on: str = ""
    """Description of the fitting data."""

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the contents."""
        return sha256_hex(dumps(self))[:12]

    def misfit(
        self, *, profile: str, preset: str, spaces: Sequence[str], taxon_ids: Sequence[str], mode: AnchorMode,
        weights: FusionWeights | None,
    ) -> str:  # fmt: skip
        """Return the reason that the calibration does not apply, a verb phrase; empty if it applies."""
        if (self.profile, self.spaces) != (profile, tuple(spaces)):
            return "was made with other models"
        if self.preset != preset:
            return f"was made for the preset {self.preset}"
        if self.vocabulary != vocabulary_hash(taxon_ids):
            return "was made for other species than the knowledge base holds now"
        if mode not in self.parameters:
            return f"was not made for {mode} anchors a species"
        if weights is None or self.parameters[mode].weights != weights:
            return "was made with other weights"
        return ""


def vocabulary_hash(taxon_ids: Sequence[str]) -> str:
    """Return a hash of a set of species, independent of the order.

    Example:
        >>> vocabulary_hash(["pica-pica", "bubo-bubo"]) == vocabulary_hash(["bubo-bubo", "pica-pica"])
        True
    """
    return sha256_hex("\n".join(sorted(taxon_ids)))


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file; raise `StoreError` if it is not one of this schema."""
    try:
        calibration = loads(Calibration, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    except StoreError as error:
        raise StoreError(f"{path}: {error}", hint="Without this file, answers have no confidence.") from error
    if calibration.schema != SCHEMA:
        raise StoreError(f"{path} is a calibration of schema {calibration.schema}, expected {SCHEMA}")
    return calibration


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration."""
    write_atomic(path, (json.dumps(to_json(calibration), indent=1, sort_keys=True) + "\n").encode())


def find_evidence(
    ranking: Ranking, trained: IntArray, lineages: Callable[[IntArray], Sequence[Lineage]], *, temperature: float
) -> Evidence:
    """Return the features of the ranking of one photo, with at least one species.

    Args:
        ranking: a ranking of the default preset with the stages of the first `N_JUDGED` species.
        trained: `Knowledge.trained`, ascending.
        lineages: species -> lineages.
        temperature: divisor of the scores.
    """
    species = ranking.species[:N_JUDGED]
    scores = ranking.scores[:N_JUDGED] / temperature
    level = float(np.logaddexp.reduce(scores))
    chances = np.exp(scores - level)
    is_trained = np.searchsorted(trained, species, side="right") > np.searchsorted(trained, species)
    found = lineages(species)
    shares: list[float] = chances.tolist()
    masses: dict[JudgedRank, float] = {"species": shares[0]}
    for rank in RANKS[1:]:
        name = found[0].get(rank)
        same = (share for share, lineage in zip(shares, found, strict=True) if lineage.get(rank) == name)
        masses[rank] = sum(same) if name else shares[0]
    nothing = np.zeros(len(species))
    prototype, visual, text = (or_zero(ranking.stages.get(stage, nothing)) for stage in ("prototype", "visual", "text"))
    return Evidence(
        masses=masses,
        level=level,
        trained_mass=float(chances @ is_trained),
        is_trained=bool(is_trained[0]),
        prototype=float(prototype[0]),
        visual=float(visual[0]),
        text=float(text[0]),
        best_prototype=float(prototype[:N_SHOWN].max()),
        best_visual=float(visual[:N_SHOWN].max()),
    )


def chances_of(evidence: Evidence, parameters: Parameters, *, unknown_prior: float) -> Chances:
    """Return the probabilities for one photo; a genus is at least as probable as its species, a family as its genus.

    Args:
        evidence: features of the photo.
        parameters: parameters of the anchor mode of the knowledge base.
        unknown_prior: prior probability that a photo shows a species outside the knowledge base; above 0, below 1.
    """
    if not 0 < unknown_prior < 1:
        raise ValueError(f"expected a prior probability between 0 and 1, got {unknown_prior}")
    models = (parameters.species, parameters.genus, parameters.family)
    confidence: dict[JudgedRank, float] = {}
    least = 0.0
    for rank, model in zip(RANKS, models, strict=True):
        least = max(least, parameters.chance(model, evidence.row(rank)))
        confidence[rank] = round(least, CHANCE_DIGITS)
    # Fitted with a prior of one half: Bayes' rule for another prior multiplies the odds.
    even = parameters.chance(parameters.unknown, evidence.row("species"))
    odds = even / (1 - even) * unknown_prior / (1 - unknown_prior) if even < 1 else np.inf
    unknown = float(odds / (1 + odds)) if np.isfinite(odds) else 1.0
    return Chances(confidence=confidence, unknown=round(unknown, CHANCE_DIGITS))


def answer_of(first: Taxon | None, chances: Chances | None, lineage: Lineage, *, min_confidence: float) -> Answer:
    """Return the answer for a photo.

    Without chances it is the first species with a null confidence. With them it is `none` with a confidence (*not in
    the knowledge base*) if that is more likely than not; else the lowest rank of the first species with enough
    confidence; else `none` without a confidence (*not sure*).
    """
    if first is None:
        return Answer(rank="none", name="")
    family, order = lineage.get("family"), lineage.get("order")
    if chances is None:
        return Answer(
            rank="species", name=first.scientific_name, common_name=first.common_name, family=family, order=order
        )
    unknown = chances.unknown
    if unknown > 0.5:
        return Answer(rank="none", name="", confidence=unknown, p_unknown=unknown)
    for rank in RANKS:
        confidence = chances.confidence[rank]
        if confidence < min_confidence:
            continue
        if rank == "species":
            return Answer(
                rank=rank, name=first.scientific_name, common_name=first.common_name, confidence=confidence,
                p_unknown=unknown, family=family, order=order,
            )  # fmt: skip
        if rank in lineage:
            return Answer(
                rank=rank, name=lineage[rank], confidence=confidence, p_unknown=unknown, family=family, order=order
            )
    return Answer(rank="none", name="", p_unknown=unknown)


def status_of(answer: Answer) -> PhotoStatus:
    """Return the status of a photo with this answer.

    Example:
        >>> status_of(Answer(rank="genus", name="Larus")), status_of(Answer(rank="none", name=""))
        ('identified', 'not_sure')
    """
    if answer.rank != "none":
        return "identified"
    return "not_sure" if answer.confidence is None else "unknown"


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-min(max(x, -50.0), 50.0)))
