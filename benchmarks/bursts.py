"""Accuracy of one answer from several photos of a species, by number of photos and by way of combining them.

    python -m benchmarks.bursts --data ../shared/birds [--aside]

Made encounters: photos of one species and source in groups of five, of which the first 1, 2, 3 and 5 are used, so that
all sizes answer for the same encounters. The photos show different birds, so the gain is an upper bound for real
bursts, whose photos are alike. Photos that are set aside (`training.starter.protocol`), reference photos and photos
that the encoders were trained on are left out; with `--aside` the photos are those set aside instead, for published
figures only.

Ways: `vectors`, the mean of the photos' vectors as one query, which `kb identify` uses; `scores`, the mean of the fused
scores of the photos, with the order of the sum of log-scores; `chances`, the mean of the softmax of the photos;
`surest`, the photo with the largest margin between its first two species.

Confidence is that of the first species by the shipped calibration of single photos: of species of the knowledge base
(held), of species left out of it that the model has a prototype of (known), and without their prototypes (new). It is
shown for the mean of vectors and for the unit mean, whose cosines are larger. `right at .9`: the share of species
answers with at least this confidence that are right, where a share of the encounters shows unknown species, half of
them known and half new.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kb
import recognize
from data.arrays import FloatArray, IntArray, as_unit_rows
from data.contracts import Encoders, VectorTable
from data.metrics.ranked import measure_all
from data.records import taxon_id
from kb.store.knowledge_base import KnowledgeBase
from recognize.candidates import CandidateMaker
from recognize.confidence.calibration import chances_of, shipped_calibration
from recognize.confidence.evidence import find_evidence, mode_of
from recognize.confidence.prior import temperature_of
from recognize.encoded_photos import EncodedPhotos, encode_photos, near_duplicates, training_hashes
from recognize.scoring.knowledge import Knowledge, Queries, read_knowledge
from recognize.scoring.presets import Settings, anchor_mode, score
from recognize.scoring.ranking import Scores
from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR
from training.starter.protocol import read_study_collection, set_aside
from training.tables import decimals, markdown, with_interval

SIZES = (1, 2, 3, 5)
LARGEST = max(SIZES)
N_DRAWS = 4  # partitions of each species' photos
WAYS = ("vectors", "scores", "chances", "surest")
SURE = 0.9
MIXES = (0.2, 0.3, 0.7)

Groups = list[tuple[int, list[int]]]
"""Species of the knowledge base, and rows of its photos."""


def read_photos(folder: Path, encoders: Encoders, *, aside: bool) -> tuple[EncodedPhotos, list[tuple[str, str]]]:
    """Return the encoded photos, and their species and source."""
    collection = read_study_collection(folder)
    hidden = set_aside(collection)
    skipped = {*hidden.new, *hidden.known, *(collection.photos[i].path for i in collection.anchors("three"))}
    chosen = [p for p in collection.photos if (p.path in hidden.known if aside else p.path not in skipped)]
    counts = Counter((photo.species, photo.source) for photo in chosen)
    chosen = [photo for photo in chosen if counts[photo.species, photo.source] >= LARGEST]
    photos = encode_photos(encoders, [folder / photo.path for photo in chosen])
    if not aside:
        photos = photos.only(~near_duplicates(photos.hashes, training_hashes(encoders)))
    return photos, [(chosen[i].species, chosen[i].source) for i in photos.positions]


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
    everything = Settings(m=10**6)
    scores = np.full((len(queries), knowledge.n_species), -np.inf)
    for row, ranking in enumerate(score("default", knowledge, queries, everything)):
        scores[row, ranking.species] = ranking.scores
    return scores


def means(queries: Queries, groups: Sequence[Sequence[int]], *, is_unit: bool) -> Queries:
    """Return the mean of the vectors of each group of rows."""

    def mean(vectors: FloatArray) -> FloatArray:
        found = np.stack([vectors[list(rows)].astype(np.float64).mean(axis=0) for rows in groups])
        return as_unit_rows(found) if is_unit else found.astype(np.float32)

    return Queries(text_image=tuple(map(mean, queries.text_image)), visual=mean(queries.visual))


def first_species(
    knowledge: Knowledge, queries: Queries, scores: NDArray[np.float64], groups: list[list[int]], temperature: float
) -> dict[str, list[int]]:
    """Return way -> first species of each group."""
    chances = np.exp(scores / temperature - np.logaddexp.reduce(scores / temperature, axis=1, keepdims=True))
    two = np.partition(scores, -2, axis=1)[:, -2:]
    margins = two[:, 1] - two[:, 0]
    asked = means(queries, groups, is_unit=False)
    return {
        "vectors": [int(ranking.species[0]) for ranking in score("default", knowledge, asked, Settings())],
        "scores": [int(scores[rows].mean(axis=0).argmax()) for rows in groups],
        "chances": [int(chances[rows].mean(axis=0).argmax()) for rows in groups],
        "surest": [int(scores[rows[int(margins[rows].argmax())]].argmax()) for rows in groups],
    }


def without(knowledge: Knowledge, species: IntArray, names: Sequence[str], *, is_known: bool) -> Knowledge:
    """Return the knowledge without the contents of some species; known ones become background."""

    def cut(table: VectorTable) -> VectorTable:
        rows = np.flatnonzero(~np.isin(table.owners, species))
        ids = tuple(table.ids[row] for row in rows)
        return replace(table, ids=ids, owners=table.owners[rows], vectors=np.ascontiguousarray(table.vectors[rows]))

    kept = ~np.isin(knowledge.trained, species)
    changed = replace(
        knowledge,
        chunks=tuple(map(cut, knowledge.chunks)),
        anchors=cut(knowledge.anchors),
        images=tuple(map(cut, knowledge.images)),
        trained=knowledge.trained[kept],
        prototypes=np.ascontiguousarray(knowledge.prototypes[kept]),
    )
    if not is_known:
        return changed
    background = (knowledge.background.reshape(-1, knowledge.prototypes.shape[1]), knowledge.prototypes[~kept])
    return replace(
        changed,
        background=np.ascontiguousarray(np.concatenate(background)),
        background_names=(*knowledge.background_names, *(names[i] for i in knowledge.trained[~kept])),
    )


class Sure:
    """Confidence of the first species for groups of photos, by species held, known and new."""

    def __init__(self, store: KnowledgeBase, knowledge: Knowledge, queries: Queries, groups: Groups) -> None:
        self._queries, self._groups = queries, groups
        self._maker = CandidateMaker(store, knowledge)
        names = [taxon.scientific_name for taxon in store.taxa()]
        species = np.unique([each for each, _ in groups])
        halves = (species[::2], species[1::2])
        self._asked: dict[str, list[tuple[Knowledge, frozenset[int]]]] = {
            "held": [(knowledge, frozenset(species.tolist()))],
            "known": [(without(knowledge, h, names, is_known=True), frozenset(h.tolist())) for h in halves],
            "new": [(without(knowledge, h, names, is_known=False), frozenset(h.tolist())) for h in halves],
        }

    def of(self, kind: str, size: int, *, is_unit: bool) -> tuple[Scores, NDArray[np.bool_]]:
        """Return confidences of the first species, and whether it is right."""
        sure: list[float] = []
        is_right: list[bool] = []
        for knowledge, species in self._asked[kind]:
            mine = [(truth, rows[:size]) for truth, rows in self._groups if truth in species]
            queries = means(self._queries, [rows for _, rows in mine], is_unit=is_unit)
            rankings = score("default", knowledge, queries, Settings())
            parameters = shipped_calibration().parameters["default"][mode_of(knowledge)]
            evidence = find_evidence(
                rankings, queries, knowledge, self._maker.lineages, temperature=parameters.temperature
            )
            chances = chances_of(evidence.rows, parameters, unknown_prior=UNKNOWN_PRIOR)
            sure += [each.right("species") for each in chances]
            is_right += [int(ranking.species[0]) == truth for ranking, (truth, _) in zip(rankings, mine, strict=True)]
        return np.array(sure), np.array(is_right)

    def row(self, size: int, *, is_unit: bool) -> list[str]:
        """Return the cells of a table."""
        found = {kind: self.of(kind, size, is_unit=is_unit) for kind in self._asked}
        shares = {kind: float((sure >= SURE).mean()) for kind, (sure, _) in found.items()}
        held, is_right = found["held"]
        right, unknown = float(((held >= SURE) & is_right).mean()), (shares["known"] + shares["new"]) / 2
        cells = [decimals(float(held.mean())), decimals(float(is_right.mean()))]
        cells += [decimals(float((sure >= MIN_CONFIDENCE).mean())) for sure, _ in found.values()]
        cells += [decimals(share) for share in shares.values()]
        for prior in MIXES:
            given = (1 - prior) * shares["held"] + prior * unknown
            cells.append(decimals((1 - prior) * right / given) if given else "")
        return cells


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder of photos.csv.")
    parser.add_argument("--aside", action="store_true", help="Use the photos set aside, for published figures only.")
    options = parser.parse_args()
    encoders = recognize.load_encoders("starter")
    with kb.open() as store:
        photos, labels = read_photos(options.data, encoders, aside=options.aside)
        groups = made_encounters(labels, store.taxon_ids)
        if not groups:
            sys.stdout.write(f"No species has {LARGEST} such photos from one source.\n")
            return
        knowledge = read_knowledge(store, encoders)
        temperature, _ = temperature_of("starter", "default", anchor_mode(knowledge))
        scores = dense_scores(knowledge, photos.queries)
        truths = [species for species, _ in groups]
        rows = []
        for size in SIZES:
            found = first_species(knowledge, photos.queries, scores, [rows[:size] for _, rows in groups], temperature)
            hits = {way: [float(a == b) for a, b in zip(found[way], truths, strict=True)] for way in WAYS}
            rows.append([size, *(with_interval(m.micro, *m.micro_interval) for m in measure_all(hits, truths))])
        sure = Sure(store, knowledge, photos.queries, groups)
        confidences = [
            [f"{size}, unit mean" if is_unit else size, *sure.row(size, is_unit=is_unit)]
            for is_unit in (False, True)
            for size in SIZES[is_unit:]
        ]
    n_species = len(set(truths))
    lines = [f"{len(groups)} encounters of {n_species} species, {len(photos)} photos; top-1, intervals by species", ""]
    lines += markdown(["photos", *WAYS], rows)
    head = ["photos", "mean confidence", "right"]
    head += [f"{kind} at {level}" for level in (MIN_CONFIDENCE, SURE) for kind in ("held", "known", "new")]
    head += [f"right at {SURE}, {prior:.0%} unknown" for prior in MIXES]
    sys.stdout.write("\n".join([*lines, "", *markdown(head, confidences)]) + "\n")


if __name__ == "__main__":
    main()
