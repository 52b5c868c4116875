"""Fitting of the shipped calibration: `python -m training.starter.calibrate --data DIR --work DIR`.

No photo of the protocol's hidden half is read, so that anyone can check the shipped chances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from data.starter.knowledge import read_species
from recognize.confidence.calibration import (
    FEATURES,
    RANKS,
    Calibration,
    Evidence,
    JudgedRank,
    Parameters,
    vocabulary_hash,
    write_calibration,
)
from recognize.scoring.fusion import WEIGHTS, AnchorMode, FusionWeights
from recognize.scoring.pairs import Scores
from recognize.starter.encoders import load_starter
from training.starter.cases import Case, FittingCases, fitting_cases
from training.starter.study import Study, read_study
from training.tables import study_options

MODES: Final[Mapping[str, AnchorMode]] = {"three": "several", "wiki": "single"}
"""Anchors of the protocol -> anchor mode of a knowledge base with such anchors."""
SHIPPED: Final = Path(__file__).resolve().parents[2] / "data" / "starter" / "calibration.json"

_RIDGE: Final = 1e-3  # on standardised features
_ROUNDS: Final = 50
_DIGITS: Final = 6  # of coefficients


def fit_parameters(weights: FusionWeights, cases: FittingCases) -> Parameters:
    """Return the maximum-likelihood parameters."""
    temperature = round(fit_temperature(cases.present), _DIGITS)
    shares = _shares(cases.present)
    models: dict[str, dict[str, float]] = {}
    present, unknown = ([case.evidence(temperature) for group in groups for case in group]
                        for groups in (cases.present, cases.unknown))  # fmt: skip
    for rank in RANKS:
        right = is_right([case for group in cases.present for case in group], rank)
        models[rank] = _named(fit_logistic(rows_of(present, rank), right, shares))
    is_unknown = np.repeat([False, True], [len(present), len(unknown)])
    rows = rows_of([*present, *unknown], "species")
    models["unknown"] = _named(fit_logistic(rows, is_unknown, _shares([*cases.present, *cases.unknown])))
    return Parameters(weights=weights, temperature=temperature, **models)


def rows_of(found: Sequence[Evidence], rank: JudgedRank) -> Scores:
    """Return the features of photos for the confidence of a rank, `(n, n_features)`."""
    return np.array([evidence.row(rank) for evidence in found])


def is_right(cases: Sequence[Case], rank: JudgedRank) -> NDArray[np.bool_]:
    """Return for each case whether its first species, or the genus or family of that, is right."""
    return np.array([case.is_right(rank) for case in cases])


def _shares(groups: Sequence[Sequence[Case]]) -> Scores:
    """Return the weight of each case for groups of equal weight; they sum to 1."""
    return np.concatenate([np.full(len(cases), 1 / (len(cases) * len(groups))) for cases in groups])


def _named(coefficients: Scores) -> dict[str, float]:
    return {name: round(float(value), _DIGITS) for name, value in zip(FEATURES, coefficients, strict=True)}


def fit_temperature(groups: Sequence[Sequence[Case]]) -> float:
    """Return the maximum-likelihood temperature, by golden section; cases without the right species are ignored."""
    found = [(*case.scores(), 1 / len(group)) for group in groups for case in group]
    ranked = [(scores, at, share) for scores, at, share in found if at is not None]

    def loss(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return float(sum(w * (np.logaddexp.reduce(s * scale) - s[at] * scale) for s, at, w in ranked))

    ratio = (np.sqrt(5) - 1) / 2
    low, high = -1.5, 1.5
    for _ in range(24):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))


def fit_logistic(rows: Scores, is_true: NDArray[np.bool_], shares: Scores) -> Scores:
    """Return the coefficients of a logistic model by Newton's method, the first column being 1.

    Args:
        rows: `(n, n_features)`.
        is_true: `(n,)`.
        shares: weight of each row, `(n,)`, summing to 1.
    """
    mean = shares @ rows
    deviation = np.sqrt(shares @ (rows - mean) ** 2)
    is_flat = deviation < 1e-9  # constant; its coefficient stays 0
    mean, deviation = np.where(is_flat, 0, mean), np.where(is_flat, 1, deviation)
    scaled = np.where(is_flat, 0, (rows - mean) / deviation)
    scaled[:, 0] = 1
    ridge = _RIDGE * np.eye(rows.shape[1])
    ridge[0, 0] = 0
    coefficients = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        chances = 1 / (1 + np.exp(-np.clip(scaled @ coefficients, -50, 50)))
        slope = scaled.T @ (shares * (chances - is_true)) + ridge @ coefficients
        curvature = (scaled * (shares * chances * (1 - chances))[:, None]).T @ scaled + ridge
        step = np.linalg.solve(curvature + 1e-12 * np.eye(len(ridge)), slope)
        coefficients = coefficients - step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-9))
        if np.abs(step).max() < 1e-9:
            break
    plain = coefficients / deviation
    plain[0] = coefficients[0] - (plain[1:] * mean[1:]).sum()
    plain[1:][is_flat[1:]] = 0
    return plain


def shipped_calibration(study: Study) -> Calibration:
    """Return the calibration of the starter knowledge base."""
    encoders = load_starter()
    parameters = {}
    for mode, anchor_mode in MODES.items():
        weights = WEIGHTS["starter"][anchor_mode]
        parameters[anchor_mode] = fit_parameters(weights, fitting_cases(study, mode, weights))
    return Calibration(
        profile=encoders.profile,
        preset="default",
        spaces=encoders.spaces,
        vocabulary=vocabulary_hash([species.taxon.taxon_id for species in read_species()]),
        parameters=parameters,
        fitted_on=(
            "photos of the starter protocol without its hidden half: of species held out in five folds, and of trained "
            "species, half and half; 1,407 species in the vocabulary"
        ),
    )


@click.command()
@study_options
@click.option("--out", type=click.Path(path_type=Path), default=SHIPPED, help="Output file.")
def main(data: Path, work: Path, out: Path) -> None:
    """Fit and write the calibration of the starter knowledge."""
    calibration = shipped_calibration(read_study(data, work))
    write_calibration(out, calibration)
    for mode, parameters in calibration.parameters.items():
        click.echo(f"{mode}: {asdict(parameters)}")
    click.echo(f"{out}: {calibration.id}")


if __name__ == "__main__":
    main()
