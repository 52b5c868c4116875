"""Effect of the place of a photo: the right country, wrong ones, and several odds.

    python -m benchmarks.places --data ../shared/birds

The photos are those of species with an article in `articles.jsonl`, without the photos set aside by the protocol. Those
of a collection of one country or continent are queries, if their species has another photo; each is compared with all
other photos by the features of the tower before training, since the shipped heads were trained on these photos. The
candidates are the species with an article. The temperature is fitted on the queries without a place.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from data.metrics.ranked import measure
from data.places.gazetteer import place_of
from data.records import RangeFact, Source
from kb.ranges.range_statements import range_facts
from kb.sources.mediawiki.article_parser import parse_article
from recognize.confidence.place import PlacePrior, support_of
from recognize.scoring.stages import Ranking
from recognize.tower import Tower
from training.collection import Collection, Photo, read_collection
from training.starter.protocol import set_aside
from training.tables import decimals, markdown

COUNTRIES: Mapping[str, str] = {
    "nepal_thumbs": "Nepal",
    "danish_birds": "Denmark",
    "oiseaux_fr": "France",
    "euro30_cc": "Europe",
    "cub_singles36": "United States",
}
"""Collection -> place of its photos."""
LISTS: Mapping[str, str] = {"Denmark": "danish_birds", "Nepal": "nepal_thumbs", "North America": "wikipedia_lead_na"}
"""Place -> collection that lists species of it."""
WRONG = ("Brazil", "Australia", "Canada")
ODDS = (3.0, 5.0, 10.0, 30.0)
SHOWN = 5.0
SURE = 0.9
TOWER = Path("recognize/starter/weights/tower.onnx")


def read_facts(folder: Path) -> dict[str, tuple[RangeFact, ...]]:
    """Return scientific name -> range facts of its article."""
    found = {}
    with (folder / "articles.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            article = parse_article(row["html"], source=Source(title=row["title"]))
            found[row["scientific_name"]] = range_facts(article.text)
    return found


def encode(folder: Path, photos: list[Photo]) -> FloatArray:
    """Return a unit row for each photo, around the mean."""
    tower, rows = Tower(TOWER), []
    for photo in photos:
        with Image.open(folder / photo.path) as image:
            rows.append(tower.features([image.convert("RGB")])[0])
    features = np.stack(rows)
    return as_unit_rows(features - features.mean(axis=0))


def rank_queries(photos: list[Photo], vectors: FloatArray, names: list[str]) -> dict[int, Ranking]:
    """Return photo -> ranking of all species by their most similar other photo."""
    labels = np.array([names.index(photo.species) for photo in photos])
    cosines = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(cosines, -1)
    found = {}
    for i, photo in enumerate(photos):
        if photo.source in COUNTRIES and np.count_nonzero(labels == labels[i]) > 1:
            scores = np.full(len(names), -1.0)
            np.maximum.at(scores, labels, cosines[i])
            order = np.argsort(-scores, kind="stable")
            found[i] = Ranking(species=order, scores=scores[order])
    return found


def chance(ranking: Ranking, species: int, temperature: float) -> float:
    """Return the softmax of the scores at a species."""
    weights = np.exp((ranking.scores - ranking.scores.max()) / temperature)
    return float(weights[ranking.species == species][0] / weights.sum())


def separations(collection: Collection, facts: Mapping[str, tuple[RangeFact, ...]]) -> list[list[object]]:
    """Return for each list of a region: species on it, others, and the AUROC of the level of their texts there."""
    rows: list[list[object]] = []
    for place, source in LISTS.items():
        here = {photo.species for photo in collection.photos if photo.source == source}
        levels = {name: support_of(found, place_of(place), None).level for name, found in facts.items()}
        ours = np.array([level for name, level in levels.items() if name in here])
        others = np.array([level for name, level in levels.items() if name not in here])
        wins = (ours[:, None] > others).mean() + (ours[:, None] == others).mean() / 2
        rows.append([place, len(ours), len(others), decimals(float(wins))])
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    collection, facts = read_collection(folder), read_facts(folder)
    aside = set_aside(collection)
    skipped = {*aside.new, *aside.known}
    photos = [photo for photo in collection.photos if photo.species in facts and photo.path not in skipped]
    names = sorted({photo.species for photo in photos})
    rankings = rank_queries(photos, encode(folder, photos), names)
    truth = {i: names.index(photos[i].species) for i in rankings}

    def loss(temperature: float) -> float:
        return -sum(math.log(chance(ranking, truth[i], temperature)) for i, ranking in rankings.items())

    temperature = min(np.geomspace(0.01, 1, 60).tolist(), key=loss)
    rows: list[list[object]] = []
    cases = [("right place", None, odds) for odds in ODDS] + [(f"wrong: {name}", name, SHOWN) for name in WRONG]
    for label, wrong, odds in cases:
        prior = PlacePrior(lambda ids: [facts[each] for each in ids], names, temperature=temperature, odds=odds)
        gains, before, after, sure, flipped = [], [], [], 0, 0
        for i, ranking in rankings.items():
            placed = prior.apply(ranking, (place_of(wrong or COUNTRIES[photos[i].source]), None))
            plain_hit, placed_hit = (int(each.species[0] == truth[i]) for each in (ranking, placed))
            before.append(plain_hit)
            after.append(placed_hit)
            gains.append(float(placed_hit - plain_hit))
            is_sure = plain_hit and chance(ranking, int(ranking.species[0]), temperature) >= SURE
            sure += bool(is_sure)
            flipped += bool(is_sure and not placed_hit)
        gain = measure("gain", gains, [photos[i].species for i in rankings])
        low, high = gain.micro_interval
        change = f"{gain.micro:+.3f} ({low:+.3f} to {high:+.3f})"
        shown = [decimals(float(np.mean(before))), decimals(float(np.mean(after))), change, f"{flipped} of {sure}"]
        rows.append([label, f"{odds:g}", *shown])
    sys.stdout.write(f"{len(rankings)} photos, {len(names)} species, temperature {temperature:.3f}\n\n")
    head = ["place", "odds", "top-1 without", "with", "difference", f"right answers at {SURE:.0%} made wrong"]
    sys.stdout.write("\n".join(markdown(head, rows)) + "\n\n")
    sys.stdout.write(
        "\n".join(markdown(["place", "n here", "n elsewhere", "AUROC"], separations(collection, facts))) + "\n"
    )


if __name__ == "__main__":
    main()
