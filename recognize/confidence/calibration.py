"""How sure an answer is: from the scores of one photo to chances that were measured.

A calibration belongs to one knowledge base, and to the encoders, preset and weights that it was fitted with; with any
other it is not used. It says how likely the first species is right, and its genus, and its family, *given that the bird
is in the knowledge base*; and how likely it is not in there at all.
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
from recognize.scoring.exact import or_zero
from recognize.scoring.fusion import AnchorMode, FusionWeights
from recognize.scoring.stages import N_SHOWN, Ranking

SCHEMA: Final = 1
N_JUDGED: Final = 50
"""Species of a photo that are weighed against each other: the best ones, whose scores are exact in every batch."""
FEATURES: Final = (
    "bias", "mass", "level", "trained_mass", "is_trained", "known", "visual", "best_known", "best_visual", "text"
)  # fmt: skip
"""What the chances are made of; `Evidence` says what each is."""

JudgedRank = Literal["species", "genus", "family"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family")
Lineage = Mapping[str, str]
"""Rank -> name, of one species; holds `genus` and `family` where these are known."""

_CERTAIN: Final = 1e-6  # a mass this near to 0 or 1 counts as that much
_DIGITS: Final = 4  # of chances; a calibration error of a hundredth makes more of them idle


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the ranking of one photo says for its first species, and for there being anything to find."""

    masses: Mapping[JudgedRank, float]
    """The softmax of the scores, summed over the first species, over its genus, over its family."""
    level: float
    """The logarithm of the summed powers of all scores: high where anything fits at all."""
    trained_mass: float
    """The softmax summed over species that the visual encoder was trained on."""
    is_trained: bool
    """Whether the first species is one of these."""
    known: float
    """The first species' cosine to what was learnt of it, and so on by stage; 0 for what it lacks."""
    visual: float
    text: float
    best_known: float
    """The best among the first ten species."""
    best_visual: float

    def row(self, rank: JudgedRank) -> tuple[float, ...]:
        """Return the numbers of `FEATURES` for the chance of a rank; the mass as a logit."""
        mass = min(max(self.masses[rank], _CERTAIN), 1 - _CERTAIN)
        return (
            1.0, log(mass / (1 - mass)), self.level, self.trained_mass, float(self.is_trained),
            self.known, self.visual, self.best_known, self.best_visual, self.text,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What was fitted for one kind of anchors; each model is feature -> coefficient of a logistic function."""

    weights: FusionWeights
    """The weights of the preset that the scores were made with."""
    temperature: float
    """What scores are divided by before the softmax."""
    species: Mapping[str, float]
    genus: Mapping[str, float]
    family: Mapping[str, float]
    absent: Mapping[str, float]
    """Fitted on as many photos of absent birds as of present ones."""

    def __post_init__(self) -> None:
        for model in (self.species, self.genus, self.family, self.absent):
            if set(model) != set(FEATURES):
                raise StoreError(f"expected coefficients of {', '.join(FEATURES)}, got {', '.join(sorted(model))}")
        if not self.temperature > 0:
            raise StoreError(f"expected a temperature above 0, got {self.temperature}")

    def chance(self, model: Mapping[str, float], row: Sequence[float]) -> float:
        """Return the logistic function of a row of features."""
        # Four of these for each photo: ten numbers are added sooner than handed to NumPy.
        return _logistic(sum(model[name] * value for name, value in zip(FEATURES, row, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """What a calibration says of one photo; all in [0, 1]."""

    confidence: Mapping[JudgedRank, float]
    """That the first species, its genus, its family is the right one, given that the bird is in the knowledge base."""
    absent: float
    """That the bird is not in the knowledge base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Chances for the photos asked of one knowledge base."""

    schema: int = SCHEMA
    profile: str
    preset: str
    spaces: tuple[str, ...]
    vocabulary: str
    """`vocabulary_hash` of the knowledge base."""
    parameters: Mapping[AnchorMode, Parameters]
    fitted_on: str = ""
    """What it was fitted on, in words."""

    @property
    def id(self) -> str:
        """What tells this calibration from others: 12 hex digits of the SHA-256 of all that it holds."""
        return sha256_hex(dumps(self))[:12]

    def fits(
        self, *, profile: str, preset: str, spaces: Sequence[str], taxon_ids: Sequence[str], mode: AnchorMode,
        weights: FusionWeights,
    ) -> bool:  # fmt: skip
        """Return whether it was made for these encoders, this preset with these weights, and exactly these species."""
        return not self.misfit(
            profile=profile, preset=preset, spaces=spaces, taxon_ids=taxon_ids, mode=mode, weights=weights
        )

    def misfit(
        self, *, profile: str, preset: str, spaces: Sequence[str], taxon_ids: Sequence[str], mode: AnchorMode,
        weights: FusionWeights | None,
    ) -> str:  # fmt: skip
        """Return why it does not hold for what is asked, as a clause on it; nothing where it does."""
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
    """Return what tells a set of species from any other, in whatever order they come.

    Example:
        >>> vocabulary_hash(["pica-pica", "bubo-bubo"]) == vocabulary_hash(["bubo-bubo", "pica-pica"])
        True
    """
    return sha256_hex("\n".join(sorted(taxon_ids)))


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file.

    Raises:
        StoreError: if it is no calibration, or one of another schema.
    """
    try:
        calibration = loads(Calibration, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    except StoreError as error:
        raise StoreError(f"{path}: {error}", hint="without the file answers have no confidence") from error
    if calibration.schema != SCHEMA:
        raise StoreError(f"{path} is a calibration of schema {calibration.schema}, expected {SCHEMA}")
    return calibration


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration."""
    write_atomic(path, (json.dumps(to_json(calibration), indent=1, sort_keys=True) + "\n").encode())


def find_evidence(
    ranking: Ranking, known: IntArray, lineages: Callable[[IntArray], Sequence[Lineage]], *, temperature: float
) -> Evidence:
    """Return the evidence in the ranking of one photo, which needs at least one species.

    Args:
        ranking: of the default preset, with the stages of the first `N_JUDGED` species.
        known: `Knowledge.known` of what was ranked, ascending.
        lineages: gives the lineages of some species.
        temperature: what scores are divided by.
    """
    species = ranking.species[:N_JUDGED]
    scores = ranking.scores[:N_JUDGED] / temperature
    level = float(np.logaddexp.reduce(scores))
    chances = np.exp(scores - level)
    is_trained = np.searchsorted(known, species, side="right") > np.searchsorted(known, species)
    found = lineages(species)
    shares: list[float] = chances.tolist()
    masses: dict[JudgedRank, float] = {"species": shares[0]}
    for rank in RANKS[1:]:
        name = found[0].get(rank)
        same = (share for share, lineage in zip(shares, found, strict=True) if lineage.get(rank) == name)
        masses[rank] = sum(same) if name else shares[0]
    nothing = np.zeros(len(species))
    learnt, visual, text = (or_zero(ranking.stages.get(stage, nothing)) for stage in ("known", "visual", "text"))
    return Evidence(
        masses=masses,
        level=level,
        trained_mass=float(chances @ is_trained),
        is_trained=bool(is_trained[0]),
        known=float(learnt[0]),
        visual=float(visual[0]),
        text=float(text[0]),
        best_known=float(learnt[:N_SHOWN].max()),
        best_visual=float(visual[:N_SHOWN].max()),
    )


def chances_of(evidence: Evidence, parameters: Parameters, *, absent_share: float) -> Chances:
    """Return the chances that go with the evidence of one photo.

    A genus is never less likely than its species, nor a family than its genus.

    Args:
        evidence: of the photo.
        parameters: of the anchor mode of the knowledge base.
        absent_share: the share of photos whose bird is not in the knowledge base, as far as one can tell beforehand;
            above 0, below 1.

    Raises:
        ValueError: for a share that is none.
    """
    if not 0 < absent_share < 1:
        raise ValueError(f"expected a share of absent birds between 0 and 1, got {absent_share}")
    models = (parameters.species, parameters.genus, parameters.family)
    confidence: dict[JudgedRank, float] = {}
    least = 0.0
    for rank, model in zip(RANKS, models, strict=True):
        least = max(least, parameters.chance(model, evidence.row(rank)))
        confidence[rank] = round(least, _DIGITS)
    # Fitted on halves: Bayes' rule for another share moves the logit by the logarithm of its odds.
    even = parameters.chance(parameters.absent, evidence.row("species"))
    odds = even / (1 - even) * absent_share / (1 - absent_share) if even < 1 else np.inf
    absent = float(odds / (1 + odds)) if np.isfinite(odds) else 1.0
    return Chances(confidence=confidence, absent=round(absent, _DIGITS))


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-min(max(x, -50.0), 50.0)))
