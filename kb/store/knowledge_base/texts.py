"""Texts of species, and the sources of the statements in their summaries."""

from __future__ import annotations

from functools import cached_property

from data.codec import loads
from data.records import Source, SpeciesEntry
from kb.store.additions import STAGE, AddedText, Addition, joined_text, source_of
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.pages import held_pages, with_pages
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
        distilled = self._ledger.step(taxon_id, "distil")
        output = loads(DistilOutput, distilled.output) if distilled and distilled.output else DistilOutput()
        article = None if output.text_sha256 is None else self._read(output.text_sha256)
        texts = self._before_article(taxon_id)
        return joined_text([self._read(text.sha256) for text in texts], article) if texts else article

    def sources(self, entry: SpeciesEntry) -> list[Source | None]:
        """Return the source of each statement of a summary: the user's text, web page or article that it comes from."""
        texts = self._before_article(entry.taxon.taxon_id)
        statements = entry.summary.statements if entry.summary is not None else ()
        return [source_of(statement, texts, entry.source) for statement in statements]

    def sources_quoted(self, entry: SpeciesEntry, text: str) -> list[Source]:
        """Return the sources of the statements of a species that a text quotes, each once."""
        statements = entry.summary.statements if entry.summary is not None else ()
        pairs = zip(statements, self.sources(entry), strict=True)
        return list(dict.fromkeys(source for each, source in pairs if source is not None and each.text in text))

    def _read(self, sha256: str) -> str:
        return self._layout.articles.read(sha256).decode()

    def _before_article(self, taxon_id: str) -> tuple[AddedText, ...]:
        """Return the texts that come before the article: the user's own, then those of web pages."""
        step = self._ledger.step(taxon_id, STAGE)
        addition = loads(Addition, step.output) if step and step.output else Addition()
        return with_pages(addition, self._pages.get(taxon_id, {}), self._layout).texts

    @cached_property
    def _pages(self) -> dict[str, dict[str, DistilOutput]]:
        return held_pages(self._ledger)
