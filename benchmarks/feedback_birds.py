"""Interactive retrieval with the starter pair on bird photos, with an artificial actor.

    python -m benchmarks.feedback_birds --data ../shared/birds [--work FOLDER] [--chart FILE]

Queries: descriptions from one source, of each species with at least ten photos; relevant are the photos of that
species, among all photos. With `--work` of `training.starter.train`, each species is searched by the model of the fold
that has not seen it; without, by the shipped model, which knows most of them. Captions are made offline, of phrases in
the shipped facts on all other species, so queries and captions share no source. Folds without a model are left out. A
rule stands in for the language model of `summary`, `keywords` and `cot`: these rows show mechanics, not quality.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.memory_collection import MemoryCollection
from data.arrays import FloatArray
from data.images.decode import ENCODER_SIDE, read_image
from data.records import ChatReply, ChatRequest
from data.starter.knowledge import read_species
from papers.feedback.actor import ActorRun, LabelledQuery, act
from papers.feedback.report import SINGLE, FeedbackFigures, chart, figures_of
from recognize.starter.encoders import StarterPair, Weights, read_heads
from rerank.captions import PhotoText
from rerank.feedback.queries import PhraseCaptioner, phrases_of
from rerank.feedback.search import FeedbackSearch
from rerank.settings import FeedbackMethod, FeedbackSettings
from training.collection import Collection, Description, read_collection
from training.starter.protocol import N_FOLDS, fold_of
from training.tables import markdown

MIN_PHOTOS: Final = 10
SOURCES: Final = ("adaptclipzs-inat", "peeb-inat")
"""Sources of queries; adaptclipzs-cub and -nabirds nearly repeat the first, cupl-birdsnap names species."""
CAPTIONS: Final = FeedbackSettings(text="captions")
PREVIOUS: Final = FeedbackSettings(text="captions", rocchio_from="previous")
Row = tuple[str, FeedbackMethod, FeedbackSettings]
ROWS: Final[tuple[Row, ...]] = (
    ("no feedback", "none", FeedbackSettings()),
    ("rocchio", "rocchio", FeedbackSettings()),
    ("rocchio, sampled", "rocchio", FeedbackSettings(rocchio_relevant="sampled")),
    ("rocchio, previous", "rocchio", PREVIOUS),
    ("rocchio, previous, sampled", "rocchio", replace(PREVIOUS, rocchio_relevant="sampled")),
    ("captions", "captions", CAPTIONS),
    ("rocchio, then captions", "rocchio-then-text", CAPTIONS),
    ("rocchio and captions, previous", "rocchio-and-text", PREVIOUS),
    ("summary (rule)", "summary", FeedbackSettings()),
    ("keywords (rule)", "keywords", FeedbackSettings()),
    ("cot (rule)", "cot", FeedbackSettings()),
)


class RuleChat:
    """A `ChatModel` that keeps the phrases of several captions: a rule, no model."""

    name = "rule"

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the phrases that occur twice or more behind the query, with the label that a description has."""
        asked = request.messages[0].text.rpartition("\nQuery: ")[2]
        query, _, captions = asked.partition("\nCaptions:\n")
        lines = [line.removeprefix("- ") for line in captions.splitlines() if line.startswith("- ")]
        counts = Counter(phrase for line in lines for phrase in line.split(", "))
        kept = ", ".join(phrase for phrase, n in counts.most_common() if n > 1)
        return ChatReply(text=f"Description: {query}. {kept}", model=self.name)


def main() -> None:
    """Measure and print a table for each source of queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="work folder of training.starter.train")
    parser.add_argument("--chart", type=Path, help="write the recall by turn of the first table as SVG")
    parser.add_argument("--photos", type=int, metavar="N", help="only the first N photos, to try it out")
    given = parser.parse_args()
    collection = read_collection(given.data)
    collection = replace(collection, photos=collection.photos[: given.photos])
    pairs = _pairs(collection, given.work)
    lines: list[str] = []
    for number, source in enumerate(SOURCES):
        figures = _measured(collection, pairs, source)
        who = "the shipped model" if -1 in pairs else f"models of {len(pairs)} folds that have not seen the species"
        lines += [
            "",
            f"Queries from {source}, {figures.n_queries} species, {len(collection.photos):,} photos, {who}",
            "",
        ]
        lines += _table(figures)
        if number == 0 and given.chart is not None:
            given.chart.write_text(chart(figures), encoding="utf-8")
    sys.stdout.write("\n".join(lines).strip() + "\n")


def _pairs(collection: Collection, work: Path | None) -> dict[int, tuple[StarterPair, FloatArray]]:
    """Return fold -> its encoder and the photos' vectors; the shipped one for all folds without a work folder."""
    weights = Weights()
    if work is None:
        found = []
        for first in range(0, len(collection.photos), 32):
            some = collection.photos[first : first + 32]
            found.append(
                StarterPair(weights).encode_images(
                    [read_image(collection.folder / each.path, min_side=ENCODER_SIDE) for each in some]
                )
            )
        return {-1: (StarterPair(weights), np.concatenate(found))}
    of_folds = {}
    for fold in range(N_FOLDS):
        if (work / f"fold{fold}.heads.npz").exists():
            weights = Weights()
            weights.heads = read_heads(work / f"fold{fold}.heads.npz")
            looks = np.load(work / f"fold{fold}.looks.npy")[0, : len(collection.photos)].astype(np.float32)
            of_folds[fold] = (StarterPair(weights), weights.heads.shared(looks))
    return of_folds


def _measured(
    collection: Collection, pairs: Mapping[int, tuple[StarterPair, FloatArray]], source: str
) -> FeedbackFigures:
    photos: dict[str, list[str]] = defaultdict(list)
    for photo in collection.photos:
        photos[photo.species].append(photo.path)
    queries = [
        (
            each.species,
            LabelledQuery(query_id=each.species, text=_text(each), relevant=frozenset(own), n_relevant=len(own)),
        )
        for each in collection.descriptions
        if each.source == source and len(own := photos[each.species]) >= min(MIN_PHOTOS, _most(photos))
    ]
    facts = {one.taxon.scientific_name: " ".join(one.text) for one in read_species()}
    order = np.argsort([photo.path for photo in collection.photos])
    ids = [collection.photos[row].path for row in order.tolist()]
    runs: dict[str, list[ActorRun]] = {name: [] for name, _, _ in ROWS}
    for fold, (pair, vectors) in pairs.items():
        memory = MemoryCollection(pair.space, ids, vectors[order], folder=collection.folder)
        for species, query in queries:
            if fold not in (-1, fold_of(species)):
                continue
            others = phrases_of([text for name, text in facts.items() if name != species])
            caption = _Captioner(memory, PhraseCaptioner(pair, others))
            for name, method, settings in ROWS:
                search = FeedbackSearch(
                    pair, memory, method=method, captioner=caption, text=RuleChat(), settings=settings
                )
                runs[name] += asyncio.run(act(search, [query]))
    return figures_of(runs, k=FeedbackSettings().k)


class _Captioner:
    """Takes the vectors of the collection, so that no photo is encoded again."""

    def __init__(self, memory: MemoryCollection, phrases: PhraseCaptioner) -> None:
        self._memory, self._phrases = memory, phrases
        self._rows = {memory.path(image_id): row for row, image_id in enumerate(memory.ids)}

    async def caption(self, path: Path) -> PhotoText:
        return PhotoText(text=self._phrases.describe(self._memory.vectors(np.array([self._rows[path]]))[0]))


def _most(photos: Mapping[str, Sequence[str]]) -> int:
    """Return the most photos of a species: a small collection is measured too."""
    return max(map(len, photos.values()))


def _text(description: Description) -> str:
    return ". ".join(sentence.strip().rstrip(".") for sentence in description.sentences)


def _table(figures: FeedbackFigures) -> list[str]:
    n_turns = len(figures.ceiling)
    head = ["recall", *(f"turn {turn}" for turn in range(n_turns)), "gain at the end, 95 %"]
    rows = [["ceiling", *(f"{value:.3f}" for value in figures.ceiling), ""]]
    for name, measured in figures.recall.items():
        gain = ""
        if name != SINGLE:
            low, high = figures.gain[name].micro_interval
            gain = f"{figures.gain[name].micro:+.3f} ({low:+.3f} to {high:+.3f})"
        rows.append([name, *(f"{each.micro:.3f}" for each in measured), gain])
    return markdown(head, rows)


if __name__ == "__main__":
    main()
