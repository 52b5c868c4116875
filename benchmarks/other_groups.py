"""The profile `general`: birds as a group that its models never saw, and drawings of other groups.

    python -m benchmarks.other_groups --data ../shared/birds [--features FILE]

Species with three photos or more, up to six each, without photos set aside. The first one or two photos of a species
are reference photos, the others are asked for. Two folds of the species chose projection, weights and thresholds; the
other three are reported too.
Drawn are twelve butterflies, and frogs, mushrooms, flowers and cats in five colours each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import FloatArray, IntArray
from data.contracts import VectorTable
from data.images.decode import read_image
from data.records import Taxon, taxon_id
from recognize.confidence.calibration import chances_of
from recognize.confidence.evidence import Familiarity
from recognize.confidence.fit import calibration_error, fit_parameters
from recognize.confidence.labelled import Identifier, LabelledVectors
from recognize.general import ColourWords, signs, summed
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import WEIGHTS, FusionWeights, Settings, anchor_mode, score
from recognize.settings import UNKNOWN_PRIOR
from recognize.starter.encoders import Weights
from training.creatures.butterflies import BUTTERFLIES
from training.creatures.others import DRAWN, draw
from training.starter.protocol import StudyCollection, fold_of, read_study_collection

CHOSEN_ON = (0, 1)
MOST = 6
TEXT_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.4)
COLOURS = ColourWords()


@dataclass(frozen=True)
class Photos:
    """Photos as vectors, and what they show."""

    features: FloatArray
    colours: FloatArray
    species: IntArray
    names: tuple[str, ...]
    texts: FloatArray
    """Colours of the texts of the species, zero where there is none."""

    def of(self, species: IntArray) -> Photos:
        """Return the photos of some species, ascending."""
        rows = np.flatnonzero(np.isin(self.species, species))
        return Photos(
            self.features[rows], self.colours[rows], np.searchsorted(species, self.species[rows]),
            tuple(self.names[i] for i in species), self.texts[species],
        )  # fmt: skip

    def split(self, n: int) -> tuple[IntArray, IntArray]:
        """Return the first `n` photos of each species, and the rest."""
        place = np.array([(self.species[:i] == kind).sum() for i, kind in enumerate(self.species)])
        return np.flatnonzero(place < n), np.flatnonzero(place >= n)

    def knowledge(self, anchors: IntArray, vectors: FloatArray) -> Knowledge:
        """Return a knowledge base of all species with some photos as reference photos."""

        def table(rows: FloatArray, owners: IntArray) -> VectorTable:
            order = np.argsort(owners, kind="stable")
            return VectorTable(ids=tuple(map(str, range(len(owners)))), owners=owners[order], vectors=rows[order])

        has = np.flatnonzero(self.texts.any(axis=1))
        return Knowledge(
            n_species=len(self.names), names=("colours",), chunks=(table(self.texts[has], has),),
            anchors=table(vectors[anchors], self.species[anchors]),
            images=(table(self.colours[anchors], self.species[anchors]),),
        )  # fmt: skip


def read_birds(collection: StudyCollection, weights: Weights, stored: Path | None) -> Photos:
    """Return the photos of birds; features are kept in a file, if one is given."""
    aside = frozenset(collection.all_aside.tolist())
    by_species: dict[str, list[int]] = {}
    for i, photo in enumerate(collection.photos):
        if i not in aside:
            by_species.setdefault(photo.species, []).append(i)
    names = tuple(name for name, found in sorted(by_species.items()) if len(found) >= 3)
    chosen = [(at, i) for at, name in enumerate(names) for i in by_species[name][:MOST]]
    if stored is not None and stored.exists():
        with np.load(stored) as found:
            features, colours = found["features"], found["colours"]
    else:
        features, colours = encoded(
            (read_image(collection.folder / collection.photos[i].path) for _, i in chosen), weights
        )
        if stored is not None:
            np.savez(stored, features=features, colours=colours)
    said: dict[str, list[str]] = {}
    for description in collection.descriptions:
        said.setdefault(description.species, []).extend(description.sentences)
    texts = COLOURS.encode_texts([" ".join(said.get(name, ())) for name in names])
    return Photos(features, colours, np.array([at for at, _ in chosen]), names, texts)


def encoded(pictures: Iterator[Image.Image], weights: Weights) -> tuple[FloatArray, FloatArray]:
    """Return the features and the colours of pictures."""
    features, colours = [], []
    for picture in pictures:
        features.append(weights.general.features([picture])[0])
        colours.append(COLOURS.encode_images([picture])[0])
    return np.array(features), np.array(colours)


def drawn(weights: Weights, n: int) -> dict[str, Photos]:
    """Return `n` drawings of each kind of each group."""
    found = {}
    for group in ("butterfly", *DRAWN):
        kinds = range(len(BUTTERFLIES) if group == "butterfly" else len(DRAWN[group][1]))
        pictures = (
            BUTTERFLIES[kind].draw(i) if group == "butterfly" else draw(group, i, kind=kind)
            for kind in kinds
            for i in range(n)
        )
        features, colours = encoded(pictures, weights)
        texts = [b.text for b in BUTTERFLIES] if group == "butterfly" else [""] * len(kinds)
        found[group] = Photos(
            features, colours, np.repeat(np.arange(len(kinds)), n), tuple(f"{group} {kind}" for kind in kinds),
            COLOURS.encode_texts(texts),
        )  # fmt: skip
    return found


def hits(photos: Photos, vectors: FloatArray, n: int, weights: FusionWeights | None = None) -> NDArray[np.float64]:
    """Return top-1 and top-5 with `n` reference photos a species, by the default preset."""
    anchors, asked = photos.split(n)
    knowledge = photos.knowledge(anchors, vectors)
    weights = weights or WEIGHTS["general"][anchor_mode(knowledge)]
    queries = Queries(text_image=(photos.colours[asked],), visual=vectors[asked])
    found = score("default", knowledge, queries, Settings(profile="general", weights=weights))
    places = [np.flatnonzero(r.species[:5] == kind) for r, kind in zip(found, photos.species[asked], strict=True)]
    return np.array([np.mean([len(p) > 0 and p[0] < k for p in places]) for k in (1, 5)])


def strange(photos: Photos, n: int, others: Photos) -> float:
    """Return the share of other photos that are unlike all reference photos; of the same collection, of the rest."""
    anchors, asked = photos.split(n)
    matrix = signs(photos.features.shape[1])
    known = Familiarity(photos.knowledge(anchors, summed(photos.features, matrix)), lambda _: [])
    vectors = summed(others.features[asked] if others is photos else others.features, matrix)
    return float(np.mean([known.is_strange(vector, ()) for vector in vectors]))


def calibrated(photos: Photos, vectors: FloatArray) -> str:
    """Fit as `kb calibrate` does, on three reference photos a species; measure on other photos."""
    anchors, asked = photos.split(3)
    knowledge = photos.knowledge(anchors, vectors)
    weights = WEIGHTS["general"][anchor_mode(knowledge)]
    taxa = [
        Taxon(taxon_id=taxon_id(n), scientific_name=n, rank="species", lineage={"genus": n.split()[0]})
        for n in photos.names
    ]

    def identifier(rows: IntArray, *, are_anchors: bool) -> Identifier:
        labelled = LabelledVectors(
            queries=Queries(text_image=(photos.colours[rows],), visual=vectors[rows]), species=photos.species[rows],
            same=tuple(np.array([i] if are_anchors else [], dtype=np.intp) for i in range(len(rows))),
        )  # fmt: skip
        return Identifier("default", Settings(profile="general", weights=weights), knowledge, labelled, taxa)

    of_anchors = identifier(anchors, are_anchors=True)
    temperature = of_anchors.fit_temperature()
    fitted = fit_parameters(of_anchors.cases(temperature), None, temperature=temperature, weights=weights)
    cases = identifier(asked, are_anchors=False).cases(temperature)
    held, absent = (chances_of(rows, fitted, unknown_prior=UNKNOWN_PRIOR) for rows in (cases.held, cases.not_held))
    sure = np.array([each.right("species") for each in (*held, *absent)])
    right = np.concatenate([cases.is_right["species"], np.zeros(len(absent), dtype=np.bool_)])
    shares = np.repeat([1 - UNKNOWN_PRIOR, UNKNOWN_PRIOR], len(asked)) / len(asked)
    unknown = [np.mean([each.unknown > 0.5 for each in found]) for found in (absent, held)]
    is_sure = sure >= 0.9
    precision = (shares * right)[is_sure].sum() / max(shares[is_sure].sum(), 1e-9)
    return (
        f"{len(asked)} other photos of {len(photos.names)} species: ECE {calibration_error(sure, right, shares):.3f}, "
        f"first name right {cases.is_right['species'].mean():.3f}, sure at 90 % {shares[is_sure].sum():.3f}, "
        f"of these right {precision:.3f}, absent species called unknown {unknown[0]:.3f}, held ones {unknown[1]:.3f}; "
        f"temperature {temperature:.3f}"
    )


def report(birds: Photos, groups: dict[str, Photos]) -> Iterator[str]:
    """Yield the lines of the report."""
    folds = np.array([fold_of(name) for name in birds.names])
    parts = {
        "chosen on": birds.of(np.flatnonzero(np.isin(folds, CHOSEN_ON))),
        "others": birds.of(np.flatnonzero(~np.isin(folds, CHOSEN_ON))),
    }
    matrix = signs(birds.features.shape[1])
    yield "| birds | reference photos | top-1, top-5 |"
    yield "|---|---|---|"
    for name, part in parts.items():
        for n in (1, 2):
            yield f"| {name}, {len(part.names)} species | {n} | {_cell(hits(part, summed(part.features, matrix), n))} |"
    yield ""
    for name, part in parts.items():
        for n in (1, 2):
            tried = (
                hits(part, summed(part.features, matrix), n, FusionWeights(text=w, visual=1.0)) for w in TEXT_WEIGHTS
            )
            cells = (f"{w}: {_cell(found)}" for w, found in zip(TEXT_WEIGHTS, tried, strict=True))
            yield f"weight of colours in texts, {name}, {n} reference photos: {'; '.join(cells)}"
        alone = hits(part, summed(part.features, matrix), 1, FusionWeights(text=1.0, visual=0.0))
        yield f"colours alone, {name}: {_cell(alone)} (by chance {1 / len(part.names):.3f} {5 / len(part.names):.3f})"
    yield ""
    yield "| drawn, three reference drawings | top-1 |"
    yield "|---|---|"
    for name, group in groups.items():
        yield f"| {name} | {hits(group, summed(group.features, matrix), 3)[0]:.3f} |"
    yield ""
    known = parts["others"]
    for n in (1, 2):
        same, other = strange(known, n, known), strange(known, n, parts["chosen on"])
        drawings = ", ".join(f"{name} {strange(known, n, group):.2f}" for name, group in groups.items())
        yield f"unlike {n} reference photos of birds: the same species {same:.3f}, other birds {other:.3f}, {drawings}"
    flies = groups["butterfly"]
    shares = [f"{name} {strange(flies, 3, group):.2f}" for name, group in [*groups.items(), ("birds", known)]]
    yield f"unlike three drawings of each butterfly: {', '.join(shares)}"
    yield ""
    many = np.flatnonzero(np.bincount(birds.species) >= 4)
    part = birds.of(many)
    yield f"calibrated on three reference photos a species: {calibrated(part, summed(part.features, matrix))}"


def _cell(found: Sequence[float] | NDArray[np.float64]) -> str:
    return " ".join(f"{value:.3f}" for value in found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, help="File that keeps the features of the photos (.npz).")
    args = parser.parse_args()
    weights = Weights()
    birds = read_birds(read_study_collection(args.data), weights, args.features)
    sys.stdout.write("\n".join(report(birds, drawn(weights, 7))) + "\n")


if __name__ == "__main__":
    main()
