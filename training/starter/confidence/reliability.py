"""Reliability of the confidence: `python -m training.starter.confidence.reliability --data DIR --work DIR`.

Two sets of photos, each with random parts of the shipped knowledge base: those set aside, of species that the model
knows, which no fit has read; and the hidden half, by calibrations fitted to the photos of four fifths of the species,
for those of the others. The shipped model was trained on neither, but on other photos of all these species: a species
is unknown where the knowledge base and the background lack it. The prior of unknown birds is estimated from the photos
of each run, as `kb identify` does. Intervals are by bootstrap over species. Prints Markdown tables; with
`--pictures DIR` draws reliability diagrams and risk-coverage curves there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    Chances,
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
from recognize.settings import MIN_CONFIDENCE
from training.starter.confidence.calibrate import fit_all, fitting_photos
from training.starter.confidence.charts import Line, Panel, draw
from training.starter.confidence.worlds import Run, draw_runs, read_world
from training.starter.fitting import calibration_error
from training.starter.protocol import read_study_collection
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
KINDS: Final[Mapping[str, Callable[[Run], bool]]] = {
    "all species but those left out": lambda run: run.is_whole,
    "parts of it, several reference photos a species": lambda run: not run.is_whole and run.mode == "several",
    "parts of it, one": lambda run: not run.is_whole and run.mode == "single",
    "parts of it, none": lambda run: not run.is_whole and run.mode == "none",
}
"""Name -> test of a run's knowledge base."""


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
    """A run with the chances of its photos by a calibration that has not read them."""

    run: Run
    even: Scores
    """Chance of an unknown species at even odds."""
    rows: Scores
    fitted: Sequence[Parameters]
    """Calibration of each photo."""

    @property
    def is_good(self) -> NDArray[np.bool_]:
        """Whether the look is good."""
        return ~is_poor(self.rows, self.fitted[0])

    def chances(self, chosen: IntArray, prior: float) -> list[Chances]:
        """Return the chances of some photos."""
        return [chances_of(self.rows[[at]], self.fitted[at], unknown_prior=prior)[0] for at in chosen.tolist()]


def judged(run: Run, fitted: Sequence[Mapping[Mode, Parameters]]) -> Judged:
    """Return a run judged by one calibration, or by that of each photo's fold."""
    of_photo = [fitted[truth % len(fitted)][run.mode] for truth in run.truth.tolist()]
    rows = run.evidence(of_photo[0].temperature)
    even = np.array([even_unknown(rows[[at]], each)[0] for at, each in enumerate(of_photo)])
    return Judged(run=run, even=even, rows=rows, fitted=of_photo)


def answers(runs: Sequence[Judged], share: float, *, of_small: bool = False) -> Answers:
    """Return the answers to the photos of runs with a share of unknown birds, as many photos as there are."""
    parts = []
    for number, each in enumerate(runs):
        run = each.run
        chosen = mixed(run, share, seed=number, of_small=of_small)
        if not len(chosen):
            continue
        seen = chosen[sample_of(len(chosen))]
        found = each.chances(chosen, estimate_prior(each.even[seen[each.is_good[seen]]]))
        confidence = np.array([chances.right("species") for chances in found])
        absent = np.array([chances.unknown > UNKNOWN_FROM and not chances.is_poor for chances in found])
        parts.append((
            confidence, (confidence >= MIN_CONFIDENCE) & ~absent, absent, run.right[chosen, 0], run.is_held[chosen],
            run.truth[chosen],
        ))  # fmt: skip
    names = ("confidence", "names_species", "is_absent", "right", "is_held", "groups")
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Answers(**dict(zip(names, columns, strict=True)))


def mixed(run: Run, share: float, *, seed: int, of_small: bool) -> IntArray:
    """Return the rows of photos that were made small, or of the others, as many as give a share of unknown birds."""
    rng = np.random.default_rng(seed)
    is_kind = (run.photos >= len(run.world.plain)) == of_small
    held, other = (rng.permutation(np.flatnonzero((run.is_held == kind) & is_kind)) for kind in (True, False))
    n_other = min(len(other), round(len(held) * share / (1 - share)))
    n_held = min(len(held), round(n_other * (1 - share) / share)) if share else len(held)
    return np.sort(np.concatenate([held[:n_held], other[:n_other]]))


def by_share(title: str, runs: Sequence[Judged], *, of_small: bool = False) -> list[str]:
    """Return a table with a row for each share of unknown birds."""
    rows = []
    for share in SHARES:
        found = answers(runs, share, of_small=of_small)
        named, is_sure = found.names_species, found.confidence >= SURE
        everything = np.ones_like(is_sure)
        rows.append([
            f"{share:.0%}", f"{len(found.right):,}", found.error(), found.ratio(found.right, is_sure),
            found.ratio(is_sure, everything), found.ratio(named & found.right, found.is_held),
            found.ratio(found.is_absent, found.is_held), found.ratio(named, ~found.is_held),
        ])  # fmt: skip
    header = ["unknown birds", "photos", "ECE", "right at 90 % or more", "share of these", "held: named right",
              "held: called absent", "not held: named"]  # fmt: skip
    return ["", f"## {title}", "", *markdown(header, rows)]


def shares_of_runs(title: str, runs: Sequence[Judged]) -> list[str]:
    """Return the table of estimated shares of unknown birds, the mean and the deviation over runs of some lengths."""
    plain = [each.run.photos < len(each.run.world.plain) for each in runs]
    even = [np.where(each.is_good, each.even, np.nan) for each in runs]
    all_even = np.concatenate([found[kept] for found, kept in zip(even, plain, strict=True)])
    is_held = np.concatenate([each.run.is_held[kept] for each, kept in zip(runs, plain, strict=True)])
    held, other = all_even[is_held], all_even[~is_held]
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


@click.command()
@study_options
@click.option("--pictures", "folder", type=click.Path(path_type=Path), help="Folder of the SVG pictures.")
@click.option("--n", default=N_KNOWLEDGE_BASES, show_default=True, help="Number of random knowledge bases.")
def main(data: Path, work: Path, folder: Path | None, n: int) -> None:
    """Print the tables of reliability."""
    collection = read_study_collection(data)
    aside = read_world(collection, collection.aside_known, work)
    hidden = read_world(collection, fitting_photos(collection), work)
    fold_of = hidden.truth[: len(hidden.plain)] % N_FOLDS
    folds = [
        fit_all(draw_runs(hidden.only(fold_of != fold), [PRESET], n=n, seed=fold))[PRESET] for fold in range(N_FOLDS)
    ]
    shipped = [read_calibration(SHIPPED).parameters[PRESET]]
    lines: list[str] = []
    for name, world, fitted in (("set aside", aside, shipped), ("hidden half, by folds", hidden, folds)):
        runs = [judged(run, fitted) for run in draw_runs(world, [PRESET], n=n, seed=SEED)[PRESET]]
        for kind, is_kind in KINDS.items():
            some = [each for each in runs if is_kind(each.run)]
            lines += by_share(f"Photos {name}: {kind}", some)
            if kind == next(iter(KINDS)):
                lines += by_share(f"Photos {name}, made small: {kind}", some, of_small=True)
                lines += shares_of_runs(f"Photos {name}: estimated share of unknown birds, {kind}", some)
                lines += frontier(f"Photos {name}: unknown birds with a name, {kind}", answers(some, 0.5))
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for file, picture in pictures(answers(runs, 0.13)).items():
                (folder / file).write_text(picture, encoding="utf-8")
    click.echo("\n".join(lines))


if __name__ == "__main__":
    main()
