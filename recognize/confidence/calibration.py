"""Calibrations: fitted coefficients that turn evidence into chances, their file, and these chances.

The *shipped* calibration of a profile is estimated for any knowledge base; `kb calibrate` makes an *own* one for the
species and preset of one knowledge base.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.codec import dumps, load_json, loads, to_json
from data.errors import StoreError
from data.files import sha256_hex
from data.records import vocabulary_hash
from recognize.answers import RANKS, JudgedRank, Lineage
from recognize.confidence.evidence import FEATURES, N_JUDGED, Mode
from recognize.scoring.presets import FusionWeights
from recognize.scoring.ranking import Ranking, Scores
from recognize.settings import UNKNOWN_PRIOR

SCHEMA: Final = 3
SHIPPED: Final = Path(__file__).resolve().parents[1] / "starter" / "weights" / "calibration.json"
"""File of the shipped calibration."""

ESTIMATED: Final = "estimated-"
"""Start of the id of the shipped calibration."""

Coefficients = Mapping[str, float]
"""Feature -> coefficient of a logistic function; 0 for a missing feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Fitted parameters of one preset and anchor mode."""

    temperature: float
    """Divisor of the scores before the softmax."""
    held: Mapping[JudgedRank, Coefficients]
    """Chance that the first species, its genus, family and order are right, if the species is in the knowledge base. A
    missing rank is as likely as the next lower one."""
    unknown: Coefficients
    """Chance that the species is not in the knowledge base, fitted with equally many photos of both kinds."""
    poor_look: float = -1.0
    """Below this `best_look` a photo says little on that: a small or blurred bird resembles none."""
    weights: FusionWeights | None = None
    """Weights of the preset at fitting time, if it has any."""

    def __post_init__(self) -> None:
        for model in (*self.held.values(), self.unknown):
            if unknown := sorted(set(model) - set(FEATURES)):
                raise StoreError(f"expected coefficients of {', '.join(FEATURES)}, got {', '.join(unknown)}")
        if "species" not in self.held:
            raise StoreError("expected coefficients of the species")
        if not self.temperature > 0:
            raise StoreError(f"expected a temperature above 0, got {self.temperature}")


def chances_by(model: Coefficients, rows: Scores) -> Scores:
    """Return the logistic function of rows of features, `(n,)`."""
    vector = np.array([model.get(name, 0.0) for name in FEATURES])
    return logistic(np.einsum("nf,f->n", rows, vector))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration of a profile, or of one knowledge base."""

    schema: int = SCHEMA
    kind: Literal["shipped", "own"] = "own"
    """Estimated for any knowledge base, or fitted to the species in `vocabulary`."""
    profile: str
    spaces: tuple[str, ...]
    parameters: Mapping[str, Mapping[Mode, Parameters]]
    """Preset -> anchor mode -> parameters."""
    vocabulary: str = ""
    """`vocabulary_hash` of the knowledge base of an own calibration."""
    fitted_on: str = ""
    """Description of the fitting data."""

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the contents, after `estimated-` for the shipped calibration."""
        return f"{ESTIMATED if self.kind == 'shipped' else ''}{sha256_hex(dumps(self))[:12]}"

    def misfit(
        self, *, profile: str, preset: str, spaces: Sequence[str], taxon_ids: Sequence[str], mode: Mode,
        weights: FusionWeights | None,
    ) -> str:  # fmt: skip
        """Return the reason that the calibration does not apply, a verb phrase; empty if it applies."""
        if (self.profile, self.spaces) != (profile, tuple(spaces)):
            return "was made with other models"
        if preset not in self.parameters:
            made_for = " and ".join(sorted(self.parameters))
            return f"was made for the preset {made_for}" if self.kind == "own" else f"has no preset {preset}"
        if self.kind == "own" and self.vocabulary != vocabulary_hash(taxon_ids):
            return "was made for other species than the knowledge base holds now"
        if mode not in self.parameters[preset]:
            amount = {
                "none": "no anchors", "single": "one anchor a species", "several": "several anchors a species",
                "complete": "nearly all species that the model knows",
            }  # fmt: skip
            return f"was not made for {amount[mode]}"
        if self.parameters[preset][mode].weights != weights:
            return "was made with other weights"
        return ""


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file; errors are those of `parse_calibration`."""
    try:
        return parse_calibration(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


def parse_calibration(text: str, place: str) -> Calibration:
    """Return the calibration in a JSON; raise `StoreError`, which names its place, if it is not one of this schema."""
    try:
        found = load_json(text)
    except ValueError as error:
        raise StoreError(f"{place} cannot be read: {error}") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise StoreError(f"{place} has schema {schema}, expected {SCHEMA}", hint=_HINT)
    try:
        return loads(Calibration, text)
    except StoreError as error:
        raise StoreError(f"{place}: {error}", hint=_HINT) from error


_HINT: Final = "Without it, confidence is estimated; kb calibrate writes it again."


@lru_cache(maxsize=1)
def shipped_calibration() -> Calibration:
    """Return the calibration that ships with Fieldmark."""
    return read_calibration(SHIPPED)


def calibration_bytes(calibration: Calibration) -> bytes:
    """Return the contents of the file of a calibration."""
    return (json.dumps(to_json(calibration), indent=1, sort_keys=True) + "\n").encode()


def logistic(logits: Scores) -> Scores:
    """Return probabilities."""
    probabilities: Scores = 1 / (1 + np.exp(-np.clip(logits, -_LIMIT, _LIMIT)))
    return probabilities


_LIMIT: Final = 50.0  # of logits


CHANCE_DIGITS: Final = 4  # far below the calibration error of a hundredth
_CERTAIN: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Chances of one photo, in [0, 1]."""

    held: Mapping[JudgedRank, float]
    """Of the first species, its genus, family and order, if the species is in the knowledge base."""
    unknown: float
    """Of a species that is not in the knowledge base."""
    is_poor: bool = False
    """The look is too poor for an answer on that."""
    spread: tuple[IntArray, Scores, list[Lineage]] | None = field(default=None, compare=False, repr=False)
    """With a prior: species, the chance of each and of `distributed`'s placeholders if it is held, all lineages."""

    def right(self, rank: JudgedRank) -> float:
        """Return the chance of the first species, or of any species of its group that the knowledge base holds."""
        return round((1 - self.unknown) * self.held[rank], CHANCE_DIGITS)


def chances_of(rows: Scores, parameters: Parameters, *, unknown_prior: float) -> list[Chances]:
    """Return the chances of photos; a genus is at least as probable as its species, a family as its genus, and so on.

    Args:
        rows: features of the photos, `(n, n_features)`.
        parameters: parameters of the preset and of the anchor mode of the knowledge base.
        unknown_prior: prior probability that a photo shows a species outside the knowledge base; above 0, below 1.
    """
    columns, least = [], np.zeros(len(rows))
    for rank in RANKS:
        least = np.maximum(least, chances_by(parameters.held[rank], rows)) if rank in parameters.held else least
        columns.append(least)
    unknown = at_prior(even_unknown(rows, parameters), unknown_prior)
    values = np.round(np.stack([*columns, unknown], axis=1), CHANCE_DIGITS).tolist()
    return [
        Chances(held=dict(zip(RANKS, held, strict=True)), unknown=share, is_poor=poor)
        for (*held, share), poor in zip(values, is_poor(rows, parameters).tolist(), strict=True)
    ]


def even_unknown(rows: Scores, parameters: Parameters) -> Scores:
    """Return the chance of an unknown species at even odds, `(n,)`; arguments as of `chances_of`."""
    return chances_by(parameters.unknown, rows)


def is_poor(rows: Scores, parameters: Parameters) -> NDArray[np.bool_]:
    """Return for each photo whether the look is too poor to tell that its species is not in the knowledge base."""
    found: NDArray[np.bool_] = rows[:, FEATURES.index("best_look")] < parameters.poor_look
    return found


def at_prior(even: Scores, prior: float) -> Scores:
    """Return chances at even odds for another prior, by Bayes' rule."""
    if not 0 < prior < 1:
        raise ValueError(f"expected a prior probability between 0 and 1, got {prior}")
    even = np.clip(even, _CERTAIN, 1 - _CERTAIN)
    likely, unlikely = even * prior, (1 - even) * (1 - prior)
    chances: Scores = likely / (likely + unlikely)
    return chances


N_SAMPLED: Final = 128
"""Maximum number of photos behind an estimate."""
STRENGTH: Final = 3.0
"""Number of photos that the default prior counts for."""

_ROUNDS: Final = 1_000
_DONE: Final = 1e-7
_LEAST: Final = 0.01  # an estimate of 0 or 1 would rule out what the next photo may show
_DIGITS: Final = 3


def estimate_prior(even: Scores) -> float:
    """Return the most probable share of unknown species, by expectation-maximisation.

    The prior of the share is a beta distribution with its mode at `UNKNOWN_PRIOR`, which counts for `STRENGTH` photos.
    A single photo gets the default: its evidence would count twice.

    Source: Saerens, Latinne and Decaestecker, 2002, section 2.2. Differs: the beta prior.
    """
    share = UNKNOWN_PRIOR
    if len(even) < 2:
        return share
    for _ in range(_ROUNDS):
        expected = float(at_prior(even, share).sum())
        before, share = share, (expected + UNKNOWN_PRIOR * STRENGTH) / (len(even) + STRENGTH)
        if abs(share - before) < _DONE:
            break
    return round(min(max(share, _LEAST), 1 - _LEAST), _DIGITS)


def sample_of(n: int) -> list[int]:
    """Return the positions of at most `N_SAMPLED` of n photos, spread evenly."""
    return list(range(n)) if n <= N_SAMPLED else [i * n // N_SAMPLED for i in range(N_SAMPLED)]


def candidate_confidences(
    ranking: Ranking, chances: Chances, lineages: Sequence[Lineage], *, temperature: float, n: int
) -> tuple[float, ...]:
    """Return the confidence of the first `n` species.

    The chances of the genus, family and order of the first species are shared by the other species of each among the
    best `N_JUDGED`, by the softmax of their scores; species beyond them get 0. So the species of a genus have no more
    confidence than the genus, and it does not depend on `n`. No species gets more than the first. With a prior, they
    are the chances by Bayes' rule.

    `lineages` are those of its first `N_JUDGED` species; there is at least one.
    """
    scores = ranking.scores[:N_JUDGED]
    if chances.spread is None:
        likely, _ = distributed(scores / temperature, 0, lineages[: len(scores)], chances)
    else:
        given = dict(zip(chances.spread[0].tolist(), chances.spread[1].tolist(), strict=False))
        likely = np.array([given.get(each, 0.0) for each in ranking.species[:N_JUDGED].tolist()])
    shares = np.minimum((1 - chances.unknown) * likely, chances.right("species"))
    found = [round(share, CHANCE_DIGITS) for share in shares[: min(n, len(scores))].tolist()]
    return (*found, *[0.0] * (min(n, len(ranking.scores)) - len(found)))


def species_chances(
    ranking: Ranking, chances: Chances | None, lineages: Sequence[Lineage], *, temperature: float
) -> Scores:
    """Return the chance of every species of a ranking, with at least one species.

    The shares of `candidate_confidences`, over all species and without rounding; without chances, the softmax.
    """
    scores = ranking.scores / temperature
    if chances is not None:
        likely, _ = distributed(scores, 0, lineages, chances)
        return (1 - chances.unknown) * likely[: len(scores)]
    weights = np.exp(scores - scores.max())
    softmax: Scores = weights / weights.sum()
    return softmax


def distributed(
    scores: Scores, first: int, lineages: Sequence[Lineage], chances: Chances
) -> tuple[Scores, list[Lineage]]:
    """Return the chance of each species if the photo shows one of the knowledge base, and all lineages.

    Four placeholders follow the species: another species of the genus, family or order of the first, and any other.
    They get what is left of a group's chance: no species gets more than the first.

    `scores` are divided by the temperature; `first` is the position of the first species of the ranking.
    """
    others: list[Lineage] = [
        {rank: lineages[first][rank] for rank in RANKS[step:] if rank in lineages[first]} for step in (1, 2, 3, 4)
    ]
    every = [*lineages, *others]
    softmax = np.concatenate([np.exp(scores - scores.max()), np.zeros(len(others))])
    likely, given = np.zeros(len(softmax)), 0.0
    is_left = np.ones(len(softmax), dtype=np.bool_)
    for step, rank in enumerate((*RANKS, None)):
        group = is_left if rank is None else is_left & same_taxon(every, first, rank)
        upto = 1.0 if rank is None else chances.held[rank]
        weights = np.where(group, softmax, 0.0)
        most = 1.0 if step == 0 else float(likely[first])
        shared = _shares(weights, upto - given, most)
        likely += shared
        if step:
            likely[len(scores) - 1 + step] += max(0.0, upto - given - float(shared.sum()))
        given, is_left = upto, is_left & ~group
    return likely, every


def _shares(weights: Scores, mass: float, most: float) -> Scores:
    """Return a mass in shares by the weights, none above `most`; the sum is less only where all reach it."""
    shares, is_open = np.zeros(len(weights)), weights > 0
    while mass > 0 and is_open.any():
        found = np.where(is_open, mass * weights / weights[is_open].sum(), 0.0)
        over = found > most
        if not over.any():
            return shares + found
        shares[over], mass, is_open = most, mass - most * int(over.sum()), is_open & ~over
    return shares


def same_taxon(lineages: Sequence[Lineage], at: int, rank: JudgedRank) -> NDArray[np.bool_]:
    """Return whether each species shares the species, genus, family or order of the one at `at`."""
    same = np.zeros(len(lineages), dtype=np.bool_)
    name = lineages[at].get(rank)
    if rank != "species" and name:
        same = np.array([lineage.get(rank) == name for lineage in lineages], dtype=np.bool_)
    same[at] = True
    return same
