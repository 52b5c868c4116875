"""Readers on the same photos: with and without retrieval, with more or less context.

Source: VR-RAG, table 3 (no retrieval, direct RAG, VR-RAG), table 5 (context), table 6 (genus), figure 4 (number of
chunks). Differs: the prompts are our own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from data.contracts import ChatModel, Encoders, KnowledgeStore
from data.errors import MissingRequirement
from data.prompts import Prompts
from data.records import Candidate, Reading
from papers.species.namer import Find, name_photo
from papers.species.photos import MeasuredPhotos
from papers.species.retrieval import Row, figures, genera
from recognize.reader.reader import CandidateContext, Reader, SourceTexts, read_ahead
from recognize.scoring.knowledge import Knowledge, read_knowledge
from recognize.scoring.presets import Settings, check_contents, score
from recognize.scoring.ranking import Ranking
from recognize.settings import ReaderContext

NO_RETRIEVAL: Final = "no retrieval"
K_PAPER: Final = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSetup:
    """One setup of a reader."""

    preset: str = "vr-rag-v1"
    """Preset that retrieves the candidates; `NO_RETRIEVAL`: the model names the species alone."""
    context: ReaderContext | Literal["chunks"] = "refined"
    """Texts of candidates."""
    k: int = K_PAPER
    """Chunks that give the candidates."""


COMPARISONS: Final = (
    ReaderSetup(),
    ReaderSetup(preset=NO_RETRIEVAL),
    ReaderSetup(preset="direct-rag"),
    ReaderSetup(context="summary"),
    ReaderSetup(context="chunks"),
    ReaderSetup(context="article"),
    ReaderSetup(k=5),
    ReaderSetup(k=15),
)
"""The paper's comparisons, its own setup first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResources:
    """The model, and the texts of the knowledge base."""

    chat: ChatModel
    prompts: Prompts
    """Prompts of `Reader`."""
    naming: Prompts
    """Prompts of `name_photo`."""
    find: Find
    picture_of: Callable[[Path], bytes]
    sources: SourceTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A photo with candidates and descriptions for the reader."""

    path: Path
    candidates: tuple[Candidate, ...] = ()
    texts: tuple[str | None, ...] = ()


@dataclass(slots=True, kw_only=True)
class ReaderFigures:
    """Lines of CSV, and the photos that the reader of a setup failed on."""

    rows: list[Row] = field(default_factory=list)
    failed: dict[ReaderSetup, int] = field(default_factory=dict)


def compare_readers(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: MeasuredPhotos,
    resources: ReaderResources,
    *,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> ReaderFigures:
    """Return the figures of the paper's comparisons; contexts that the knowledge base lacks are left out.

    `on_progress` gets the number of photos read, over all setups, and of those without an answer.

    Raises:
        UsageError: if the knowledge base has no descriptions.
        CostStop: before the cost limit is passed; cached replies stay.
    """
    knowledge, genus_of, found = read_knowledge(store, encoders), genera(store), ReaderFigures()
    check_contents("vr-rag-v1", knowledge, store.path)
    n_done = 0
    for setup in COMPARISONS:
        try:
            questions = list(questions_of(store, encoders, photos, setup, knowledge, resources.sources))
        except MissingRequirement as error:
            _log.warning("The context %s is left out: %s", setup.context, error)
            continue
        chosen: list[str | None] = []
        found.failed[setup] = 0
        for _, reading in read_ahead(questions, _ask(resources, setup)):
            chosen.append(reading.choice if reading is not None and reading.agreement else None)
            found.failed[setup] += reading is not None and reading.missing == "reader"
            n_done += 1
            on_progress(n_done, sum(found.failed.values()))
        found.rows += _rows(setup, chosen, photos.labels, genus_of)
    return found


def questions_of(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: MeasuredPhotos,
    setup: ReaderSetup,
    knowledge: Knowledge,
    sources: SourceTexts,
) -> Iterator[Question]:
    """Yield the question for each photo: the species of the k best chunks, best first.

    Of the chunks of an article, those among the k best are shown, not all.

    Source: VR-RAG, section 5.3.

    Raises:
        MissingRequirement: if the knowledge base lacks the texts of the setup.
    """
    if setup.preset == NO_RETRIEVAL:
        yield from (Question(path=path) for path in photos.paths)
        return
    context = None if setup.context == "chunks" else CandidateContext(store, setup.context, sources)
    ids = store.taxon_ids
    for path, ranking in zip(
        photos.paths,
        score(setup.preset, knowledge, photos.photos.queries, Settings(profile=encoders.profile)),
        strict=True,
    ):
        shown = _shown(knowledge, ranking, setup.k)
        taxa = [entry.taxon for entry in store.species([ids[i] for i in shown])]
        candidates = tuple(
            Candidate(
                taxon_id=taxon.taxon_id,
                scientific_name=taxon.scientific_name,
                common_name=taxon.common_name,
                score=float(given),
            )
            for taxon, given in zip(taxa, ranking.scores, strict=False)
        )
        texts: Sequence[str | None] = (
            [" ".join(store.chunk_texts(chunks)) for chunks in shown.values()]
            if context is None
            else context.texts([taxon.taxon_id for taxon in taxa])
        )
        yield Question(path=path, candidates=candidates, texts=tuple(texts))


def _shown(knowledge: Knowledge, ranking: Ranking, k: int) -> dict[int, list[str]]:
    """Return the species of the k best chunks, best first -> their chunks among these."""
    found: dict[int, list[str]] = {}
    for row in ranking.chunks[:k].tolist():
        found.setdefault(int(knowledge.chunk_owners[row]), []).append(knowledge.chunks[0].ids[row])
    return found


def _ask(
    resources: ReaderResources, setup: ReaderSetup
) -> Callable[[Question], Coroutine[object, object, Reading] | None]:
    """Return a function that asks the model about a photo; None for a photo without candidates."""
    reader = Reader(resources.chat, forced=setup.preset == "vr-rag-v1", prompts=resources.prompts)

    async def ask(question: Question) -> Reading:
        picture = await asyncio.to_thread(resources.picture_of, question.path)
        if setup.preset == NO_RETRIEVAL:
            return await name_photo(resources.chat, picture, resources.find, resources.naming)
        return await reader.read(picture, question.candidates, question.texts)

    return lambda question: ask(question) if question.candidates or setup.preset == NO_RETRIEVAL else None


def _rows(
    setup: ReaderSetup, chosen: Sequence[str | None], labels: Sequence[str], genus_of: Mapping[str, str]
) -> list[Row]:
    """Return the lines of a setup; none of these, unreadable replies and failures count as wrong."""

    def genus(taxon_id: str) -> str:
        return genus_of.get(taxon_id, taxon_id.split("-")[0].capitalize())

    pairs = list(zip(chosen, labels, strict=True))
    values = {
        "accuracy": [float(choice == label) for choice, label in pairs],
        "reader genus": [float(choice is not None and genus(choice) == genus(label)) for choice, label in pairs],
    }
    place = {"preset": setup.preset}
    if setup.preset != NO_RETRIEVAL:
        place |= {"vocabulary": "open", "texts": "descriptions", "anchors": "kb"}
        place |= {"reader_context": setup.context, "reader_k": str(setup.k)}
    return [{**place, **figures(measure, found)} for measure, found in values.items()]
