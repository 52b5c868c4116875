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

from recognize.confidence.calibration import SHIPPED, Calibration, Parameters, write_calibration
from recognize.confidence.evidence import FEATURES, Mode
from recognize.confidence.fit import fit_logistic, fit_temperature
from recognize.confidence.ranks import RANKS, JudgedRank
from recognize.scoring.fusion import WEIGHTS, AnchorMode, FusionWeights
from recognize.scoring.pairs import Scores
from recognize.starter.encoders import load_starter
from training.starter.cases import Case, FittingCases, fitting_cases
from training.starter.study import Study, read_study
from training.tables import study_options

MODES: Final[Mapping[str, AnchorMode]] = {"three": "several", "wiki": "single"}
"""Anchors of the protocol -> anchor mode of a knowledge base with such anchors."""

_DIGITS: Final = 6  # of coefficients


def fit_parameters(weights: FusionWeights, cases: FittingCases) -> Parameters:
    """Return the maximum-likelihood parameters."""
    temperature = round(fit_temperature(scored(cases.present)), _DIGITS)
    shares = _shares(cases.present)
    present, unknown = ([case for group in groups for case in group] for groups in (cases.present, cases.unknown))
    rows, rows_unknown = (np.array([case.evidence(temperature) for case in group]) for group in (present, unknown))
    is_unknown = np.repeat([False, True], [len(present), len(unknown)])
    both = np.concatenate([rows, rows_unknown])
    return Parameters(
        weights=weights,
        temperature=temperature,
        held={rank: _named(fit_logistic(rows, is_right(present, rank), shares)) for rank in RANKS},
        not_held={
            rank: _named(fit_logistic(rows_unknown, is_right(unknown, rank), _shares(cases.unknown)))
            for rank in RANKS[1:]
        },
        unknown=_named(fit_logistic(both, is_unknown, _shares([*cases.present, *cases.unknown]))),
    )


def scored(groups: Sequence[Sequence[Case]]) -> list[tuple[Scores, int | None, float]]:
    """Return the scores of cases for `fit_temperature`, with groups of equal weight."""
    return [(*case.scores(), 1 / len(group)) for group in groups for case in group]


def is_right(cases: Sequence[Case], rank: JudgedRank) -> NDArray[np.bool_]:
    """Return for each case whether its first species, or the genus or family of that, is right."""
    return np.array([case.is_right(rank) for case in cases])


def _shares(groups: Sequence[Sequence[Case]]) -> Scores:
    """Return the weight of each case for groups of equal weight; they sum to 1."""
    return np.concatenate([np.full(len(cases), 1 / (len(cases) * len(groups))) for cases in groups])


def _named(coefficients: Scores) -> dict[str, float]:
    return {name: round(float(value), _DIGITS) for name, value in zip(FEATURES, coefficients, strict=True)}


def shipped_calibration(study: Study) -> Calibration:
    """Return the calibration of the starter knowledge base."""
    encoders = load_starter()
    parameters: dict[Mode, Parameters] = {}
    for mode, anchor_mode in MODES.items():
        weights = WEIGHTS["starter"][anchor_mode]
        parameters[anchor_mode] = fit_parameters(weights, fitting_cases(study, mode, weights))
    return Calibration(
        profile=encoders.profile,
        kind="shipped",
        spaces=encoders.spaces,
        parameters={"default": parameters},
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
    for mode, parameters in calibration.parameters["default"].items():
        click.echo(f"{mode}: {asdict(parameters)}")
    click.echo(f"{out}: {calibration.id}")


if __name__ == "__main__":
    main()
