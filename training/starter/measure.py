"""Figures of the starter models by the protocol: `python -m training.starter.measure --data DIR --work DIR`.

`seen` is asked with the shipped files; `unseen` with the models of the folds that training left in the work folder.
Prints Markdown tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from recognize.evaluation.protocol import N_FOLDS
from recognize.scoring.fusion import WEIGHTS, FusionWeights
from recognize.starter.encoders import HEADS_FILE, TOWER_FILE, Weights
from training.starter.fitting import as_array, calibration_error, softmax, stage_scores
from training.starter.study import ROWS, Study, read_study

COLUMNS: Final = ("top-1", "top-5", "hit@30", "MRR@1", "MRR@5", "MRR@10")
N_DRAWS: Final = 2000


def values_of(ranks: IntArray) -> NDArray[np.float64]:
    """Return the columns of each photo, `(n, 6)`."""
    reciprocal = [np.where(ranks <= k, 1 / ranks, 0.0) for k in (1, 5, 10)]
    return np.stack([*(np.where(ranks <= k, 1.0, 0.0) for k in (1, 5, 30)), *reciprocal], axis=1)


@dataclass(frozen=True)
class Bootstrap:
    """Draws of species with replacement, the same for all rows: differences are paired."""

    species: IntArray
    seed: int = 0

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """How often each species is drawn, `(N_DRAWS, n_species)`."""
        n = int(self.species.max()) + 1
        present = np.unique(self.species)
        draws = np.random.default_rng(self.seed).choice(present, (N_DRAWS, len(present)))
        return np.stack([np.bincount(draw, minlength=n) for draw in draws]).astype(np.float64)

    def means(self, values: NDArray[np.float64], *, by_species: bool) -> NDArray[np.float64]:
        """Return the mean of `values` `(n_photos, n)` in each draw, `(N_DRAWS, n)`: by photo, or of species' means."""
        n = self.counts.shape[1]
        sums: NDArray[np.floating] = np.stack([np.bincount(self.species, c, minlength=n) for c in values.T], axis=1)
        sizes: NDArray[np.float64] = np.bincount(self.species, minlength=n).astype(np.float64)
        if by_species:
            sums = sums / np.maximum(sizes, 1)[:, None]
            sizes = np.minimum(sizes, 1.0)
        result: NDArray[np.float64] = (self.counts @ sums) / (self.counts @ sizes)[:, None]
        return result


def species_mean(values: NDArray[np.float64], species: IntArray) -> NDArray[np.float64]:
    """Return the mean over species of their photos' means."""
    _, classes = np.unique(species, return_inverse=True)
    sums = np.stack([np.bincount(classes, column) for column in values.T], axis=1)
    result: NDArray[np.float64] = (sums / np.bincount(classes)[:, None]).mean(axis=0)
    return result


def table(study: Study, mode: str, *, bounded: bool) -> list[str]:
    """Return the Markdown tables of one anchor mode: both settings, by photo and by species; then the differences."""
    weights = study.nested_weights(mode)
    lines: list[str] = []
    values: dict[str, dict[str, NDArray[np.float64]]] = {"unseen": {}, "seen": {}}
    labels = study.collection.labels
    for setting in ("unseen", "seen"):
        species = labels[study.asked(setting)]
        boot = Bootstrap(species)
        for by_species in (False, True):
            what = f"{setting}, `{mode}`, {'bounded' if bounded else 'open'}, by {'species' if by_species else 'photo'}"
            lines += ["", f"**{what}** (n = {len(species)})", "", "| | " + " | ".join(COLUMNS) + " |", "|---" * 7 + "|"]
            for row in ROWS:
                if row not in values[setting]:
                    values[setting][row] = values_of(study.ranks(setting, mode, row, weights, bounded=bounded))
                found = values[setting][row]
                mean = species_mean(found, species) if by_species else found.mean(axis=0)
                low, high = np.quantile(boot.means(found, by_species=by_species), (0.025, 0.975), axis=0)
                cells = [f"{_short(m)} ({_short(a)}-{_short(b)})" for m, a, b in zip(mean, low, high, strict=True)]
                lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines + _rule(study, mode, values, bounded=bounded)


def _rule(study: Study, mode: str, values: dict[str, dict[str, NDArray[np.float64]]], *, bounded: bool) -> list[str]:
    """Return the table of differences: default less each other row, on an equal mix and on each setting alone."""
    labels = study.collection.labels
    asked = {setting: labels[study.asked(setting)] for setting in values}
    # One draw of species serves both settings.
    everyone = Bootstrap(np.concatenate([asked["unseen"], asked["seen"]]))
    lines = ["", f"**default minus the other, `{mode}`, {'bounded' if bounded else 'open'}**", ""]
    lines += ["| | mix: top-1 | mix: MRR@10 | unseen: top-1 | seen: top-1 |", "|---|---|---|---|---|"]
    for row in ROWS:
        if row == "default":
            continue
        difference = {s: (values[s]["default"] - values[s][row])[:, [0, 5]] for s in values}
        draws = {s: _draw_means(everyone, asked[s], difference[s]) for s in values}
        mix = (draws["unseen"] + draws["seen"]) / 2
        centre = (difference["unseen"].mean(axis=0) + difference["seen"].mean(axis=0)) / 2
        low, high = np.quantile(mix, (0.025, 0.975), axis=0)
        cells = [f"{_signed(c)} ({_signed(a)} to {_signed(b)})" for c, a, b in zip(centre, low, high, strict=True)]
        cells += [_signed(difference[s].mean(axis=0)[0]) for s in values]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines


def _draw_means(boot: Bootstrap, species: IntArray, values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = boot.counts.shape[1]
    sums = np.stack([np.bincount(species, column, minlength=n) for column in values.T], axis=1)
    sizes = np.bincount(species, minlength=n).astype(np.float64)
    result: NDArray[np.float64] = (boot.counts @ sums) / (boot.counts @ sizes)[:, None]
    return result


def groups(study: Study, mode: str) -> list[str]:
    """Return the table of the default preset by where the photos come from, and of species that were confused most."""
    weights, labels = study.nested_weights(mode), study.collection.labels
    lines = ["", f"**default by source of the photo, `{mode}`, open: top-1 (n)**", "", "| source | unseen | seen |"]
    lines.append("|---|---|---|")
    right, sources = {}, {}
    for setting in ("unseen", "seen"):
        right[setting] = study.ranks(setting, mode, "default", weights, bounded=False) == 1
        sources[setting] = np.array([study.collection.photos[i].source for i in study.asked(setting)])
    for source in sorted(set(sources["unseen"])):
        cells = [f"{_short(right[s][sources[s] == source].mean())} ({(sources[s] == source).sum()})" for s in right]
        lines.append(f"| {source} | " + " | ".join(cells) + " |")
    lines += ["", f"**the ten species with the lowest top-1, `{mode}`, unseen, five photos or more**", ""]
    asked = labels[study.asked("unseen")]
    counts = np.bincount(asked, minlength=len(study.everything))
    shares = np.bincount(asked, right["unseen"], minlength=len(counts)) / np.maximum(counts, 1)
    often = [i for i in np.argsort(shares, kind="stable") if counts[i] >= 5][:10]
    lines.append(", ".join(f"{study.collection.vocabulary[i]} {_short(shares[i])} ({counts[i]})" for i in often))
    return lines


def one_model(study: Study, mode: str) -> list[str]:
    """Return what the default preset gives where one model is asked for new and known species, and as shipped."""
    labels = study.collection.labels
    lines = ["", f"**one model, new and known species, `{mode}`, open: top-1 / MRR@10**", ""]
    lines += ["| | new species | known species, other photos |", "|---|---|---|"]
    for blind in (False, True):
        cells = []
        for photos, ranks in study.mixed_ranks(mode, blind=blind):
            values = values_of(ranks)[:, [0, 5]]
            low, high = np.quantile(Bootstrap(labels[photos]).means(values, by_species=False), (0.025, 0.975), axis=0)
            numbers = zip(values.mean(axis=0), low, high, strict=True)
            cells.append(" / ".join(f"{_short(m)} ({_short(a)}-{_short(b)})" for m, a, b in numbers))
            cells[-1] += f", n = {len(photos)}"
        lines.append(f"| default{', without prototypes' if blind else ''} | " + " | ".join(cells) + " |")
    weights = [WEIGHTS["starter"]["single" if mode == "wiki" else "several"]] * N_FOLDS
    mean = values_of(study.ranks("seen", mode, "default", weights, bounded=False)).mean(axis=0)
    return [*lines, "", f"Seen, with the shipped weights: top-1 {_short(mean[0])}, MRR@10 {_short(mean[5])}."]


def calibration(study: Study, mode: str) -> list[str]:
    """Return how far the softmax of the default preset's score can be trusted, weights fitted without the fold."""
    weights, labels, folds = study.nested_weights(mode), study.collection.labels, study.collection.folds
    lines = [
        "",
        f"**confidence, `{mode}`, open**",
        "",
        "| | n | ECE | top-1 | at .5 | at .7 | at .9 |",
        "|---" * 7 + "|",
    ]
    sure: dict[str, NDArray[np.float64]] = {}
    right: dict[str, NDArray[np.bool_]] = {}
    for setting in ("unseen", "seen"):
        asked = study.asked(setting)
        sure[setting], right[setting] = np.zeros(len(asked)), np.zeros(len(asked), dtype=np.bool_)
        for fold in range(N_FOLDS):
            mine = folds[labels[asked]] == fold
            model = study.seen if setting == "seen" else study.folds[fold]
            stages = stage_scores(model.knowledge(mode, study.everything), model.queries(asked[mine]))
            chances = softmax(stages.astype(np.float64) @ as_array(weights[fold]))
            sure[setting][mine] = chances.max(axis=1)
            right[setting][mine] = chances.argmax(axis=1) == labels[asked[mine]]
    sure["both"], right["both"] = np.concatenate(list(sure.values())), np.concatenate(list(right.values()))
    for setting, confidence in sure.items():
        cells = [str(len(confidence)), _short(calibration_error(confidence, right[setting]))]
        cells.append(_short(right[setting].mean()))
        for floor in (0.5, 0.7, 0.9):
            kept = confidence >= floor
            cells.append(f"{_short(right[setting][kept].mean())} of {_short(kept.mean())}")
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return lines


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".")


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="The folder of photos.csv.")
@click.option(
    "--work", type=click.Path(path_type=Path, exists=True), required=True, help="Where training left its models."
)
@click.option("--weights", is_flag=True, help="Only fit the weights that are shipped, and print them as JSON.")
def main(data: Path, work: Path, weights: bool) -> None:
    """Print all rows and columns of the protocol."""
    study = read_study(data, work)
    if weights:
        fitted = {mode: study.shipped_weights(mode) for mode in ("three", "wiki")}
        names = FusionWeights.__slots__
        click.echo(json.dumps({m: {n: round(getattr(w, n), 3) for n in names} for m, w in fitted.items()}, indent=1))
        return
    sizes = [(Weights().folder / name).stat().st_size for name in (TOWER_FILE, HEADS_FILE)]
    click.echo(f"{TOWER_FILE} {sizes[0] / 1e6:.1f} MB, {HEADS_FILE} {sizes[1] / 1e6:.1f} MB")
    for mode in ("three", "wiki"):
        for bounded in (False, True):
            click.echo("\n".join(table(study, mode, bounded=bounded)))
        click.echo("\n".join(groups(study, mode) + one_model(study, mode) + calibration(study, mode)))


if __name__ == "__main__":
    main()
