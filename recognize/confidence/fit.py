"""Fit of a calibration to labelled photos of one knowledge base, and its quality on other photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from data.arrays import IntArray
from data.contracts import Encoders, KnowledgeStore
from data.errors import BadInput
from data.records import vocabulary_hash
from data.words import plural
from recognize.answers import RANKS, UNKNOWN_FROM, JudgedRank
from recognize.confidence.calibration import (
    Calibration,
    Chances,
    Coefficients,
    Parameters,
    chances_of,
    logistic,
    shipped_calibration,
)
from recognize.confidence.evidence import FEATURES, mode_of
from recognize.confidence.labelled import Cases, Identifier, LabelledSource, OnProgress, Truths, spread
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.presets import FusionWeights, Settings, check_contents, check_preset, weights_of
from recognize.scoring.ranking import Scores
from recognize.settings import UNKNOWN_PRIOR

_ROUNDS: Final = 50
_DONE: Final = 1e-9  # largest step of a converged fit


def fit_near(rows: Scores, is_true: Truths, *, start: Scores, deviations: Scores) -> Scores:
    """Return the most probable coefficients of a logistic model, held near expected ones.

    Args:
        rows: `(n, n_features)`.
        is_true: `(n,)`.
        start: expected coefficients, `(n_features,)`; the result without rows.
        deviations: their standard deviations, `(n_features,)`.
    """
    return newton(rows, is_true, np.ones(len(rows)), deviations**-2.0, start)


def newton(rows: Scores, is_true: Truths, weights: Scores, penalty: Scores, start: Scores) -> Scores:
    """Return the coefficients with the least loss; `penalty` holds each one near its `start`."""
    signs = np.where(is_true, -1.0, 1.0)

    def loss(at: Scores) -> float:
        return float(weights @ np.logaddexp(0, signs * (rows @ at)) + penalty @ (at - start) ** 2 / 2)

    found, least = start, loss(start)
    for _ in range(_ROUNDS):
        chances = logistic(rows @ found)
        slope = rows.T @ (weights * (chances - is_true)) + penalty * (found - start)
        curvature = (rows * (weights * chances * (1 - chances))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(curvature + 1e-12 * np.eye(len(start)), slope)
        if np.abs(step).max() < _DONE:
            break
        while (now := loss(found - step)) > least and np.abs(step).max() >= _DONE:
            step = step / 2  # a full step may overshoot far from the optimum
        found, least = found - step, now
    return found


N_FOLDS: Final = 5

_DIGITS: Final = 6  # of coefficients
# Features that correct the expected logit; those of a rank have its mass too.
_OF_RANK: Final = ("level", "visual", "text")
_OF_UNKNOWN: Final = ("mass_species", "level", "best_visual", "best_text", "background_margin", "background_mass")
# Expected distance of the coefficients from (0, 1, 0, ...), per standard deviation of a feature.
_BIAS_DEVIATION: Final = 1.0
_LOGIT_DEVIATION: Final = 0.3
_FEATURE_DEVIATION: Final = 0.5


def fit_parameters(
    cases: Cases, base: Parameters | None, *, temperature: float, weights: FusionWeights | None
) -> Parameters:
    """Return the parameters that fit the photos."""

    def fitted(is_right: Truths, rank: JudgedRank, shipped: Coefficients | None) -> Coefficients:
        mass = f"mass_{rank}"
        return _fitted({mass: 1.0} if shipped is None else shipped, (mass, *_OF_RANK), cases.held, is_right)

    return Parameters(
        temperature=temperature,
        held={
            rank: fitted(cases.is_right[rank], rank, None if base is None else base.held.get(rank)) for rank in RANKS
        },
        unknown=_fitted(
            {} if base is None else base.unknown,
            _OF_UNKNOWN,
            np.concatenate([cases.held, cases.not_held]),
            np.repeat([False, True], len(cases)),
        ),
        poor_look=-1.0 if base is None else base.poor_look,
        weights=weights,
    )


def _fitted(expected: Coefficients, names: Sequence[str], rows: Scores, is_true: Truths) -> Coefficients:
    """Return the model that is expected, corrected by some features."""
    logits = rows @ np.array([expected.get(name, 0.0) for name in FEATURES])
    chosen = rows[:, [FEATURES.index(name) for name in names]]
    mean, deviation = chosen.mean(axis=0), chosen.std(axis=0)
    is_flat = deviation < 1e-9
    deviation = np.where(is_flat, 1.0, deviation)
    scaled = np.where(is_flat, 0.0, (chosen - mean) / deviation)
    start = np.array([0.0, 1.0, *[0.0] * len(names)])
    deviations = np.array([_BIAS_DEVIATION, _LOGIT_DEVIATION, *[_FEATURE_DEVIATION] * len(names)])
    bias, scale, *others = fit_near(
        np.concatenate([np.ones((len(rows), 1)), logits[:, None], scaled], axis=1),
        is_true,
        start=start,
        deviations=deviations,
    ).tolist()
    slopes = np.where(is_flat, 0.0, np.array(others) / deviation)
    found = {name: scale * value for name, value in expected.items()}
    for name, slope in (("bias", bias - float(slopes @ mean)), *zip(names, slopes.tolist(), strict=True)):
        found[name] = found.get(name, 0.0) + slope
    return {name: round(value, _DIGITS) for name, value in found.items()}


def folds_of(species: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Return (photos of the fit, photos held out) for each of `N_FOLDS` parts; a species is never in both."""
    _, place = np.unique(species, return_inverse=True)
    parts = [place % N_FOLDS == fold for fold in range(N_FOLDS)]
    return [(np.flatnonzero(~part), np.flatnonzero(part)) for part in parts]


SURE: Final = 0.9
"""Confidence of a sure answer."""

_MOST_BINS: Final = 10
_BIN: Final = 30  # photos in a bin, at least: fewer measure noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of the confidences of photos, each identified with its species in the knowledge base and without it.

    Photos without their species have a weight of `UNKNOWN_PRIOR` together.
    """

    calibration_error: float
    """Expected calibration error of the first species: the mean gap of confidence and accuracy."""
    sure: float
    """Share of photos with a species at 90 % or more."""
    sure_right: float | None
    """Share of these that are right; None without any."""
    found_unknown: float
    """Share of the photos without their species that are called unknown."""
    false_unknown: float
    """Share of the photos with their species that are called unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Figures of a calibration, on photos of species outside its fit."""

    n_photos: int
    """Number of photos."""
    n_species: int
    """Number of their species."""
    right: float
    """Share of the photos with the right species first, with the species in the knowledge base."""
    estimated: Figures | None
    """By the shipped calibration, if there is one."""
    calibrated: Figures
    """By calibrations fitted to the photos of four fifths of the species, for those of the others."""


def measure_quality(
    cases: Cases, base: Parameters | None, *, temperature: float, weights: FusionWeights | None
) -> Quality:
    """Return the quality of parameters from `fit_parameters`, each fitted to a part of the species."""
    held: list[Chances | None] = [None] * len(cases)
    not_held = held.copy()
    for fitted_on, left in folds_of(cases.species):
        if not len(left):
            continue
        parameters = fit_parameters(cases.only(fitted_on), base, temperature=temperature, weights=weights)
        part = cases.only(left)
        for rows, found in ((part.held, held), (part.not_held, not_held)):
            for photo, chances in zip(left, _chances(rows, parameters), strict=True):
                found[photo] = chances
    is_right = cases.is_right["species"]
    return Quality(
        n_photos=len(cases),
        n_species=len(np.unique(cases.species)),
        right=float(is_right.mean()),
        estimated=None
        if base is None
        else _figures(_chances(cases.held, base), _chances(cases.not_held, base), is_right),
        calibrated=_figures([c for c in held if c is not None], [c for c in not_held if c is not None], is_right),
    )


def _chances(rows: Scores, parameters: Parameters) -> list[Chances]:
    return chances_of(rows, parameters, unknown_prior=UNKNOWN_PRIOR)


def _figures(held: Sequence[Chances], not_held: Sequence[Chances], is_right: Truths) -> Figures:
    n = len(is_right)
    confidence = np.array([chances.right("species") for chances in (*held, *not_held)])
    truth = np.concatenate([is_right, np.zeros(n, dtype=np.bool_)])
    weights = np.repeat([1 - UNKNOWN_PRIOR, UNKNOWN_PRIOR], n) / n
    is_sure = confidence >= SURE
    sure = float(weights @ is_sure)
    return Figures(
        calibration_error=calibration_error(confidence, truth, weights),
        sure=sure,
        sure_right=float(weights @ (is_sure & truth)) / sure if sure else None,
        found_unknown=float(np.mean([chances.unknown > UNKNOWN_FROM and not chances.is_poor for chances in not_held])),
        false_unknown=float(np.mean([chances.unknown > UNKNOWN_FROM and not chances.is_poor for chances in held])),
    )


def calibration_error(confidence: Scores, is_right: Truths, weights: Scores) -> float:
    """Return the expected calibration error: the mean gap of confidence and accuracy over bins of equal weight.

    At most ten bins, of at least 30 photos each.

    Source: Naeini et al., AAAI 2015, with bins of equal weight.
    """
    n_bins = int(np.clip(len(confidence) // _BIN, 1, _MOST_BINS))
    order = np.argsort(confidence, kind="stable")
    position = np.cumsum(weights[order]) - weights[order] / 2
    bin_of = np.minimum((position / weights.sum() * n_bins).astype(np.intp), n_bins - 1)
    gaps = weights[order] * (confidence[order] - is_right[order])
    return float(np.abs(np.bincount(bin_of, gaps, minlength=n_bins)).sum() / weights.sum())


LEAST_PHOTOS: Final = 60
LEAST_SPECIES: Final = 10
MOST_PHOTOS: Final = 2_000
"""Photos used, spread over the species: more change nothing but the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalibration:
    """A calibration and its quality."""

    calibration: Calibration
    quality: Quality


def calibrate(
    store: KnowledgeStore, encoders: Encoders, knowledge: Knowledge, source: LabelledSource, *, preset: str = "default",
    on_progress: OnProgress = lambda *_: None,
) -> OwnCalibration:  # fmt: skip
    """Return a calibration of a knowledge base for a preset with its default settings.

    Raises:
        BadInput: if there are too few photos or species.
        UsageError: if the knowledge base lacks what the preset needs.
    """
    settings = Settings(profile=encoders.profile)
    check_preset(preset, settings)
    check_contents(preset, knowledge, store.path)
    photos = source.photos.only(spread(source.photos.species, MOST_PHOTOS))
    n_species = len(np.unique(photos.species))
    check_enough(len(photos), n_species, noun=source.kind)
    weights = weights_of(encoders.profile, knowledge) if preset == "default" else None
    mode = mode_of(knowledge)
    shipped, base = shipped_calibration(), None
    if not shipped.misfit(
        profile=encoders.profile, preset=preset, spaces=encoders.spaces, taxon_ids=store.taxon_ids, mode=mode,
        weights=weights,
    ):  # fmt: skip
        base = shipped.parameters[preset][mode]
    taxa = [entry.taxon for entry in store.species(store.taxon_ids)]
    identifier = Identifier(
        preset, replace(settings, weights=weights), knowledge, photos, taxa, on_progress=on_progress
    )
    temperature = identifier.fit_temperature() if base is None else base.temperature
    cases = identifier.cases(temperature)
    quality = measure_quality(cases, base, temperature=temperature, weights=weights)
    calibration = Calibration(
        kind="own",
        profile=encoders.profile,
        spaces=encoders.spaces,
        parameters={preset: {mode: fit_parameters(cases, base, temperature=temperature, weights=weights)}},
        vocabulary=vocabulary_hash(store.taxon_ids),
        fitted_on=(
            f"{plural(len(photos), source.kind)} of {plural(n_species, 'species', 'species')}, "
            f"calibration error {quality.calibrated.calibration_error:.3f}"
        ),
    )
    return OwnCalibration(calibration=calibration, quality=quality)


def check_enough(n_photos: int, n_species: int, *, noun: str) -> None:
    """Raise `BadInput` if there are too few photos or species for a calibration."""
    if n_photos < LEAST_PHOTOS or n_species < LEAST_SPECIES:
        found = f"{plural(n_photos, noun)} of {plural(n_species, 'species', 'species')}"
        raise BadInput(
            f"Too few photos for a calibration: {found}. Expected at least {LEAST_PHOTOS} photos of "
            f"{LEAST_SPECIES} species.",
            hint="Add labelled photos of species in the knowledge base with --photos, or build it with more reference "
            "photos per species (--set anchors_per_species=6).",
        )
