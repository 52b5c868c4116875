"""Fitting of the shipped calibration: `python -m training.starter.confidence.calibrate --data DIR --work DIR`.

Random knowledge bases of the models of folds (`worlds`), each with the same weight; photos of held species and of
others weigh the same in each. No photo of the hidden half and none set aside is read, so that anyone can check the
shipped chances.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from data.files import write_atomic
from recognize.answers import RANKS
from recognize.calibration.calibrate import newton
from recognize.calibration.cases import Truths, fit_temperature
from recognize.confidence.calibration import SHIPPED, Calibration, Coefficients, Parameters, calibration_bytes
from recognize.confidence.evidence import FEATURES, Mode
from recognize.scoring.exact import Scores
from recognize.scoring.presets import PRESETS, WEIGHTS, FusionWeights
from recognize.starter.encoders import load_starter
from training.starter.confidence.worlds import Run, World, draw_runs
from training.starter.study import Study, read_study
from training.tables import study_options

N_KNOWLEDGE_BASES: Final = 32  # of each fold
MODES: Final[tuple[Mode, ...]] = ("none", "single", "several")
RIDGE: Final = 1e-3
_DIGITS: Final = 6  # of coefficients


def world_of_fold(study: Study, fold: int) -> World:
    """Return the model of a fold with the photos for fitting: of species of the fold, and `tuning` ones.

    Of the `tuning` photos of species with two or three photos one in three is used: photos that people take are mostly
    of well-known species.
    """
    collection = study.collection
    free = np.setdiff1d(np.arange(len(collection.photos)), np.union1d(collection.hidden, collection.all_aside))
    known = set(study.folds[fold].heads.species)
    is_many = np.isin(collection.tuning, collection.left_over)
    many, few = collection.tuning[is_many], collection.tuning[~is_many]
    new = [i for i in free.tolist() if collection.photos[i].species not in known]
    return World(
        model=study.folds[fold],
        photos=np.unique(np.concatenate([np.array(new, dtype=np.intp), many, few[::3]])),
        anchors=np.setdiff1d(free, collection.tuning),
    )


def fitting_runs(
    study: Study, presets: Sequence[str], *, n: int = N_KNOWLEDGE_BASES, seed: int = 0
) -> dict[str, list[Run]]:
    """Return for each preset its runs with random knowledge bases of all folds."""
    runs: dict[str, list[Run]] = {preset: [] for preset in presets}
    for fold in range(len(study.folds)):
        for preset, some in draw_runs(world_of_fold(study, fold), presets, n=n, seed=seed + fold).items():
            runs[preset] += some
    return runs


def fit_parameters(runs: Sequence[Run], weights: FusionWeights | None) -> Parameters:
    """Return the maximum-likelihood parameters of runs of one preset and anchor mode."""
    scored = [(*pair, 1 / max(1, int(run.is_held.sum()))) for run in runs for pair in run.scored()]
    temperature = round(fit_temperature(scored), _DIGITS)
    rows = np.concatenate([run.evidence(temperature) for run in runs])
    right, held = np.concatenate([run.right for run in runs]), np.concatenate([run.is_held for run in runs])
    shares = np.concatenate([_shares(run.is_held) for run in runs])

    def fit(chosen: NDArray[np.bool_], is_true: NDArray[np.bool_]) -> Coefficients:
        found = fit_logistic(rows[chosen], is_true[chosen], shares[chosen] / shares[chosen].sum(), ridge=RIDGE)
        return {name: round(float(value), _DIGITS) for name, value in zip(FEATURES, found, strict=True)}

    everything = np.ones_like(held)
    return Parameters(
        weights=weights,
        temperature=temperature,
        held={rank: fit(held, right[:, i]) for i, rank in enumerate(RANKS)},
        not_held={rank: fit(~held, right[:, i]) for i, rank in enumerate(RANKS) if i},
        unknown=fit(everything, ~held),
    )


def fit_logistic(rows: Scores, is_true: Truths, shares: Scores, *, ridge: float = 1e-3) -> Scores:
    """Return the coefficients of a logistic model by Newton's method, the first column being 1.

    Args:
        rows: `(n, n_features)`.
        is_true: `(n,)`.
        shares: weight of each row, `(n,)`, summing to 1.
        ridge: penalty of half the squares of the coefficients of standardised features, except for the first column.
    """
    mean = shares @ rows
    deviation = np.sqrt(shares @ (rows - mean) ** 2)
    is_flat = deviation < 1e-9  # constant; its coefficient stays 0
    mean, deviation = np.where(is_flat, 0, mean), np.where(is_flat, 1, deviation)
    scaled = np.where(is_flat, 0, (rows - mean) / deviation)
    scaled[:, 0] = 1
    penalty = np.full(rows.shape[1], ridge)
    penalty[0] = 0
    coefficients = newton(scaled, is_true, shares, penalty, np.zeros(rows.shape[1]))
    plain = coefficients / deviation
    plain[0] = coefficients[0] - (plain[1:] * mean[1:]).sum()
    plain[1:][is_flat[1:]] = 0
    return plain


def _shares(is_held: NDArray[np.bool_]) -> Scores:
    """Return the weights of the photos of a knowledge base: held ones and others together one half each."""
    counts = np.maximum(np.bincount(is_held, minlength=2), 1)
    shares: Scores = 0.5 / counts[is_held.astype(np.intp)]
    return shares


def fit_all(study: Study, *, n: int = N_KNOWLEDGE_BASES) -> dict[str, dict[Mode, Parameters]]:
    """Return preset -> anchor mode -> parameters."""
    found: dict[str, dict[Mode, Parameters]] = {}
    for preset, runs in fitting_runs(study, sorted(PRESETS), n=n).items():
        by_mode = {mode: [run for run in runs if run.mode == mode] for mode in MODES}
        found[preset] = {mode: fit_parameters(some, weights_of(preset, mode)) for mode, some in by_mode.items() if some}
    return found


def weights_of(preset: str, mode: Mode) -> FusionWeights | None:
    """Return the weights that a preset uses."""
    if preset != "default":
        return None
    return WEIGHTS["starter"]["single" if mode == "none" else mode]


def shipped_calibration(study: Study) -> Calibration:
    """Return the calibration of the starter profile, for any knowledge base."""
    encoders = load_starter()
    return Calibration(
        profile=encoders.profile,
        kind="shipped",
        spaces=encoders.spaces,
        parameters=fit_all(study),
        fitted_on=(
            f"{N_KNOWLEDGE_BASES * len(study.folds)} random knowledge bases of 1 to 2,135 species with 0 to 3 anchors "
            "a species; photos of held and of other species, new to the model and known to it"
        ),
    )


@click.command()
@study_options
@click.option("--out", type=click.Path(path_type=Path), default=SHIPPED, help="Output file.")
def main(data: Path, work: Path, out: Path) -> None:
    """Fit and write the calibration of the starter profile."""
    calibration = shipped_calibration(read_study(data, work))
    write_atomic(out, calibration_bytes(calibration))
    click.echo(f"{out}: {calibration.id}")


if __name__ == "__main__":
    main()
