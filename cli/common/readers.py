"""Readers made from the settings: model, names of the checklist, texts of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cli.common.config import Settings
from data.records import Identification

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.evaluation.reader_comparison import ReaderResources
    from recognize.reader.candidate_context import SourceTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reader, and everything that determines its answers, for comparison when a run resumes."""

    read: Callable[[Iterable[Identification]], Iterator[Identification]]
    parameters: dict[str, object]


@contextmanager
def reading(
    settings: Settings,
    store: KnowledgeBase,
    *,
    context: str,
    n_samples: int,
    max_cost: float | None,
    offline: bool,
) -> Iterator[Reading]:
    """Give what has the model of `[llm.vision]` choose among the candidates of each row.

    Args:
        settings: they hold the endpoint.
        store: the knowledge base that the rows come from.
        context: what the model is told of a candidate, one of `candidate_context.CONTEXTS` but `chunks`.
        n_samples: how often a photo is read.
        max_cost: US dollars.
        offline: whether kept replies alone may answer.

    Raises:
        MissingRequirement: if there is no such endpoint, no key for it, or no such text in the knowledge base.
        UsageError: if the cost is limited and the price is not known.
    """
    from cli.common.models import connected
    from data.images.jpeg import jpeg_of
    from data.prompts import Prompts
    from recognize.reader.candidate_context import CandidateContext, context_of
    from recognize.reader.reader import PLACEHOLDERS, Reader
    from recognize.reader.stream import read_over

    told = CandidateContext(store, context_of(context), source_texts(store))
    with connected(settings, "vision", max_cost=max_cost, offline=offline) as chat:
        reader = Reader(chat, n_samples=n_samples, prompts=Prompts("recognize", PLACEHOLDERS, settings.prompts))
        yield Reading(
            read=lambda rows: read_over(rows, reader, partial(jpeg_of, max_side=chat.endpoint.image_px), told.texts),
            parameters={
                "reader": chat.name,
                "reader_samples": n_samples,
                "reader_context": context,
                "reader_prompt": reader.prompt_hash,
                "reader_px": chat.endpoint.image_px,
            },
        )


@contextmanager
def asking(
    settings: Settings,
    store: KnowledgeBase,
    *,
    n_samples: int,
    max_cost: float | None,
    offline: bool,
) -> Iterator[ReaderResources]:
    """Give what an evaluation of readers asks: the model of `[llm.vision]`; the arguments are those of `reading`.

    Raises:
        MissingRequirement: if there is no such endpoint, or no key for it.
        UsageError: if the cost is limited and the price is not known.
    """
    from cli.common.models import connected
    from data.images.jpeg import jpeg_of
    from data.prompts import Prompts
    from kb.checklist.reconcile import load_reconciler
    from recognize.evaluation.reader_comparison import ReaderResources
    from recognize.reader.namer import Namer
    from recognize.reader.reader import PLACEHOLDERS, Reader

    reconciler = load_reconciler()

    def find(name: str) -> str | None:
        matched = reconciler.reconcile([name]).matched
        return matched[0].taxon.taxon_id if matched else None

    own = Prompts("recognize", PLACEHOLDERS, settings.prompts)
    with connected(settings, "vision", max_cost=max_cost, offline=offline) as chat:
        yield ReaderResources(
            model=chat.name,
            n_samples=n_samples,
            reader=lambda: Reader(chat, n_samples=n_samples, prompts=own),
            namer=lambda: Namer(chat, find, prompts=own),
            picture_of=partial(jpeg_of, max_side=chat.endpoint.image_px),
            sources=source_texts(store),
        )


def source_texts(store: KnowledgeBase) -> SourceTexts:
    """Return what the summaries of a knowledge base were made from, where it has kept it.

    Bare facts, as the starter knowledge has them, are no article.
    """
    from kb.store.stage_outputs import draft_text
    from recognize.reader.candidate_context import SourceTexts

    def article(taxon_id: str) -> str | None:
        [entry] = store.species([taxon_id])
        is_facts = entry.summary is not None and entry.summary.scope == "facts"
        return None if is_facts else store.article_text(taxon_id)

    return SourceTexts(article=article, draft=lambda taxon_id: draft_text(store.ledger, taxon_id))
