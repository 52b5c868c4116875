"""Texts of species, and the sources of the statements in their summaries."""

from __future__ import annotations

from functools import cached_property

from data.codec import loads
from data.records import Source, SpeciesEntry
from kb.store.additions import joined_text, source_of
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.pages import held_pages
from kb.store.published_texts import TEXTS, PublishedTexts, texts_now
from kb.store.stage_outputs import DistilOutput


class SpeciesTexts:
    """The texts of all species: added by the user, from web pages, and the articles."""

    def __init__(self, layout: Layout, ledger: Ledger) -> None:
        self._layout = layout
        self._ledger = ledger

    def text(self, taxon_id: str) -> str | None:
        """Return the plain text that the evidence of a species points into, or None if it has none.

        Texts that the user added come first, then those of web pages, then the article.

        Raises:
            StoreError: if the text is missing or damaged.
        """
        held = self._of(taxon_id)
        article = None if held.article is None else self._read(held.article)
        return joined_text([self._read(text.sha256) for text in held.texts], article) if held.texts else article

    def sources(self, entry: SpeciesEntry) -> list[Source | None]:
        """Return the source of each statement of a summary: the user's text, web page or article that it comes from."""
        texts = self._of(entry.taxon.taxon_id).texts
        statements = entry.summary.statements if entry.summary is not None else ()
        return [source_of(statement, texts, entry.source) for statement in statements]

    def sources_quoted(self, entry: SpeciesEntry, text: str) -> list[Source]:
        """Return the sources of the statements of a species that a text quotes, each once."""
        statements = entry.summary.statements if entry.summary is not None else ()
        pairs = zip(statements, self.sources(entry), strict=True)
        return list(dict.fromkeys(source for each, source in pairs if source is not None and each.text in text))

    def _read(self, sha256: str) -> str:
        return self._layout.articles.read(sha256).decode()

    def _of(self, taxon_id: str) -> PublishedTexts:
        if (step := self._ledger.step(taxon_id, TEXTS)) is not None and step.output is not None:
            return loads(PublishedTexts, step.output)
        # A ledger of an earlier version, until the next build.
        return texts_now(self._layout, self._ledger, self._pages, taxon_id)

    @cached_property
    def _pages(self) -> dict[str, dict[str, DistilOutput]]:
        return held_pages(self._ledger)
