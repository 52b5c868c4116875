"""Readers side by side on the same photos: with and without retrieval, and told more or less of the candidates.

Source: VR-RAG, table 3 (no retrieval, direct RAG, VR-RAG), table 5 (what the reader is told), table 6 (genus), figure 4
(how many candidates). The prompts are ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from data.contracts import Encoders, KnowledgeStore
from data.errors import SourceError, UsageError
from data.metrics.ranked import Measured, measure_all
from data.metrics.significance import holm, paired_test
from data.records import Reading
from recognize.evaluation.comparison import by_species, genera
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.reader_setups import Question, Way, questions_of
from recognize.evaluation.setups import AnchorSet, Variants
from recognize.reader.candidate_context import EarlierTexts, Told
from recognize.reader.namer import Namer
from recognize.reader.reader import Reader
from recognize.reader.replies import ReadCounts
from recognize.reader.stream import read_ahead

READER_DEFINITIONS: Final[Mapping[str, str]] = {
    "accuracy": "share of photos for which the reader chose (or named) the right species; none of these, what cannot "
    "be read and what failed count as wrong",
    "reader genus": "share of photos for which the species that it chose is of the right genus",
    "first alone": "share of photos whose re-ranked first species is right: the answer without a reader",
    "gain": "accuracy less first alone, photo by photo",
    "listed": "share of photos whose species is among the candidates that the reader is shown: what it could reach",
    "none of these": "share of photos for which the reader chose none of the candidates, or named no species",
    "agreement": "mean over photos of the share of all passes that voted for what was chosen; passes without a reply, "
    "or with one that cannot be read, count against it; 0 where no pass answered",
    "margin": "mean over photos of how much likelier (natural logarithm) the chosen label was than the next one; only "
    "of photos for which the server gave log-probabilities",
    "k": "candidates that the reader is shown; where chunks are ranked, the species of the k best chunks, as in the "
    "paper",
}
"""What each word of a reader's tables means."""


NOT_ASKED: Final = Reading(choice=None, agreement=0.0, reason="there was no candidate", passes=0, answered=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayFigures:
    """The figures of one way of reading."""

    way: Way
    encoder_names: tuple[str, ...]
    measures: tuple[Measured, ...]
    margin: float | None
    n_with_margin: int
    n_failed: int
    """Photos for which no pass answered, and for one of them at least no reply came, or a refusal."""
    n_without_text: float
    """Candidates of a photo that the reader is told nothing of, on average."""
    replies: ReadCounts

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayTest:
    """A paired test over species: the accuracy of this way of reading less that of the first one."""

    way: Way
    baseline: Way
    difference: float
    interval: tuple[float, float]
    n_better: int
    n_worse: int
    p_value: float
    p_corrected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderEvaluation:
    """All figures on the same photos, in the order in which the ways were given."""

    model: str
    n: int
    n_species: int
    n_passes: int
    figures: tuple[WayFigures, ...]
    tests: tuple[WayTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The model and what is needed to ask it; makes a new reader for each way, so that each counts for itself."""

    model: str
    n_passes: int
    reader: Callable[[], Reader]
    namer: Callable[[], Namer]
    picture_of: Callable[[Path], bytes]
    earlier: EarlierTexts


def compare_readers(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: EncodedPhotos,
    paths: Sequence[Path],
    labels: Sequence[str],
    ways: Sequence[Way],
    asking: Asking,
    *,
    anchor_sets: Mapping[str, AnchorSet] | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
) -> ReaderEvaluation:
    """Return the figures of each way of reading on the same photos, and tests against the first one.

    Args:
        store: the knowledge base.
        encoders: those that it was built with and the photos were encoded with.
        photos: at least one.
        paths: the file of each photo.
        labels: the taxon id of each photo; one that is not in the store counts as not found.
        ways: each once.
        asking: the model.
        anchor_sets: as in `compare_setups`.
        n_resamples: of bootstrap and randomisation.
        seed: of both.
        on_progress: is told how many photos were read, over all ways.

    Raises:
        UsageError: if there are no photos, a preset starts from what the knowledge base does not hold, or a way that
            finds candidates by names asks for their chunks.
        MissingRequirement: if it has not the texts that a way asks for, or the model cannot be asked.
        CostStop: if going on could pass the limit of cost; replies are kept where the model keeps them.
    """
    if not len(photos) or not len(photos) == len(labels) == len(paths):
        raise UsageError(f"expected a path and a label for each of at least one photo, got {len(labels)}")
    if any(way.setup is not None and way.setup.texts == "names" and way.context == "chunks" for way in ways):
        raise UsageError("expected candidates found by descriptions where the reader is told chunks, got names")
    told = {context: Told(store, context, asking.earlier) for context in {way.context for way in ways if way.setup}}
    genus_of = genera(store)
    variants = Variants(store, encoders, labels, anchor_sets)
    figures: list[WayFigures] = []
    values: list[dict[str, list[float]]] = []
    n_done = 0
    for way in ways:
        known = None if way.setup is None else variants.of(way.setup)
        questions, firsts = questions_of(store, encoders, photos, paths, way, known, told)
        readings: list[Reading] = []
        asked, counts = _asked(asking, way)
        for _, reading in read_ahead(questions, asked):
            # A photo without candidates is not asked: there is nothing to choose from.
            readings.append(reading or NOT_ASKED)
            n_done += 1
            on_progress(n_done)
        of_photos = _values(readings, questions, firsts, labels, genus_of, has_candidates=way.setup is not None)
        margins = [reading.margin for reading in readings if reading.margin is not None]
        values.append(of_photos)
        figures.append(
            WayFigures(
                way=way,
                encoder_names=() if known is None else known.names,
                measures=measure_all(of_photos, labels, n_resamples=n_resamples, seed=seed),
                margin=float(np.mean(margins)) if margins else None,
                n_with_margin=len(margins),
                n_failed=sum(not reading.answered and bool(reading.failures) for reading in readings),
                n_without_text=sum(question.texts.count("") for question in questions) / len(questions),
                replies=counts,
            )
        )
    return ReaderEvaluation(
        model=asking.model,
        n=len(labels),
        n_species=len(set(labels)),
        n_passes=asking.n_passes,
        figures=tuple(figures),
        tests=tuple(_tests(ways, values, labels, n_resamples=n_resamples, seed=seed)),
    )


Ask = Callable[[Question], Coroutine[object, object, Reading] | None]


def _asked(asking: Asking, way: Way) -> tuple[Ask, ReadCounts]:
    """Return how a question is put to the model, and what counts its replies."""
    if way.setup is None:
        namer = asking.namer()

        async def name(question: Question) -> Reading:
            picture = await asyncio.to_thread(asking.picture_of, question.path)
            try:
                return await namer.read(picture)
            except SourceError:
                namer.counts.failed += 1
                raise

        return name, namer.counts
    reader = asking.reader()

    async def choose(question: Question) -> Reading:
        picture = await asyncio.to_thread(asking.picture_of, question.path)
        return await reader.read(picture, question.candidates, question.texts)

    return (lambda question: choose(question) if question.candidates else None), reader.counts


def _values(
    readings: Sequence[Reading],
    questions: Sequence[Question],
    firsts: Sequence[str | None],
    labels: Sequence[str],
    genus_of: Mapping[str, str],
    *,
    has_candidates: bool,
) -> dict[str, list[float]]:
    """Return measure -> its value for each photo; what is about candidates only where there are some."""
    chosen = [reading.choice if reading.agreement else None for reading in readings]
    right = [float(choice == label) for choice, label in zip(chosen, labels, strict=True)]

    def genus(taxon_id: str) -> str:
        return genus_of.get(taxon_id, taxon_id.split("-")[0].capitalize())

    values = {
        "accuracy": right,
        "reader genus": [
            float(choice is not None and genus(choice) == genus(label))
            for choice, label in zip(chosen, labels, strict=True)
        ],
        "none of these": [float(reading.choice is None and bool(reading.agreement)) for reading in readings],
        "agreement": [reading.agreement or 0.0 for reading in readings],
    }
    if has_candidates:
        first = [float(each == label) for each, label in zip(firsts, labels, strict=True)]
        values["first alone"] = first
        values["gain"] = [one - other for one, other in zip(right, first, strict=True)]
        values["listed"] = [
            float(any(candidate.taxon_id == label for candidate in question.candidates))
            for question, label in zip(questions, labels, strict=True)
        ]
    return values


def _tests(
    ways: Sequence[Way],
    values: Sequence[Mapping[str, Sequence[float]]],
    labels: Sequence[str],
    *,
    n_resamples: int,
    seed: int,
) -> Iterator[WayTest]:
    first, others = values[0]["accuracy"], values[1:]
    tests = [
        paired_test(
            by_species(np.subtract(each["accuracy"], first).tolist(), labels), n_resamples=n_resamples, seed=seed
        )
        for each in others
    ]
    for way, test, p in zip(ways[1:], tests, holm([test.p_value for test in tests]), strict=True):
        yield WayTest(
            way=way,
            baseline=ways[0],
            difference=test.difference,
            interval=test.interval,
            n_better=test.n_better,
            n_worse=test.n_worse,
            p_value=test.p_value,
            p_corrected=p,
        )
