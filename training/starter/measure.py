"""Accuracy of the starter models by the protocol: `python -m training.starter.measure --data DIR --work DIR`.

The shipped files answer for `seen`, the models of the folds in the work folder for `unseen`. Prints Markdown tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data.arrays import IntArray
from data.metrics.ranked import resample
from recognize.scoring.presets import WEIGHTS, AnchorMode
from recognize.starter.encoders import HEADS_FILE, TOWER_FILE, Weights
from training.starter.protocol import N_FOLDS
from training.starter.study import ROWS, SETTINGS, Study, read_study
from training.tables import decimals, study_options, table, with_interval

COLUMNS: Final = ("top-1", "top-5", "hit@30", "MRR@1", "MRR@5", "MRR@10")
N_RESAMPLES: Final = 2000
MODES: Final[Mapping[str, AnchorMode]] = {"three": "several", "wiki": "single"}
"""Anchors of the protocol -> anchor mode of a knowledge base with such anchors."""
Values = NDArray[np.float64]


def values_of(ranks: IntArray) -> Values:
    """Return the columns of each photo, `(n, 6)`."""
    reciprocal = [np.where(ranks <= k, 1 / ranks, 0.0) for k in (1, 5, 10)]
    return np.stack([*(np.where(ranks <= k, 1.0, 0.0) for k in (1, 5, 30)), *reciprocal], axis=1)


@dataclass(frozen=True)
class Bootstrap:
    """Resampling of species with replacement, the same for all rows, so differences are paired."""

    species: IntArray
    seed: int = 0

    @cached_property
    def counts(self) -> Values:
        """Number of draws of each species, `(N_RESAMPLES, n_species)`."""
        n = int(self.species.max()) + 1
        present = np.unique(self.species)
        counts = np.zeros((N_RESAMPLES, n))
        counts[:, present] = np.concatenate([*resample(len(present), N_RESAMPLES, self.seed)])
        return counts

    def means(self, values: Values, species: IntArray, *, by_species: bool = False) -> Values:
        """Return the mean of `values` `(n_photos, n)` in each resample, `(N_RESAMPLES, n)`: over photos or species."""
        n = self.counts.shape[1]
        sums: NDArray[np.floating] = np.stack(
            [np.bincount(species, column, minlength=n) for column in values.T], axis=1
        )
        sizes: Values = np.bincount(species, minlength=n).astype(np.float64)
        if by_species:
            sums = sums / np.maximum(sizes, 1)[:, None]
            sizes = np.minimum(sizes, 1.0)
        result: Values = (self.counts @ sums) / (self.counts @ sizes)[:, None]
        return result

    def interval(self, values: Values, species: IntArray, *, by_species: bool = False) -> Values:
        """Return the lower and upper ends of the 95 % intervals of the means, `(2, n)`."""
        return np.quantile(self.means(values, species, by_species=by_species), (0.025, 0.975), axis=0)


def species_mean(values: Values, species: IntArray) -> Values:
    """Return the mean over species of the means over their photos."""
    result: Values = pd.DataFrame(values).groupby(species).mean().mean().to_numpy()
    return result


def accuracy(study: Study, mode: str, *, bounded: bool) -> list[str]:
    """Return the tables of one anchor mode: both settings, by photo and by species; then the differences."""
    weights, labels = study.nested_weights(mode), study.collection.labels
    vocabulary = "bounded" if bounded else "open"
    lines: list[str] = []
    values = {
        setting: {row: values_of(study.ranks(setting, mode, row, weights, bounded=bounded)) for row in ROWS}
        for setting in SETTINGS
    }
    for setting, by_row in values.items():
        species = labels[study.queries_of(setting)]
        bootstrap = Bootstrap(species)
        for by_species in (False, True):
            rows = {}
            for row, found in by_row.items():
                mean = species_mean(found, species) if by_species else found.mean(axis=0)
                low, high = bootstrap.interval(found, species, by_species=by_species)
                rows[row] = [with_interval(*cell) for cell in zip(mean, low, high, strict=True)]
            unit = "species" if by_species else "photo"
            title = f"{setting.capitalize()}, `{mode}`, {vocabulary}, by {unit} (n = {len(species)})"
            lines += table(title, ["", *COLUMNS], rows)
    return [*lines, *_differences(study, values, title=f"Default minus the other, `{mode}`, {vocabulary}")]


def _differences(study: Study, values: Mapping[str, Mapping[str, Values]], *, title: str) -> list[str]:
    """Return the table of differences between default and each other row, on an equal mix and on each setting alone."""
    asked = {setting: study.collection.labels[study.queries_of(setting)] for setting in values}
    bootstrap = Bootstrap(np.concatenate(list(asked.values())))  # one draw of species for both settings
    rows = {}
    for row in ROWS:
        if row == "default":
            continue
        difference = {s: (values[s]["default"] - values[s][row])[:, [0, 5]] for s in values}
        mix = sum(bootstrap.means(difference[s], asked[s]) for s in values) / 2
        centre = sum(difference[s].mean(axis=0) for s in values) / 2
        low, high = np.quantile(mix, (0.025, 0.975), axis=0)
        cells = [f"{_signed(c)} ({_signed(a)} to {_signed(b)})" for c, a, b in zip(centre, low, high, strict=True)]
        rows[row] = [*cells, *(_signed(difference[s].mean(axis=0)[0]) for s in values)]
    return table(title, ["", "mix: top-1", "mix: MRR@10", "unseen: top-1", "seen: top-1"], rows)


def groups(study: Study, mode: str) -> list[str]:
    """Return the table of the default preset by source of the photos, and the most difficult species."""
    weights = study.nested_weights(mode)
    photos = pd.concat(
        pd.DataFrame(
            {
                "setting": setting,
                "source": [study.collection.photos[i].source for i in study.queries_of(setting)],
                "species": [study.collection.photos[i].species for i in study.queries_of(setting)],
                "top-1": study.ranks(setting, mode, "default", weights, bounded=False) == 1,
            }
        )
        for setting in SETTINGS
    )
    rows = {}
    for source in sorted(set(photos["source"])):
        right = photos[photos["source"] == source].groupby("setting")["top-1"]
        rows[source] = [f"{decimals(right.mean().get(s, np.nan))} ({right.size().get(s, 0)})" for s in SETTINGS]
    lines = table(f"Default by source of the photo, `{mode}`, open: top-1 (n)", ["source", *SETTINGS], rows)
    by_species = photos[photos["setting"] == "unseen"].groupby("species")["top-1"].agg(share="mean", n="size")
    worst = by_species[by_species["n"] >= 5].sort_values("share", kind="stable")[:10]
    lines += ["", f"## The ten species with the lowest top-1, `{mode}`, unseen, five photos or more", ""]
    return [*lines, ", ".join(f"{row.Index} {decimals(row.share)} ({row.n})" for row in worst.itertuples())]


def one_model(study: Study, mode: str) -> list[str]:
    """Return the table of one model on new and known species, and the figures with the shipped weights."""
    labels = study.collection.labels
    rows = {}
    for blind in (False, True):
        cells = []
        for photos, ranks in study.mixed_ranks(mode, blind=blind):
            values = values_of(ranks)[:, [0, 5]]
            low, high = Bootstrap(labels[photos]).interval(values, labels[photos])
            figures = [with_interval(*cell) for cell in zip(values.mean(axis=0), low, high, strict=True)]
            cells.append(f"{' / '.join(figures)}, n = {len(photos)}")
        rows["default, without prototypes" if blind else "default"] = cells
    title = f"One model, new and known species, `{mode}`, open: top-1 / MRR@10"
    lines = table(title, ["", "new species", "known species, other photos"], rows)
    weights = [WEIGHTS["starter"][MODES[mode]]] * N_FOLDS
    mean = values_of(study.ranks("seen", mode, "default", weights, bounded=False)).mean(axis=0)
    return [*lines, "", f"Seen, with the shipped weights: top-1 {decimals(mean[0])}, MRR@10 {decimals(mean[5])}."]


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".")


@click.command()
@study_options
def main(data: Path, work: Path) -> None:
    """Print all tables of the protocol."""
    study = read_study(data, work)
    tower, heads = ((Weights().folder / name).stat().st_size / 1e6 for name in (TOWER_FILE, HEADS_FILE))
    click.echo(f"{TOWER_FILE} {tower:.1f} MB, {HEADS_FILE} {heads:.1f} MB")
    for mode in MODES:
        for bounded in (False, True):
            click.echo("\n".join(accuracy(study, mode, bounded=bounded)))
        click.echo("\n".join(groups(study, mode) + one_model(study, mode)))


if __name__ == "__main__":
    main()
