"""Readers from the settings: vision model, prompts, and the texts of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cli.common.config import Settings
from cli.common.language_models import connect_model
from data.records import Identification

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.evaluation.reader_comparison import ReaderResources
    from recognize.reader.candidate_context import SourceTexts
    from recognize.settings import ReaderContext

OPTIONS = ("max_cost", "offline")
"""Options of verbs that only readers use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReader:
    """A reader, and everything that determines its answers, for comparison when a run resumes."""

    read: Callable[[Iterable[Identification]], Iterator[Identification]]
    parameters: dict[str, object]


@contextmanager
def open_reader(
    settings: Settings,
    store: KnowledgeBase,
    *,
    context: ReaderContext,
    n_samples: int,
    max_cost: float | None,
    offline: bool,
) -> Iterator[OpenReader]:
    """Open the reader that chooses among the candidates of each row.

    `context` is the description of a candidate, any but `chunks`; `n_samples` is the
    number of model calls per photo.

    Raises:
        MissingRequirement: if there is no such endpoint, no key for it, or no such text in the knowledge base.
        UsageError: if the cost is limited and the price is unknown.
    """
    from data.images.jpeg import jpeg_of
    from data.prompts import Prompts
    from kb.endpoints.budget import Budget
    from recognize.reader.candidate_context import CandidateContext
    from recognize.reader.reader import PLACEHOLDERS, Reader
    from recognize.reader.stream import read_over

    texts = CandidateContext(store, context, source_texts(store)).texts
    with connect_model(settings, "vision", budget=Budget(max_cost), offline=offline) as chat:
        reader = Reader(chat, n_samples=n_samples, prompts=Prompts("recognize", PLACEHOLDERS, settings.prompts))
        yield OpenReader(
            read=lambda rows: read_over(rows, reader, partial(jpeg_of, max_side=chat.endpoint.image_px), texts),
            parameters={
                "reader": chat.name,
                "reader_samples": n_samples,
                "reader_context": context,
                "reader_prompt": reader.prompt_hash,
                "reader_px": chat.endpoint.image_px,
            },
        )


@contextmanager
def open_reader_resources(
    settings: Settings, store: KnowledgeBase, *, n_samples: int, max_cost: float | None, offline: bool
) -> Iterator[ReaderResources]:
    """Open the model of `[llm.vision]` for an evaluation of readers; arguments and errors as in `open_reader`."""
    from data.images.jpeg import jpeg_of
    from data.prompts import Prompts
    from kb.checklist.reconcile import load_reconciler
    from kb.endpoints.budget import Budget
    from recognize.evaluation.reader_comparison import ReaderResources
    from recognize.reader.namer import Namer
    from recognize.reader.reader import PLACEHOLDERS, Reader

    reconciler = load_reconciler()

    def find(name: str) -> str | None:
        matched = reconciler.reconcile([name]).matched
        return matched[0].taxon.taxon_id if matched else None

    prompts = Prompts("recognize", PLACEHOLDERS, settings.prompts)
    with connect_model(settings, "vision", budget=Budget(max_cost), offline=offline) as chat:
        yield ReaderResources(
            model=chat.name,
            n_samples=n_samples,
            reader=lambda: Reader(chat, n_samples=n_samples, prompts=prompts),
            namer=lambda: Namer(chat, find, prompts=prompts),
            picture_of=partial(jpeg_of, max_side=chat.endpoint.image_px),
            sources=source_texts(store),
        )


def source_texts(store: KnowledgeBase) -> SourceTexts:
    """Return the articles and first drafts of a knowledge base; the facts of the starter knowledge are not articles."""
    from kb.store.stage_outputs import draft_text
    from recognize.reader.candidate_context import SourceTexts

    def article(taxon_id: str) -> str | None:
        [entry] = store.species([taxon_id])
        is_facts = entry.summary is not None and entry.summary.scope == "facts"
        return None if is_facts else store.article_text(taxon_id)

    return SourceTexts(article=article, draft=lambda taxon_id: draft_text(store.ledger, taxon_id))
