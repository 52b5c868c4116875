"""Where readers meet the rest: a model of the settings, the checklist's names, a knowledge base's texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.config import Settings

if TYPE_CHECKING:
    from kb.store import KnowledgeBase
    from recognize.reader_evaluation import Asking
    from recognize.told import EarlierTexts


@contextmanager
def asking(
    settings: Settings, store: KnowledgeBase, *, n_passes: int, max_cost: float | None, offline: bool
) -> Iterator[Asking]:
    """Give what an evaluation of readers asks: the model of `[llm.vision]`.

    Raises:
        MissingRequirement: if there is no such endpoint, or no key for it.
        UsageError: if the cost is limited and the price is not known.
    """
    from cli.distilling import connected
    from data.jpegs import jpeg_of
    from data.prompts import Prompts
    from kb.reconciling import Reconciler
    from kb.taxa import load_checklist
    from recognize.naming import Namer
    from recognize.reader import PLACEHOLDERS, Reader
    from recognize.reader_evaluation import Asking

    reconciler = Reconciler(load_checklist())

    def find(name: str) -> str | None:
        matched = reconciler.reconcile([name]).matched
        return matched[0].taxon.taxon_id if matched else None

    prompts = Prompts("recognize", PLACEHOLDERS, settings.prompts)
    with connected(settings, "vision", max_cost=max_cost, offline=offline) as chat:
        yield Asking(
            model=chat.name,
            n_passes=n_passes,
            reader=lambda: Reader(chat, n_passes=n_passes, prompts=prompts),
            namer=lambda: Namer(chat, find, prompts=prompts),
            picture_of=jpeg_of,
            earlier=earlier_texts(store),
        )


def earlier_texts(store: KnowledgeBase) -> EarlierTexts:
    """Return what the summaries of a knowledge base were made from, where it has kept it."""
    from kb.drafts import draft_text
    from recognize.told import EarlierTexts

    return EarlierTexts(article=store.article_text, draft=lambda taxon_id: draft_text(store, taxon_id))
