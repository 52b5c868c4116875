"""Descriptions of candidates for a reader: refined summary, first summary, raw article, or the name alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from data.contracts import KnowledgeStore
from data.errors import MissingRequirement
from data.records import Summary
from recognize.settings import ReaderContext

TextOf = Callable[[str], str | None]
"""Taxon id -> text, None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTexts:
    """Sources of the summaries of a knowledge base, if it holds them."""

    article: TextOf
    """Plain text of the article."""
    draft: TextOf
    """First-pass summary of a two-pass distiller."""


class CandidateContext:
    """Look-up of candidate descriptions for a reader; each species is read once.

    Source: VR-RAG, table 5: raw article, summary, refined summary. Differs: `names` is an addition.
    """

    def __init__(self, store: KnowledgeStore, context: ReaderContext, sources: SourceTexts) -> None:
        """Set up; raise `MissingRequirement` if the store has no text of that kind."""
        self.context: Final = context
        self._store, self._sources = store, sources
        self._cache: dict[str, str] = {}
        if context in ("summary", "article") and not any(map(self._text, store.taxon_ids)):
            self._refuse()

    def texts(self, taxon_ids: Sequence[str]) -> list[str | None]:
        """Return the text of each species, empty if missing; None in the context `names`."""
        if self.context == "names":
            return [None] * len(taxon_ids)
        return [self._text(taxon_id) for taxon_id in taxon_ids]

    def _text(self, taxon_id: str) -> str:
        if taxon_id not in self._cache:
            self._cache[taxon_id] = self._look_up(taxon_id)
        return self._cache[taxon_id]

    def _look_up(self, taxon_id: str) -> str:
        if self.context == "article":
            return self._sources.article(taxon_id) or ""
        [entry] = self._store.species([taxon_id])
        if self.context == "summary":
            return self._sources.draft(taxon_id) or _first_pass(entry.summary)
        return entry.summary.text if entry.summary is not None else ""

    def _refuse(self) -> None:
        if self.context == "article":
            raise MissingRequirement(
                f"{self._store.path} holds no articles for the reader context 'article'",
                hint="Use a knowledge base that kb build made from a wiki or a folder.",
            )
        raise MissingRequirement(
            f"{self._store.path} holds no first-pass summaries for the reader context 'summary'",
            hint="Build with --distiller model-two-pass, which keeps them, or with --distiller model-summary.",
        )


def _first_pass(summary: Summary | None) -> str:
    """Return the text of an unrefined summary; empty for raw texts."""
    if summary is None or summary.stage != "summary" or summary.distiller.startswith(("article/", "chunks/")):
        return ""
    return summary.text
