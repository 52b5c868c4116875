"""Parameters of an own calibration, fitted to photos of one knowledge base.

Each model is a logistic function of few numbers, so that few photos are enough: the logit that is expected, and some
features. The expected logit is that of the shipped parameters of the profile, else the logit of a softmax mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from data.arrays import IntArray
from recognize.calibration.cases import Cases
from recognize.confidence.calibration import Coefficients, Parameters
from recognize.confidence.evidence import FEATURES
from recognize.confidence.fit import Truths, fit_near
from recognize.confidence.ranks import RANKS, JudgedRank
from recognize.scoring.fusion import FusionWeights
from recognize.scoring.pairs import Scores

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
    """Return the parameters that fit the photos.

    Args:
        cases: the photos.
        base: shipped parameters, if there are any.
        temperature: divisor of the scores, of the evidence.
        weights: weights of the preset, if it has any.
    """

    def fitted(found: Scores, is_right: Truths, rank: JudgedRank, shipped: Coefficients | None) -> Coefficients:
        mass = f"mass_{rank}"
        return _fitted({mass: 1.0} if shipped is None else shipped, (mass, *_OF_RANK), found, is_right)

    return Parameters(
        temperature=temperature,
        held={
            rank: fitted(cases.held, cases.is_right[rank], rank, None if base is None else base.held.get(rank))
            for rank in RANKS
        },
        not_held={
            rank: fitted(
                cases.not_held, cases.is_right_without[rank], rank, None if base is None else base.not_held.get(rank)
            )
            for rank in RANKS[1:]
        },
        unknown=_fitted(
            {} if base is None else base.unknown,
            _OF_UNKNOWN,
            np.concatenate([cases.held, cases.not_held]),
            np.repeat([False, True], len(cases)),
        ),
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
