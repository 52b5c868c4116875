"""Reliability of the confidence: `python -m training.starter.confidence.reliability --data DIR --work DIR`.

Random knowledge bases that no fit has seen, and photos that this model has not: the hidden half, and the photos set
aside, with the twin of the shipped model that has not seen the species set aside. No weight or parameter was fitted on
their answers; the models of the folds, which fitting uses, were trained on the hidden half. The prior of unknown birds
is estimated from the photos of each run, as `kb identify` does. Intervals are by bootstrap over species. Prints
Markdown tables; with `--pictures DIR` draws reliability diagrams and risk-coverage curves there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Parameters,
    chances_of,
    estimate_prior,
    even_unknown,
    read_calibration,
    sample_of,
)
from recognize.confidence.evidence import Mode
from recognize.scoring.exact import Scores
from recognize.scoring.presets import PRESETS
from recognize.settings import MIN_CONFIDENCE
from training.starter.confidence.charts import Line, Panel, draw
from training.starter.confidence.worlds import Run, World, draw_runs, identify
from training.starter.fitting import calibration_error
from training.starter.study import Study, read_study
from training.tables import decimals, markdown, study_options, with_interval

SHARES: Final = (0.0, 0.1, 0.3, 0.5, 0.7)
"""Shares of photos of unknown birds."""
N_KNOWLEDGE_BASES: Final = 60
SEED: Final = 1_000  # of no fit
SURE: Final = 0.9
FRONTIER: Final = (0.5, 0.65, 0.72, 0.75, 0.8)
N_RESAMPLES: Final = 1_000
N_BINS: Final = 10
SHOWN: Final = "default"
"""Preset of the pictures, and of the tables by number of reference photos."""
MODES: Final[Mapping[Mode, str]] = {"several": "several", "single": "one", "none": "none"}
"""Anchor mode -> number of reference photos a species."""


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
    is_new: NDArray[np.bool_]
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


def answers(runs: Sequence[Run], fitted: Mapping[Mode, Parameters], share: float) -> Answers:
    """Return the answers to the photos of runs with a share of unknown birds, as many photos as there are."""
    parts = []
    for number, run in enumerate(runs):
        chosen = mixed(run, share, seed=number)
        parameters = fitted[run.mode]
        rows = run.evidence(parameters.temperature)[chosen]
        prior = estimate_prior(even_unknown(rows[sample_of(len(rows))], parameters))
        chances = chances_of(rows, parameters, unknown_prior=prior)
        confidence = np.array([each.right("species") for each in chances])
        is_known = np.array([each.unknown for each in chances]) <= UNKNOWN_FROM
        parts.append((
            confidence, (confidence >= MIN_CONFIDENCE) & is_known, run.right[chosen, 0], run.is_held[chosen],
            run.is_new[chosen], run.truth[chosen],
        ))  # fmt: skip
    names = ("confidence", "names_species", "right", "is_held", "is_new", "groups")
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Answers(**dict(zip(names, columns, strict=True)))


def mixed(run: Run, share: float, *, seed: int) -> IntArray:
    """Return the rows of photos of a run, as many as give a share of unknown birds."""
    rng = np.random.default_rng(seed)
    held, other = (rng.permutation(np.flatnonzero(run.is_held == kind)) for kind in (True, False))
    n_other = min(len(other), round(len(held) * share / (1 - share)))
    n_held = min(len(held), round(n_other * (1 - share) / share)) if share else len(held)
    return np.sort(np.concatenate([held[:n_held], other[:n_other]]))


def measured_world(study: Study) -> World:
    """Return the twin with the photos that nothing was fitted on."""
    collection = study.collection
    photos = np.union1d(collection.all_aside, collection.hidden)
    return World(model=study.twin, photos=photos, anchors=np.union1d(collection.twin_training, collection.aside_new))


def all_species_run(study: Study) -> Run:
    """Return photos identified with all species of the twin, as by the shipped knowledge base; new ones are unknown."""
    world = measured_world(study)
    species = np.flatnonzero(world.prototype_rows >= 0)
    return identify(world, species, world.knowledge(species, n_anchors=3, texts_of=species), world.photos, "default")


def by_share(title: str, runs: Sequence[Run], fitted: Mapping[Mode, Parameters]) -> list[str]:
    """Return the table of a preset: a row for each share of unknown birds."""
    rows = []
    for share in SHARES:
        found = answers(runs, fitted, share)
        named, known = found.names_species, ~found.is_held & ~found.is_new
        rows.append([
            f"{share:.0%}", f"{len(found.right):,}", found.error(),
            found.ratio(found.right, named & (found.confidence >= SURE)),
            found.ratio(named & found.right, found.is_held),
            found.ratio(named, known),
            found.ratio(named, ~found.is_held & found.is_new),
        ])  # fmt: skip
    header = ["unknown birds", "photos", "ECE", "right at 90 % or more", "held: named right",
              "not held, model knows: named", "not held, new to the model: named"]  # fmt: skip
    return ["", f"## {title}", "", *markdown(header, rows)]


def frontier(title: str, found: Answers) -> list[str]:
    """Return the share of unknown birds with a species name where so many held ones are named right."""
    good = np.sort(found.confidence[found.right & found.is_held])[::-1]
    rows = []
    for share in FRONTIER:
        at = round(share * found.is_held.sum()) - 1
        if at < len(good):
            named = found.confidence >= good[at]
            others = [~found.is_held & (found.is_new == kind) for kind in (False, True)]
            rows.append([decimals(share), *(found.ratio(named, some) for some in others)])
    return ["", f"## {title}", "", *markdown(["held, named right", "model knows: named", "new: named"], rows)]


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
    study = read_study(data, work)
    fitted = read_calibration(SHIPPED).parameters
    everything = all_species_run(study)
    lines = by_share("All species of the model, default preset", [everything], fitted["default"])
    lines += frontier("All species: unknown birds with a name", answers([everything], fitted["default"], 0.5))
    for preset, runs in draw_runs(measured_world(study), sorted(PRESETS), n=n, seed=SEED).items():
        lines += by_share(f"Random knowledge bases, {preset}", runs, fitted[preset])
        if preset == SHOWN:
            for mode, number in MODES.items():
                title = f"Random knowledge bases, {preset}, reference photos a species: {number}"
                lines += by_share(title, [run for run in runs if run.mode == mode], fitted[preset])
            found = answers(runs, fitted[preset], 0.3)
            lines += frontier(f"Random knowledge bases, {preset}: unknown birds with a name", found)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                for name, picture in pictures(found).items():
                    (folder / name).write_text(picture, encoding="utf-8")
    click.echo("\n".join(lines))


if __name__ == "__main__":
    main()
