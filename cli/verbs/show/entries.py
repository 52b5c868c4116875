"""One species or term of a knowledge base, found by any of its names, with the words of the article it rests on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from cli.common import reports
from data.errors import UnknownTaxon
from data.records import SpeciesEntry, Term

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

N_SUGGESTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTerm:
    """A term of the knowledge base."""

    term: Term

    def payload(self) -> dict[str, object]:
        """Return it as JSON values."""
        from data.codec import to_json

        return {"term": to_json(self.term)}

    def text(self) -> str:
        """Return it as text for people."""
        return reports.term_text(self.term)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSpecies:
    """A species of the knowledge base; `quotes` are the passages of its article behind each statement."""

    entry: SpeciesEntry
    quotes: tuple[tuple[str, ...], ...]
    terms: tuple[Term, ...]

    def payload(self) -> dict[str, object]:
        """Return it as JSON values: every statement with its evidence and the words there, every anchor's credit."""
        from data.codec import to_json

        summary = self.entry.summary
        payload = to_json(self.entry)
        if summary is not None:
            for statement, passages in zip(payload["summary"]["statements"], self.quotes, strict=True):
                # Without the article (bare facts) a statement has no evidence either.
                for span, passage in zip(statement["evidence"], passages, strict=False):
                    span["quote"] = passage
            payload["summary"] |= {"text": summary.text, "words": summary.words}
        for given, anchor in zip(payload["anchors"], self.entry.anchors, strict=True):
            given["credit"] = anchor.credit
        return {**payload, "terms": [to_json(term) for term in self.terms]}

    def text(self) -> str:
        """Return it as text for people."""
        return reports.species_text(self.entry, self.quotes, self.terms)


def find(store: KnowledgeBase, name: str) -> FoundSpecies | FoundTerm:
    """Return the species of that scientific or common name or id, else the term of that name.

    Raises:
        UnknownTaxon: with the nearest names of the knowledge base.
    """
    from kb.checklist.avilist import fold

    wanted = fold(name)
    known: dict[str, str] = {}  # folded name -> as written
    for taxon_id, scientific, common in store.names():
        spelt = (scientific, *common, taxon_id)
        if wanted in map(fold, spelt):
            return _species(store, taxon_id)
        known |= {fold(text): text for text in spelt[:-1]}
    terms = store.terms()
    for term in terms:
        if wanted in map(fold, (term.name, *term.aliases)):
            return FoundTerm(term=term)
        known[fold(term.name)] = term.name
    near = get_close_matches(wanted, known, n=N_SUGGESTIONS, cutoff=0.6)
    raise UnknownTaxon(name, suggestions=[known[text] for text in near], where=str(store.path))


def _species(store: KnowledgeBase, taxon_id: str) -> FoundSpecies:
    (entry,) = store.species([taxon_id])
    article = store.article_text(taxon_id)
    statements = entry.summary.statements if entry.summary else ()
    quotes = tuple(
        tuple(article[span.start : span.end] for span in statement.evidence) if article is not None else ()
        for statement in statements
    )
    words = entry.summary.text if entry.summary else ""
    return FoundSpecies(entry=entry, quotes=quotes, terms=tuple(_used(store.terms(), words)))


def _used(terms: Sequence[Term], text: str) -> list[Term]:
    """Return the terms whose name or alias stands in the text as whole words."""
    return [
        term
        for term in terms
        if any(re.search(rf"\b{re.escape(name)}s?\b", text, re.IGNORECASE) for name in (term.name, *term.aliases))
    ]
