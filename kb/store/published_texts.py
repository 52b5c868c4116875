"""Texts that the evidence of a published species points into.

A build, an update or an addition changes the results of stages long before it publishes new entries; until then
readers see the old entries, and evidence must be read from the old texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from data.codec import dumps, loads
from data.records import Source, SpeciesEntry
from kb.store.additions import STAGE, AddedText, Addition, held_pages, joined_text, source_of, with_pages
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step
from kb.store.stage_outputs import DistilOutput

TEXTS = "texts"
"""Name of the results, in the ledger's table of stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTexts:
    """The texts of a species: added by the user, from web pages, and the hash of that of the article."""

    texts: tuple[AddedText, ...] = ()
    article: str | None = None


def texts_now(
    layout: Layout, ledger: Ledger, pages: Mapping[str, Mapping[str, DistilOutput]], taxon_id: str
) -> PublishedTexts:
    """Return the texts of a species by the present results of the stages; `pages` are those of all species."""
    added, distilled = ledger.step(taxon_id, STAGE), ledger.step(taxon_id, "distil")
    addition = loads(Addition, added.output) if added and added.output else Addition()
    output = loads(DistilOutput, distilled.output) if distilled and distilled.output else DistilOutput()
    texts = with_pages(addition, pages.get(taxon_id, {}), layout).texts
    return PublishedTexts(texts=tuple(replace(text, summary=None) for text in texts), article=output.text_sha256)


def note_texts(
    layout: Layout, ledger: Ledger, pages: Mapping[str, Mapping[str, DistilOutput]], taxon_ids: Iterable[str]
) -> None:
    """Record the present texts of species, in the transaction that publishes their entries."""
    ledger.record(
        Step(subject_id=key, stage=TEXTS, fingerprint="", output=dumps(texts_now(layout, ledger, pages, key)))
        for key in taxon_ids
    )


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
