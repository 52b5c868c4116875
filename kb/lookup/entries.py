"""Species and terms of a knowledge base by name, with the evidence of their summaries."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.errors import AmbiguousTaxon, BadInput, UnknownTaxon
from data.records import RangeFact, Source, SpeciesEntry, Taxon, Term
from data.words import nearest, plural
from kb.checklist.names import fold
from kb.checklist.selection import choices, taxa_named
from kb.lookup.lookup_index import index_of
from kb.lookup.species_list import why_missing

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

N_SUGGESTIONS = 5
ADD = "kb add takes your own text or photo of it."


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSpecies:
    """A species of a knowledge base."""

    entry: SpeciesEntry
    quotes: tuple[tuple[str, ...], ...]
    """The evidence of each statement of the summary."""
    sources: tuple[Source | None, ...]
    """The source of each statement: the article, a web page or a text of the user."""
    terms: tuple[Term, ...]
    """The terms in the summary."""
    ranges: tuple[RangeFact, ...] = ()
    """Range statements of its article."""


def find_entry(store: KnowledgeBase, name: str) -> FoundSpecies | Term:
    """Return the species with a scientific name, common name or id, or else the term with that name.

    Names in every language count, and synonyms of the checklist.

    Raises:
        UnknownTaxon: for an unknown name, with the nearest names.
        AmbiguousTaxon: for a name of several taxa of the checklist, none of them an entry.
        BadInput: for a taxon of the checklist that is not an entry; the hint names related species that are. For the
            common name of a group; the hint names species of it.
    """
    wanted = fold(name)
    known: dict[str, str] = {}  # folded name -> as written
    for taxon in store.taxa():
        if wanted in map(fold, (*taxon.all_names, taxon.taxon_id)):
            return _species(store, taxon.taxon_id)
        known |= {fold(text): text for text in (taxon.scientific_name, *taxon.common_names)}
    senses = []
    for term in store.terms():
        if wanted == fold(term.name):
            return term
        if wanted in map(fold, term.aliases):
            senses.append(term)
        known[fold(term.name)] = term.name
    if senses:
        return index_of(store).names.sense_of(senses)
    listed = taxa_named(store.checklist, name)
    held = [taxon for taxon in listed if taxon.taxon_id in store.taxon_ids]
    if len(held) == 1:
        return _species(store, held[0].taxon_id)
    if len(listed) > 1:
        raise AmbiguousTaxon(name, choices=choices(listed), where=store.checklist.name)
    if listed:
        raise _not_included(store, listed[0])
    index = index_of(store)
    for mention in index.names.find(name):
        if mention.kind == "term" and mention.text == name.strip():  # of the glossary
            return index.terms[mention.ids[0]]
        if mention.kind == "group" and mention.text == name.strip():
            members = [entry.taxon.common_name for entry in store.species(mention.ids[:N_SUGGESTIONS])]
            hint = f"Did you mean {', '.join(members)}? For more: kb search {shlex.quote(mention.text)}"
            raise BadInput(f'"{mention.text}" names {plural(len(mention.ids), "species", "species")}.', hint=hint)
    if reason := _left_out(store, name):
        raise BadInput(f'"{name}" was left out of {store.path}: {reason}.', hint=ADD)
    near = [known[text] for text in nearest(wanted, known, N_SUGGESTIONS, at_least=0.7)]
    near += [text for text in store.checklist.suggest(name, N_SUGGESTIONS) if fold(text) not in known]
    raise UnknownTaxon(name, suggestions=near[:N_SUGGESTIONS], where=str(store.path))


def _not_included(store: KnowledgeBase, taxon: Taxon) -> BadInput:
    """Return the error for a taxon of the checklist without an entry of its own."""
    if taxon.rank != "species":
        hint = f"List its species: kb species --taxon {taxon.scientific_name}"
        article = "an" if taxon.rank[:1] in "aeiou" else "a"
        return BadInput(f"{taxon.scientific_name} is {article} {taxon.rank}, expected a species or a term.", hint=hint)
    message, hint = why_missing(store, taxon)
    if reason := _left_out(store, taxon.scientific_name):
        return BadInput(f"{message.removesuffix('.')}; left out: {reason}.", hint=f"{hint} {ADD}")
    return BadInput(message, hint=hint)


def _left_out(store: KnowledgeBase, name: str) -> str:
    """Return the reason that a name is left out of a knowledge base, empty if it is not."""
    wanted = fold(name)
    return next((reason for left, reason, _ in store.ledger.left_out() if fold(left) == wanted), "")


def _species(store: KnowledgeBase, taxon_id: str) -> FoundSpecies:
    (entry,) = store.species([taxon_id])
    article = store.article_text(taxon_id)
    statements = entry.summary.statements if entry.summary else ()
    quotes = tuple(
        tuple(article[span.start : span.end] for span in statement.evidence) if article is not None else ()
        for statement in statements
    )
    text = entry.summary.text if entry.summary else ""
    return FoundSpecies(
        entry=entry,
        quotes=quotes,
        sources=tuple(store.statement_sources(entry)),
        terms=tuple(_used(store.terms(), text)),
        ranges=store.ranges([taxon_id])[0],
    )


def _used(terms: Sequence[Term], text: str) -> list[Term]:
    """Return the terms with name or alias in the text as whole words."""
    return [
        term
        for term in terms
        if any(re.search(rf"\b{re.escape(name)}s?\b", text, re.IGNORECASE) for name in (term.name, *term.aliases))
    ]
