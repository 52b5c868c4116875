"""Fitting of the shipped calibration: `python -m training.starter.confidence.calibrate --data DIR --work DIR`.

Random parts of the shipped knowledge base (`worlds`), each with the same weight; photos of held species and of others
weigh the same in each. The photos are the hidden half, which the shipped model was not trained on. For knowledge bases
with nearly all species that the model knows, where a species that they lack is new to the model, the photos of such
species are judged by the models of the folds. None set aside is read. The work folder keeps the vectors of the photos.
To be run again after each change of the shipped vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.files import write_atomic
from recognize.answers import RANKS
from recognize.confidence.calibration import SHIPPED, Calibration, Coefficients, Parameters, calibration_bytes
from recognize.confidence.evidence import FEATURES, Mode
from recognize.confidence.fit import newton
from recognize.confidence.labelled import Truths, fit_temperature
from recognize.scoring.presets import PRESETS, WEIGHTS, FusionWeights
from recognize.scoring.ranking import Scores
from recognize.starter.encoders import load_starter
from training.starter.confidence.worlds import Run, World, complete_runs, draw_runs, read_world, world_of_model
from training.starter.protocol import StudyCollection
from training.starter.study import Study, read_study
from training.tables import study_options

N_KNOWLEDGE_BASES: Final = 100
MODES: Final[tuple[Mode, ...]] = ("none", "single", "several", "complete")
RIDGE: Final = 1e-3
POOR_LOOK: Final = 0.4
"""Cosine to the most similar species of the model below which a look is poor. Chosen on the hidden half by folds: with
.45 the share of unknown birds is estimated worse."""
POOR_WEIGHT: Final = 0.1
"""Weight of a photo made small in the fit of unknown species: what a poor look says of them is limited anyway. 0 in
complete knowledge bases, where only photos of known species are made small; .1 and .5 give worse estimates."""
_DIGITS: Final = 6  # of coefficients


def fitting_photos(collection: StudyCollection) -> IntArray:
    """Return the hidden photos that are not set aside."""
    return np.setdiff1d(collection.hidden, collection.all_aside)


def fit_parameters(runs: Sequence[Run], mode: Mode, weights: FusionWeights | None) -> Parameters:
    """Return the maximum-likelihood parameters of runs of one preset and mode.

    In complete knowledge bases the number of species only tells the models of the folds apart, so it has no part.
    """
    scored = [(*pair, run.weight / max(1, int(run.is_held.sum()))) for run in runs for pair in run.scored()]
    temperature = round(fit_temperature(scored), _DIGITS)
    rows = np.concatenate([run.evidence(temperature) for run in runs])
    right, held = np.concatenate([run.right for run in runs]), np.concatenate([run.is_held for run in runs])
    shares = np.concatenate([run.weight * _shares(run.is_held) for run in runs])

    def fit(chosen: NDArray[np.bool_], is_true: NDArray[np.bool_], mass: str, shares: Scores) -> Coefficients:
        left_out = {f"mass_{rank}" for rank in RANKS} - {mass} | ({"log_species"} if mode == "complete" else set())
        used = [at for at, name in enumerate(FEATURES) if name not in left_out]
        weights = shares[chosen] / shares[chosen].sum()
        found = fit_logistic(rows[chosen][:, used], is_true[chosen], weights, ridge=RIDGE)
        return {FEATURES[at]: round(float(value), _DIGITS) for at, value in zip(used, found, strict=True)}

    is_poor = np.concatenate([run.is_small for run in runs])
    of_unknown = np.where(is_poor, 0 if mode == "complete" else POOR_WEIGHT, 1) * shares
    for kind in (True, False):  # even odds, whatever the share of poor photos in each kind
        of_unknown[held == kind] /= of_unknown[held == kind].sum()
    return Parameters(
        weights=weights,
        temperature=temperature,
        held={rank: fit(held, right[:, i], f"mass_{rank}", shares) for i, rank in enumerate(RANKS)},
        unknown=fit(np.ones_like(held), ~held, "mass_species", of_unknown),
        poor_look=POOR_LOOK,
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


def fit_all(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[Mode, Parameters]]:
    """Return preset -> mode -> parameters."""
    found: dict[str, dict[Mode, Parameters]] = {}
    for preset, of_preset in runs.items():
        by_mode = {mode: [run for run in of_preset if run.mode == mode] for mode in MODES}
        found[preset] = {
            mode: fit_parameters(some, mode, weights_of(preset, mode)) for mode, some in by_mode.items() if some
        }
    return found


LITTLE_KNOWN: Final = 0.2
"""Weight of the worlds of the folds, whose held photos are half of species with one or two reference photos: the hidden
half shows none of these, so that fits to it alone hold any such answer for wrong. Photos that people take are mostly of
well-known species."""


def runs_of(world: World, folds: Sequence[World], presets: Sequence[str], *, n: int, seed: int) -> dict[str, list[Run]]:
    """Return preset -> runs: of random parts of the shipped knowledge base, and of all of it.

    Args:
        world: photos of species that the shipped model knows.
        folds: worlds of other models, with photos of known species and of species new to each.
        presets: the presets.
        n: number of parts.
        seed: seed of the parts.
    """
    n_each = round(LITTLE_KNOWN * n / max(1, len(folds)))
    known_weight = len(folds) * (1 - LITTLE_KNOWN) / LITTLE_KNOWN
    parts = [draw_runs(world, presets, n=n - n_each * len(folds), seed=seed)]
    parts += [draw_runs(each, presets, n=n_each, seed=seed) for each in folds]
    known, others = complete_runs(world, presets), [complete_runs(each, presets) for each in folds]
    return {
        preset: [
            *(run for each in parts for run in each[preset] if run.mode != "complete"),
            *(replace(run, weight=known_weight) for run in known[preset]),
            *(run for each in others for run in each[preset]),
        ]
        for preset in presets
    }


def worlds_of_folds(study: Study, world: World) -> list[World]:
    """Return the worlds of the models of the folds, with photos of known species and of species new to them."""
    known = np.setdiff1d(study.collection.tuning, study.collection.all_aside)
    return [
        world_of_model(world, model, np.union1d(known, study.fold_queries(fold)))
        for fold, model in enumerate(study.folds)
    ]


def weights_of(preset: str, mode: Mode) -> FusionWeights | None:
    """Return the weights that a preset uses."""
    if preset != "default":
        return None
    return WEIGHTS["starter"]["several" if mode in ("several", "complete") else "single"]


def shipped_calibration(world: World, folds: Sequence[World]) -> Calibration:
    """Return the calibration of the starter profile, for any knowledge base."""
    encoders = load_starter()
    return Calibration(
        profile=encoders.profile,
        kind="shipped",
        spaces=encoders.spaces,
        parameters=fit_all(runs_of(world, folds, sorted(PRESETS), n=N_KNOWLEDGE_BASES, seed=0)),
        fitted_on=(
            f"{N_KNOWLEDGE_BASES} random parts of the shipped knowledge base with 0 to 3 anchors a species, photos of "
            "held and of other species, a quarter of them made small; and all of it, with photos of known species and, "
            "by models of folds, of new ones"
        ),
    )


@click.command()
@study_options
@click.option("--out", type=click.Path(path_type=Path), default=SHIPPED, help="Output file.")
def main(data: Path, work: Path, out: Path) -> None:
    """Fit and write the calibration of the starter profile."""
    study = read_study(data, work)
    world = read_world(study.collection, fitting_photos(study.collection), work)
    calibration = shipped_calibration(world, worlds_of_folds(study, world))
    write_atomic(out, calibration_bytes(calibration))
    click.echo(f"{out}: {calibration.id}")


if __name__ == "__main__":
    main()
