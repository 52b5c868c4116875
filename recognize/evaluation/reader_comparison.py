"""Comparison of readers on the same photos: with and without retrieval, with more or less context.

Source: VR-RAG, table 3 (no retrieval, direct RAG, VR-RAG), table 5 (context), table 6 (genus), figure 4
(how many candidates). Differs: the prompts are our own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from data.contracts import Encoders, KnowledgeStore
from data.errors import SourceError, UsageError
from data.metrics import N_RESAMPLES
from data.metrics.ranked import Measured, measure_all
from data.records import Reading
from recognize.evaluation.comparison import genera, paired_tests
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.reader_setups import Question, ReaderSetup, questions_of
from recognize.evaluation.setups import AnchorSet, Variants
from recognize.reader.candidate_context import CandidateContext, SourceTexts
from recognize.reader.namer import Namer
from recognize.reader.reader import Reader
from recognize.reader.replies import ReadCounts
from recognize.reader.stream import read_ahead

READER_DEFINITIONS: Final[Mapping[str, str]] = {
    "accuracy": "share of photos for which the reader chose (or named) the right species; none of these, unreadable "
    "replies and failures count as wrong",
    "reader genus": "share of photos for which the reader chose a species of the right genus",
    "first alone": "share of photos with the right species in first place: the accuracy without a reader",
    "gain": "accuracy minus first alone, photo by photo",
    "listed": "share of photos with the right species among the candidates shown to the reader: its upper bound",
    "none of these": "share of photos for which the reader chose none of the candidates, or named no species",
    "agreement": "share of samples with the final choice, mean over photos; unreadable replies count against it",
    "margin": "natural log-probability of the chosen label minus that of the next one, mean over the photos with "
    "log-probabilities",
    "k": "candidates shown to the reader; for presets that rank chunks, the species of the k best chunks (VR-RAG)",
}
"""Definitions of the terms in a reader's tables."""


NO_CANDIDATES: Final = Reading(choice=None, agreement=0.0, reason="no candidates", samples=0, answered=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFigures:
    """The figures of one setup."""

    setup: ReaderSetup
    encoder_names: tuple[str, ...]
    measures: tuple[Measured, ...]
    margin: float | None
    n_with_margin: int
    n_failed: int
    """Photos without an answered sample where at least one call failed or was refused."""
    missing: Mapping[str, int]
    """Missing part of a reading -> its photos: `reader` without a readable reply, `samples` where some failed."""
    n_without_text: float
    """Mean number of candidates per photo without a description."""
    replies: ReadCounts

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderTest:
    """A paired test over species: accuracy of this setup minus accuracy of the first one."""

    setup: ReaderSetup
    baseline: ReaderSetup
    difference: float
    interval: tuple[float, float]
    n_better: int
    n_worse: int
    p_value: float
    p_corrected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderEvaluation:
    """All figures on the same photos, in the order of the setups."""

    model: str
    n: int
    n_species: int
    n_samples: int
    figures: tuple[ReaderFigures, ...]
    tests: tuple[ReaderTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResources:
    """The model of a comparison, with a factory of readers: each setup gets a new one and its own counts."""

    model: str
    n_samples: int
    reader: Callable[[bool], Reader]
    """Whether one of the candidates must be chosen -> a reader."""
    namer: Callable[[], Namer]
    picture_of: Callable[[Path], bytes]
    sources: SourceTexts


# Long: a third of it documents the parameters; each setup adds to the same figures.
def compare_readers(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: EncodedPhotos,
    paths: Sequence[Path],
    labels: Sequence[str],
    setups: Sequence[ReaderSetup],
    resources: ReaderResources,
    *,
    anchor_sets: Mapping[str, AnchorSet] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
) -> ReaderEvaluation:
    """Return the figures of each setup on the same photos, and paired tests against the first one.

    Args:
        store: the knowledge base.
        encoders: the encoders of the knowledge base and the photos.
        photos: at least one.
        paths: the file of each photo.
        labels: the taxon id of each photo; one outside the store counts as not found.
        setups: each once.
        resources: the model.
        anchor_sets: as in `compare_setups`.
        n_resamples: number of bootstrap and randomisation resamples.
        seed: random seed of both.
        on_progress: called with the number of photos read so far, over all setups.

    Raises:
        UsageError: if there are no photos, the knowledge base lacks what a preset needs, or a setup retrieves by names
            and describes candidates by chunks.
        MissingRequirement: if the knowledge base lacks the texts of a setup, or the model cannot be called.
        CostStop: before the cost limit is passed; cached replies stay.
    """
    if not len(photos) or not len(photos) == len(labels) == len(paths):
        raise UsageError(f"Expected a path and a label for each of at least one photo, got {len(labels)}")
    if any(
        setup.retrieval is not None and setup.retrieval.texts == "names" and setup.context == "chunks"
        for setup in setups
    ):
        raise UsageError("Expected candidates retrieved by descriptions with the reader context chunks, got names")
    contexts = {
        context: CandidateContext(store, context, resources.sources)
        for context in {setup.context for setup in setups if setup.retrieval}
    }
    genus_of = genera(store)
    variants = Variants(store, encoders, labels, anchor_sets)
    figures: list[ReaderFigures] = []
    values: list[dict[str, list[float]]] = []
    n_done = 0
    for setup in setups:
        knowledge = None if setup.retrieval is None else variants.of(setup.retrieval)
        questions, firsts = questions_of(store, encoders, photos, paths, setup, knowledge, contexts)
        readings: list[Reading] = []
        missing: Counter[str] = Counter()
        ask, counts = _ask(resources, setup)
        for _, reading in read_ahead(questions, ask):
            readings.append(reading or NO_CANDIDATES)
            if reading is not None and reading.missing:
                missing[reading.missing] += 1
            n_done += 1
            on_progress(n_done)
        of_photos = _values(readings, questions, firsts, labels, genus_of, has_candidates=setup.retrieval is not None)
        margins = [reading.margin for reading in readings if reading.margin is not None]
        values.append(of_photos)
        figures.append(
            ReaderFigures(
                setup=setup,
                encoder_names=() if knowledge is None else knowledge.names,
                measures=measure_all(of_photos, labels, n_resamples=n_resamples, seed=seed),
                margin=float(np.mean(margins)) if margins else None,
                n_with_margin=len(margins),
                n_failed=sum(not reading.answered and bool(reading.failures) for reading in readings),
                missing=dict(missing),
                n_without_text=sum(question.texts.count("") for question in questions) / len(questions),
                replies=counts,
            )
        )
    return ReaderEvaluation(
        model=resources.model,
        n=len(labels),
        n_species=len(set(labels)),
        n_samples=resources.n_samples,
        figures=tuple(figures),
        tests=tuple(
            ReaderTest(
                setup=setup,
                baseline=setups[0],
                difference=test.difference,
                interval=test.interval,
                n_better=test.n_better,
                n_worse=test.n_worse,
                p_value=test.p_value,
                p_corrected=p,
            )
            for setup, (test, p) in zip(
                setups[1:],
                paired_tests([row["accuracy"] for row in values], labels, n_resamples=n_resamples, seed=seed),
                strict=True,
            )
        ),
    )


Ask = Callable[[Question], Coroutine[object, object, Reading] | None]


def _ask(resources: ReaderResources, setup: ReaderSetup) -> tuple[Ask, ReadCounts]:
    """Return a function that asks the model about a photo, and the counts of its replies."""
    if setup.retrieval is None:
        namer = resources.namer()

        async def name(question: Question) -> Reading:
            picture = await asyncio.to_thread(resources.picture_of, question.path)
            try:
                return await namer.read(picture)
            except SourceError as error:
                namer.counts.add_failed(error)
                raise

        return name, namer.counts
    reader = resources.reader(setup.is_forced)

    async def choose(question: Question) -> Reading:
        picture = await asyncio.to_thread(resources.picture_of, question.path)
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
    """Return measure -> value of each photo; measures of candidates only with retrieval."""
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
