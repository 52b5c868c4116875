"""Readers from the settings: vision model, prompts, and the texts of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cli.common.language_models import connect_model
from cli.common.output import note
from cli.common.settings import Settings
from data.errors import MissingRequirement
from data.records import Identification
from recognize.settings import DRAFT_PRESETS, FORCED_PRESETS

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.reader.reader import CandidateContext, SourceTexts
    from recognize.settings import ReaderContext

OPTIONS = ("max_cost", "offline")
"""Options of verbs that only readers use."""


def reader_failures(missing: Mapping[str, int], photos: str, *, instead: str) -> Iterator[str]:
    """Yield a line for the photos without the reader's answer, and for those without some of its samples.

    `missing` is `Reading.missing` -> number of photos, `photos` the number of all with its noun, and `instead` says
    what becomes of photos without an answer.
    """
    if n := missing.get("reader", 0):
        yield f"The reader failed for {n:,} of {photos}; {instead}"
    if n := missing.get("samples", 0):
        yield f"Some samples of the reader failed for {n:,} of {photos}; the others decided"


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
    preset: str,
    context: ReaderContext | None,
    forced: bool | None,
    n_samples: int,
    max_cost: float | None,
    offline: bool,
) -> Iterator[OpenReader]:
    """Open the reader that chooses among the candidates of each row.

    `context` is the description of a candidate, and `forced` whether one of the candidates must be
    chosen; None are the defaults of the preset. `n_samples` is the number of model calls per photo.

    Raises:
        MissingRequirement: if there is no such endpoint, no key for it, or no such text in the knowledge base.
        UsageError: if the cost is limited and the price is unknown.
    """
    from data.images.views import jpeg_of
    from data.prompts import Prompts
    from kb.endpoints.endpoint import Budget
    from recognize.reader.reader import PLACEHOLDERS, Reader, read_over

    described = _candidate_context(store, preset, context)
    forced = preset in FORCED_PRESETS if forced is None else forced
    with connect_model(settings, "vision", budget=Budget(max_cost), offline=offline) as chat:
        prompts = Prompts("recognize", PLACEHOLDERS, settings.prompts)
        reader = Reader(chat, n_samples=n_samples, forced=forced, prompts=prompts)
        picture_of = partial(jpeg_of, max_side=chat.endpoint.image_px)
        yield OpenReader(
            read=lambda rows: read_over(rows, reader, picture_of, described.texts),
            parameters={
                "reader": chat.name,
                "reader_samples": n_samples,
                "reader_context": described.context,
                "reader_forced": forced,
                "reader_prompt": reader.prompt_hash,
                "reader_px": chat.endpoint.image_px,
            },
        )


def _candidate_context(store: KnowledgeBase, preset: str, context: ReaderContext | None) -> CandidateContext:
    """Return the descriptions of candidates; the preset's own may be missing, which is a note."""
    from recognize.reader.reader import CandidateContext

    sources = source_texts(store)
    if context is not None or preset not in DRAFT_PRESETS:
        return CandidateContext(store, context or "refined", sources)
    try:
        return CandidateContext(store, "summary", sources)
    except MissingRequirement:
        note(f"{preset}: the knowledge base holds no first-pass summaries, so the reader gets the refined ones")
        return CandidateContext(store, "refined", sources)


def source_texts(store: KnowledgeBase) -> SourceTexts:
    """Return the articles and first drafts of a knowledge base; the facts of the starter knowledge are not articles."""
    from kb.store.stage_outputs import draft_text
    from recognize.reader.reader import SourceTexts

    def article(taxon_id: str) -> str | None:
        [entry] = store.species([taxon_id])
        is_facts = entry.summary is not None and entry.summary.scope == "facts"
        return None if is_facts else store.article_text(taxon_id)

    return SourceTexts(article=article, draft=lambda taxon_id: draft_text(store.ledger, taxon_id))
