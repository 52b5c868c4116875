"""Accuracy of one answer from several photos of a species, by number of photos and by way of combining them.

    python -m benchmarks.bursts --data ../shared/birds [--aside]

Made encounters: photos of one species and source in groups of five, of which the first 1, 2, 3 and 5 are used, so that
all sizes answer for the same encounters. The photos show different birds, so the gain is an upper bound for real
bursts, whose photos are alike. Photos that are set aside (`training.starter.protocol`), reference photos and photos
that the encoders were trained on are left out; with `--aside` the photos are those set aside instead, for published
figures only.

`vectors`: the unit mean of the photos' vectors as one query, which `kb identify` uses. `scores`: the mean of the fused
scores of each photo; the sum of log-scores gives the same order. `chances`: the mean of the softmax of each photo.
`surest`: the photo with the highest score against its second species. Confidence is that of the
first species by `vectors`, from the shipped calibration of single photos.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kb
import recognize
from data.arrays import as_unit_rows
from data.metrics.ranked import measure_all
from data.records import taxon_id
from recognize.confidence.prior import temperature_of
from recognize.evaluation.encoded_photos import EncodedPhotos, encode_photos
from recognize.evaluation.leaks import find_trained
from recognize.scoring.fusion import anchor_mode
from recognize.scoring.knowledge import Knowledge, read_knowledge
from recognize.scoring.presets import Settings, score
from recognize.scoring.stages import Queries
from training.starter.protocol import read_study_collection, set_aside
from training.tables import decimals, markdown, with_interval

SIZES = (1, 2, 3, 5)
LARGEST = max(SIZES)
N_DRAWS = 4  # partitions of each species' photos
WAYS = ("vectors", "scores", "chances", "surest")
SURE = 0.9

Groups = list[tuple[int, list[int]]]
"""Species of the knowledge base, and rows of its photos."""


def read_photos(
    folder: Path, encoders: object, *, aside: bool
) -> tuple[EncodedPhotos, list[tuple[str, str]], list[Path]]:
    """Return the encoded photos with their species and source, and their files."""
    collection = read_study_collection(folder)
    hidden = set_aside(collection)
    skipped = {*hidden.new, *hidden.known, *(collection.photos[i].path for i in collection.anchors("three"))}
    chosen = [p for p in collection.photos if (p.path in hidden.known if aside else p.path not in skipped)]
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for photo in chosen:
        counts[photo.species, photo.source] += 1
    chosen = [photo for photo in chosen if counts[photo.species, photo.source] >= LARGEST]
    photos = encode_photos(encoders, [folder / photo.path for photo in chosen])  # type: ignore[arg-type]
    if not aside:
        photos = photos.only(~find_trained(photos, encoders))  # type: ignore[arg-type]
    kept = [chosen[i] for i in photos.positions]
    return photos, [(photo.species, photo.source) for photo in kept], [folder / photo.path for photo in kept]


def made_encounters(labels: list[tuple[str, str]], taxon_ids: tuple[str, ...]) -> Groups:
    """Return groups of `LARGEST` photos of one species and source."""
    position = {each: i for i, each in enumerate(taxon_ids)}
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, label in enumerate(labels):
        rows[label].append(row)
    rng = np.random.default_rng(0)
    groups: Groups = []
    for (species, _), mine in sorted(rows.items()):
        if taxon_id(species) not in position:
            continue
        for _ in range(N_DRAWS):
            order = rng.permutation(mine).tolist()
            n = len(order) // LARGEST
            groups += [(position[taxon_id(species)], order[i * LARGEST : (i + 1) * LARGEST]) for i in range(n)]
    return groups


def dense_scores(knowledge: Knowledge, queries: Queries) -> NDArray[np.float64]:
    """Return the score of every species for each photo, `(n_photos, n_species)`."""
    everything = Settings(m=10**6, n_shown=1)
    scores = np.full((len(queries), knowledge.n_species), -np.inf)
    for row, ranking in enumerate(score("default", knowledge, queries, everything)):
        scores[row, ranking.species] = ranking.scores
    return scores


def first_species(
    knowledge: Knowledge, queries: Queries, scores: NDArray[np.float64], groups: list[list[int]], temperature: float
) -> dict[str, list[int]]:
    """Return way -> first species of each group."""
    chances = np.exp(scores / temperature - np.logaddexp.reduce(scores / temperature, axis=1, keepdims=True))
    two = np.partition(scores, -2, axis=1)[:, -2:]
    margins = two[:, 1] - two[:, 0]
    means = Queries(
        text_image=tuple(
            as_unit_rows([vectors[rows].sum(axis=0) for rows in groups]) for vectors in queries.text_image
        ),
        visual=as_unit_rows([queries.visual[rows].sum(axis=0) for rows in groups]),
    )
    return {
        "vectors": [int(ranking.species[0]) for ranking in score("default", knowledge, means, Settings(n_shown=1))],
        "scores": [int(scores[rows].mean(axis=0).argmax()) for rows in groups],
        "chances": [int(chances[rows].mean(axis=0).argmax()) for rows in groups],
        "surest": [int(scores[rows[int(margins[rows].argmax())]].argmax()) for rows in groups],
    }


def confidence_row(
    recognizer: recognize.Recognizer, taxon_ids: tuple[str, ...], files: list[Path], groups: Groups, size: int
) -> list[str]:
    """Return the cells on confidence for groups of a size, from the answers of `Recognizer.identify`."""
    names = [taxon_ids[species] for species, _ in groups]
    asked = [tuple(files[row] for row in rows[:size]) for _, rows in groups]
    right, sure, unknown = [], [], 0
    for row, name in zip(recognizer.identify(asked), names, strict=True):
        if not row.candidates or row.candidates[0].confidence is None:
            return ["", "", "", ""]
        right.append(float(row.candidates[0].taxon_id == name))
        sure.append(row.candidates[0].confidence)
        unknown += row.status == "unknown"
    is_sure = np.array(sure) >= SURE
    share = decimals(float(np.array(right)[is_sure].mean())) if is_sure.any() else ""
    return [decimals(float(np.mean(sure))), decimals(float(is_sure.mean())), share, decimals(unknown / len(groups))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder of photos.csv.")
    parser.add_argument("--aside", action="store_true", help="Use the photos set aside, for published figures only.")
    options = parser.parse_args()
    encoders = recognize.load_encoders("starter")
    with kb.open() as store:
        photos, labels, files = read_photos(options.data, encoders, aside=options.aside)
        groups = made_encounters(labels, store.taxon_ids)
        if not groups:
            sys.stdout.write(f"No species has {LARGEST} such photos from one source.\n")
            return
        knowledge = read_knowledge(store, encoders)
        temperature, _ = temperature_of("starter", "default", anchor_mode(knowledge))
        scores = dense_scores(knowledge, photos.queries)
        recognizer = recognize.Recognizer(store, encoders)
        truths = [species for species, _ in groups]
        rows = []
        for size in SIZES:
            found = first_species(knowledge, photos.queries, scores, [rows[:size] for _, rows in groups], temperature)
            hits = {way: [float(a == b) for a, b in zip(found[way], truths, strict=True)] for way in WAYS}
            cells = [with_interval(each.micro, *each.micro_interval) for each in measure_all(hits, truths)]
            rows.append([size, *cells, *confidence_row(recognizer, store.taxon_ids, files, groups, size)])
    n_species = len(set(truths))
    sys.stdout.write(f"{len(groups)} encounters of {n_species} species, {len(photos)} photos; intervals by species\n\n")
    head = ["photos", *WAYS, "mean confidence", f"share at {SURE}", f"right at {SURE}", "unknown"]
    sys.stdout.write("\n".join(markdown(head, rows)) + "\n")


if __name__ == "__main__":
    main()
