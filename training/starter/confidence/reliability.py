"""Reliability of the confidence: `python -m training.starter.confidence.reliability --data DIR --work DIR`.

All of the shipped knowledge base, with birds that it lacks: by the twin of the shipped model on the photos set aside,
whose new species the twin does not know; and on the hidden half by calibrations fitted to the photos of four fifths of
its species, with new species of the folds' models, of which each fit leaves out one. And random parts of it, by the
shipped model on the photos set aside; there a species is unknown where the knowledge base and the background lack it.
The share of unknown birds is estimated from the photos of each run, as `kb identify` does. Intervals are by bootstrap
over species. Prints Markdown tables; with `--pictures DIR` draws reliability diagrams and risk-coverage curves there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.metrics.ranked import resample
from recognize.answers import UNKNOWN_FROM
from recognize.confidence.calibration import (
    SHIPPED,
    Parameters,
    chances_of,
    estimate_prior,
    even_unknown,
    is_poor,
    read_calibration,
    sample_of,
)
from recognize.confidence.evidence import Mode
from recognize.scoring.ranking import Scores
from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR
from training.starter.confidence.calibrate import fit_all, fitting_photos, runs_of, worlds_of_folds
from training.starter.confidence.charts import Line, Panel, draw
from training.starter.confidence.worlds import Run, World, complete_runs, draw_runs, read_world, world_of_model
from training.starter.fitting import calibration_error
from training.starter.study import Study, read_study
from training.tables import decimals, markdown, study_options, with_interval

SHARES: Final = (0.0, 0.13, 0.3, 0.7)
"""Shares of photos of unknown birds."""
N_KNOWLEDGE_BASES: Final = 80
SEED: Final = 1_000  # of no fit
N_FOLDS: Final = 5
SURE: Final = 0.9
FRONTIER: Final = (0.5, 0.65, 0.72, 0.75, 0.8)
RUN_LENGTHS: Final = (10, 100, 1_000)
N_RUNS: Final = 40  # of each length and share
N_RESAMPLES: Final = 1_000
N_BINS: Final = 10
PRESET: Final = "default"
N_DRAWS: Final = 20
"""Runs drawn from the photos of one knowledge base."""
PARTS: Final[Mapping[str, Mode]] = {"several": "several", "one": "single", "none": "none"}


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answers to the photos of runs, each with a share of unknown birds."""

    confidence: Scores
    """Chance that the first species is right."""
    names_species: NDArray[np.bool_]
    """Whether the answer is a species."""
    right: NDArray[np.bool_]
    """Whether the first species is right."""
    is_held: NDArray[np.bool_]
    is_absent: NDArray[np.bool_]
    """Whether the answer is that the species is not in the knowledge base."""
    groups: IntArray
    """Species of each photo."""

    def ratio(self, hits: NDArray[np.bool_], of: NDArray[np.bool_]) -> str:
        """Return the share of hits among some photos, with its 95 % interval by bootstrap over groups."""
        if not of.any():
            return ""
        sums = np.stack([np.bincount(self.groups, kind.astype(float)) for kind in (hits & of, of)], axis=1)
        sums = sums[np.bincount(self.groups) > 0]
        totals = np.concatenate([times @ sums for times in resample(len(sums), N_RESAMPLES)])
        low, high = np.quantile(totals[:, 0] / np.maximum(totals[:, 1], 1e-9), (0.025, 0.975))
        return with_interval(float(sums[:, 0].sum() / sums[:, 1].sum()), low, high)

    def error(self) -> str:
        """Return the calibration error of the first species, with its 95 % interval by bootstrap over groups."""
        photos = [np.flatnonzero(self.groups == group) for group in np.unique(self.groups)]
        times = np.concatenate([*resample(len(photos), 200)]).astype(np.intp)
        drawn = (np.repeat(np.concatenate(photos), np.repeat(each, list(map(len, photos)))) for each in times)
        found = [calibration_error(self.confidence[at], self.right[at], N_BINS) for at in drawn]
        low, high = np.quantile(found, (0.025, 0.975))
        return with_interval(calibration_error(self.confidence, self.right, N_BINS), low, high)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Photos with one knowledge base, and their chances by a calibration that has not read them."""

    rows: Scores
    right: NDArray[np.bool_]
    """Whether the first species is right."""
    is_held: NDArray[np.bool_]
    truth: IntArray
    fitted: Parameters

    @classmethod
    def of(cls, runs: Sequence[Run], fitted: Parameters, *, of_small: bool = False) -> Judged:
        """Return the photos of runs that were made small, or the others."""
        kept = [run.is_small == of_small for run in runs]
        return cls(
            rows=np.concatenate([run.evidence(fitted.temperature)[at] for run, at in zip(runs, kept, strict=True)]),
            right=np.concatenate([run.right[at, 0] for run, at in zip(runs, kept, strict=True)]),
            is_held=np.concatenate([run.is_held[at] for run, at in zip(runs, kept, strict=True)]),
            truth=np.concatenate([run.truth[at] for run, at in zip(runs, kept, strict=True)]),
            fitted=fitted,
        )

    @cached_property
    def even(self) -> Scores:
        """The chance of an unknown species at even odds; NaN for a poor look."""
        return np.where(is_poor(self.rows, self.fitted), np.nan, even_unknown(self.rows, self.fitted))


def answers(runs: Sequence[Judged], share: float, *, alone: bool = False) -> Answers:
    """Return the answers to the photos of runs with a share of unknown birds, as many photos as there are.

    `alone` means that each photo is identified alone, without an estimate of that share.
    """
    parts = []
    for number, each in enumerate(runs):
        chosen = mixed(each.is_held, share, seed=number)
        if not len(chosen):
            continue
        even = each.even[chosen[sample_of(len(chosen))]]
        prior = UNKNOWN_PRIOR if alone else estimate_prior(even[~np.isnan(even)])
        found = chances_of(each.rows[chosen], each.fitted, unknown_prior=prior)
        confidence = np.array([chances.right("species") for chances in found])
        absent = np.array([chances.unknown > UNKNOWN_FROM and not chances.is_poor for chances in found])
        named = (confidence >= MIN_CONFIDENCE) & ~absent
        parts.append((confidence, named, absent, each.right[chosen], each.is_held[chosen], each.truth[chosen]))
    names = ("confidence", "names_species", "is_absent", "right", "is_held", "groups")
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Answers(**dict(zip(names, columns, strict=True)))


def mixed(is_held: NDArray[np.bool_], share: float, *, seed: int) -> IntArray:
    """Return the positions of photos, as many as give a share of unknown birds."""
    rng = np.random.default_rng(seed)
    held, other = (rng.permutation(np.flatnonzero(is_held == kind)) for kind in (True, False))
    n_other = min(len(other), round(len(held) * share / (1 - share)))
    n_held = min(len(held), round(n_other * (1 - share) / share)) if share else len(held)
    return np.sort(np.concatenate([held[:n_held], other[:n_other]]))


def by_share(title: str, runs: Sequence[Judged], shares: Sequence[float] = SHARES, *, alone: bool = False) -> list[str]:
    """Return a table with a row for each share of unknown birds."""
    rows = []
    for share in shares:
        found = answers(runs, share, alone=alone)
        named, is_sure = found.names_species, found.confidence >= SURE
        everything = np.ones_like(is_sure)
        rows.append([
            f"{share:.0%}", found.error(), found.ratio(found.right, is_sure),
            found.ratio(is_sure, everything), found.ratio(named & found.right, found.is_held),
            found.ratio(found.is_absent, found.is_held), found.ratio(named, ~found.is_held),
        ])  # fmt: skip
    header = ["unknown birds", "ECE", "right at 90 % or more", "share of these", "held: named right",
              "held: called absent", "not held: named"]  # fmt: skip
    n_held, n_other = (
        len(np.unique(np.concatenate([each.truth[each.is_held == kind] for each in runs]))) for kind in (True, False)
    )
    return ["", f"## {title}", "", f"{n_held} species held, {n_other} not.", "", *markdown(header, rows)]


def shares_of_runs(title: str, each: Judged) -> list[str]:
    """Return the table of estimated shares of unknown birds, the mean and the deviation over runs of some lengths."""
    held, other = each.even[each.is_held], each.even[~each.is_held]
    rng = np.random.default_rng(SEED)
    rows = []
    for n in RUN_LENGTHS:
        cells = []
        for share in (0.0, 0.1, 0.3, 0.7):
            n_other = round(n * share)
            drawn = (np.concatenate([rng.choice(held, n - n_other), rng.choice(other, n_other)]) for _ in range(N_RUNS))
            samples = (rng.permutation(photos)[sample_of(n)] for photos in drawn)
            found = [estimate_prior(sample[~np.isnan(sample)]) for sample in samples]
            cells.append(f"{decimals(float(np.mean(found)))} ({decimals(float(np.std(found)))})")
        rows.append([f"{n:,}", *cells])
    return ["", f"## {title}", "", *markdown(["photos", "none", "10 %", "30 %", "70 %"], rows)]


def frontier(title: str, found: Answers) -> list[str]:
    """Return the share of unknown birds with a species name where so many held ones are named right."""
    good = np.sort(found.confidence[found.right & found.is_held])[::-1]
    rows = []
    for share in FRONTIER:
        at = round(share * found.is_held.sum()) - 1
        if at < len(good):
            rows.append([decimals(share), found.ratio(found.confidence >= good[at], ~found.is_held)])
    return ["", f"## {title}", "", *markdown(["held, named right", "not held: named"], rows)]


def pictures(found: Answers) -> dict[str, str]:
    """Return file name -> SVG: the reliability diagram and the risk-coverage curve of a species answer."""
    order = np.argsort(found.confidence, kind="stable")
    bins = np.array_split(order, N_BINS)
    reliable = [(float(found.confidence[b].mean()), float(found.right[b].mean())) for b in bins]
    wrong = np.cumsum(~found.right[order[::-1]]) / np.arange(1, len(order) + 1)
    steps = np.linspace(len(order) // 50, len(order) - 1, 40).astype(int)
    risk = [((step + 1) / len(order), float(wrong[step])) for step in steps.tolist()]
    return {
        "reliability.svg": draw(
            [Panel(title="Species", lines=[Line(name="answers", points=reliable)], has_diagonal=True)],
            x="confidence", y="share right",
        ),
        "risk_coverage.svg": draw(
            [Panel(title="Species", lines=[Line(name="answers", points=risk, is_marked=False)])],
            x="coverage", y="share wrong",
        ),
    }  # fmt: skip


def folds_of(study: Study, hidden: World, folds: Sequence[World]) -> list[Judged]:
    """Return the hidden half and the new species of the folds, each fold judged by a fit to the others."""
    fold_of, found = hidden.truth[: len(hidden.plain)] % N_FOLDS, []
    for fold in range(N_FOLDS):
        others = runs_of(hidden.only(fold_of != fold), [*folds[:fold], *folds[fold + 1 :]], [PRESET], n=0, seed=0)
        new = folds[fold].only(~folds[fold].known)
        runs = [*complete_runs(hidden.only(fold_of == fold), [PRESET])[PRESET], *complete_runs(new, [PRESET])[PRESET]]
        found.append(Judged.of(runs, fit_all(others)[PRESET]["complete"]))
    return found


@click.command()
@study_options
@click.option("--pictures", "folder", type=click.Path(path_type=Path), help="Folder of the SVG pictures.")
@click.option("--n", default=N_KNOWLEDGE_BASES, show_default=True, help="Number of random knowledge bases.")
def main(data: Path, work: Path, folder: Path | None, n: int) -> None:
    """Print the tables of reliability."""
    study = read_study(data, work)
    collection, shipped = study.collection, read_calibration(SHIPPED).parameters[PRESET]
    aside = read_world(collection, collection.aside_known, work)
    twin = world_of_model(aside, study.twin, np.union1d(collection.aside_known, collection.aside_new))
    whole = Judged.of(complete_runs(twin, [PRESET])[PRESET], shipped["complete"])
    hidden = read_world(collection, fitting_photos(collection), work)
    folds = folds_of(study, hidden, worlds_of_folds(study, hidden))
    small = Judged.of(complete_runs(aside, [PRESET])[PRESET], shipped["complete"], of_small=True)
    lines = [
        *by_share("All of the shipped knowledge base, photos set aside", [whole] * N_DRAWS),
        *shares_of_runs("All of it, photos set aside: estimated share of unknown birds", whole),
        *frontier(
            "All of it, photos set aside: unknown birds with a name, half of the photos unknown",
            answers([whole] * N_DRAWS, 0.5),
        ),
        *by_share("All of it, hidden half and folds", folds * (N_DRAWS // N_FOLDS)),
        *by_share("All of it, photos set aside, made small, each alone", [small], shares=(0.0,), alone=True),
    ]
    runs = draw_runs(aside, [PRESET], n=n, seed=SEED)[PRESET]
    for name, mode in PARTS.items():
        some = [Judged.of([run], shipped[mode]) for run in runs if run.mode == mode]
        lines += by_share(f"Parts of it, photos set aside, reference photos a species: {name}", some)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for file, picture in pictures(answers([whole] * N_DRAWS, 0.13)).items():
            (folder / file).write_text(picture, encoding="utf-8")
    click.echo("\n".join(lines))


if __name__ == "__main__":
    main()
