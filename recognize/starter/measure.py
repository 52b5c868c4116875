"""Measures the starter pair by the protocol: `python -m recognize.starter.measure --data DIR --work DIR`.

`seen` is asked with the shipped files; `unseen` with the models of the folds that training left in the work folder.
Prints Markdown tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import FloatArray, IntArray
from data.contracts import VectorTable
from recognize.fusion import FusionWeights, default
from recognize.knowledge import Knowledge
from recognize.retrieve import anchors_only, text_only, vr_rag_v1, vr_rag_v2
from recognize.stages import Queries, Ranking
from recognize.starter.encoder import HEADS_FILE, TOWER_FILE, Weights
from recognize.starter.fitting import Sample, as_fusion_weights, fit_weights, stage_scores
from recognize.starter.heads import Heads, read_heads
from recognize.starter.protocol import N_FOLDS, Collection, read_collection

COLUMNS: Final = ("top-1", "top-5", "hit@30", "MRR@1", "MRR@5", "MRR@10")
N_DRAWS: Final = 2000
ABSENT: Final = 1_000_000
"""The rank of a species that a preset did not rank."""


@dataclass(frozen=True)
class Model:
    """Heads, and the features of the photos that are asked or serve as anchors."""

    collection: Collection
    heads: Heads
    features: FloatArray

    @cached_property
    def looks(self) -> FloatArray:
        """All photos in the visual space."""
        return self.heads.encode_looks(self.features)

    @cached_property
    def photos(self) -> FloatArray:
        """All photos in the space of texts."""
        return self.heads.encode_photos(self.features)

    @cached_property
    def texts(self) -> FloatArray:
        """All that is said of each species of the vocabulary."""
        said: dict[str, list[str]] = {name: [] for name in self.collection.vocabulary}
        for description in self.collection.descriptions:
            said[description.species] += description.sentences
        return self.heads.encode_texts(["\n".join(said[name]) for name in self.collection.vocabulary])

    def knowledge(self, mode: str, vocabulary: IntArray) -> Knowledge:
        """Return the knowledge of some species: a chunk each, and their anchors."""
        position = np.full(len(self.collection.vocabulary), -1, dtype=np.intp)
        position[vocabulary] = np.arange(len(vocabulary))
        anchors = self.collection.anchors(mode)
        anchors = anchors[position[self.collection.labels[anchors]] >= 0]
        owners = position[self.collection.labels[anchors]]
        ids = tuple(self.collection.photos[i].path for i in anchors)
        row_of = {name: row for row, name in enumerate(self.heads.species)}
        names = [self.collection.vocabulary[i] for i in vocabulary]
        known = np.array([i for i, name in enumerate(names) if name in row_of], dtype=np.intp)
        return Knowledge(
            n_species=len(vocabulary),
            names=("starter",),
            chunks=(VectorTable(ids=tuple(names), owners=np.arange(len(names)), vectors=self.texts[vocabulary]),),
            anchors=VectorTable(ids=ids, owners=owners, vectors=self.looks[anchors]),
            images=(VectorTable(ids=ids, owners=owners, vectors=self.photos[anchors]),),
            known=known,
            prototypes=self.heads.prototypes[[row_of[names[i]] for i in known]],
        )

    def queries(self, photos: IntArray) -> Queries:
        """Return the vectors of some photos."""
        return Queries(text_image=(self.photos[photos],), visual=self.looks[photos])


Score = Callable[[Knowledge, Queries, FusionWeights], list[Ranking]]
ROWS: Final[dict[str, Score]] = {
    "text only": lambda k, q, w: text_only(k, q, m=100),
    "anchors only (best)": lambda k, q, w: anchors_only(k, q, m=k.n_species * 3),
    "anchors only (centre)": lambda k, q, w: anchors_only(k, q, m=k.n_species * 3, anchor_pooling="centre"),
    "vr-rag-v1": lambda k, q, w: vr_rag_v1(k, q),
    "vr-rag-v1, maximum": lambda k, q, w: vr_rag_v1(k, q, anchor_pooling="max"),
    "vr-rag-v2": lambda k, q, w: vr_rag_v2(k, q),
    "default": lambda k, q, w: default(k, q, weights=w, anchor_pooling="centre"),
}


def ranks_of(rankings: Sequence[Ranking], truth: IntArray) -> IntArray:
    """Return the rank of the right species for each photo, `ABSENT` where it was not ranked."""
    ranks = np.full(len(rankings), ABSENT, dtype=np.intp)
    for i, ranking in enumerate(rankings):
        found = np.flatnonzero(ranking.species == truth[i])
        if len(found):
            ranks[i] = found[0] + 1
    return ranks


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


@dataclass(frozen=True)
class Study:
    """The models, and the ranks that they give."""

    collection: Collection
    seen: Model
    folds: tuple[Model, ...]

    @cached_property
    def hidden(self) -> IntArray:
        """The queries of `seen`."""
        hidden: IntArray = np.intersect1d(self.collection.hidden, self.collection.queries)
        return hidden

    def fold_queries(self, fold: int) -> IntArray:
        """Return the queries whose species the model of the fold has not seen."""
        queries = self.collection.queries
        mine: IntArray = queries[self.collection.folds[self.collection.labels[queries]] == fold]
        return mine

    @cached_property
    def everything(self) -> IntArray:
        """The open vocabulary."""
        return np.arange(len(self.collection.vocabulary))

    def samples(self, mode: str, *, shipped: bool) -> list[list[Sample]]:
        """Return for each fold what weights are fitted on: species new to its model, and known ones, equally.

        With `shipped` no photo of the hidden half is among them.
        """
        labels = self.collection.labels
        tuning = np.intersect1d(self.collection.tuning, self.collection.queries)
        result = []
        for fold, model in enumerate(self.folds):
            new = self.fold_queries(fold)
            new = np.setdiff1d(new, self.collection.hidden) if shipped else new
            known = tuning[self.collection.folds[labels[tuning]] != fold]
            knowledge = model.knowledge(mode, self.everything)
            result.append(
                [
                    Sample(stages=stage_scores(knowledge, model.queries(photos)), truth=labels[photos], share=0.5)
                    for photos in (new, known)
                ]
            )
        return result

    def nested_weights(self, mode: str) -> list[FusionWeights]:
        """Return for each fold the weights fitted without any photo of its species."""
        samples = self.samples(mode, shipped=False)
        nested = []
        for fold in range(N_FOLDS):
            chosen = []
            for other in range(N_FOLDS):
                if other == fold:
                    continue
                for sample in samples[other]:
                    kept = self.collection.folds[sample.truth] != fold
                    chosen.append(Sample(stages=sample.stages[kept], truth=sample.truth[kept], share=sample.share))
            nested.append(as_fusion_weights(fit_weights(chosen)))
        return nested

    def shipped_weights(self, mode: str) -> FusionWeights:
        """Return the weights that are shipped: fitted on all folds, without the hidden half."""
        return as_fusion_weights(fit_weights([s for samples in self.samples(mode, shipped=True) for s in samples]))

    def ranks(self, setting: str, mode: str, row: str, weights: Sequence[FusionWeights], *, bounded: bool) -> IntArray:
        """Return the ranks of the right species, for the photos of `asked(setting)`."""
        asked, labels, folds = self.asked(setting), self.collection.labels, self.collection.folds
        vocabulary = np.unique(labels[asked]) if bounded else self.everything
        ranks = np.full(len(asked), ABSENT, dtype=np.intp)
        for fold in range(N_FOLDS):
            mine = folds[labels[asked]] == fold
            model = self.seen if setting == "seen" else self.folds[fold]
            rankings = ROWS[row](model.knowledge(mode, vocabulary), model.queries(asked[mine]), weights[fold])
            ranks[mine] = ranks_of(rankings, np.searchsorted(vocabulary, labels[asked[mine]]))
        return ranks

    def asked(self, setting: str) -> IntArray:
        """Return the photos that are asked in `seen` or `unseen`."""
        return self.hidden if setting == "seen" else self.collection.queries


def read_study(data: Path, work: Path) -> Study:
    """Return the shipped model and the folds' models."""
    collection = read_collection(data)
    weights = Weights()
    asked = np.union1d(np.union1d(collection.anchors("three"), collection.anchors("wiki")), collection.queries)
    features = np.zeros((len(collection.photos), 1280), dtype=np.float32)
    for first in range(0, len(asked), 64):
        some = asked[first : first + 64]
        images = []
        for i in some:
            with Image.open(data / collection.photos[i].path) as image:
                images.append(image.convert("RGB"))
        features[some] = weights.tower.features(images)
    folds = tuple(
        Model(collection, read_heads(work / f"fold{fold}.heads.npz"), np.load(work / f"fold{fold}.features.npy"))
        for fold in range(N_FOLDS)
    )
    return Study(collection, Model(collection, weights.heads, features), folds)


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
    lines = ["", f"**default less the other, `{mode}`, {'bounded' if bounded else 'open'}**", ""]
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


if __name__ == "__main__":
    main()
