"""Species and terms of a knowledge base by name, its list of species, and species of the checklist that it lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from data.contracts import Checklist
from data.errors import AmbiguousTaxon, BadInput, UnknownTaxon
from data.files import place_of
from data.frames import Columns
from data.records import Source, SpeciesEntry, Taxon, Term
from data.words import capitalised, nearest, plural
from kb.checklist.fitting import FittingNames
from kb.checklist.names import fold
from kb.checklist.selection import choices, select, taxa_named
from kb.lookup.lookup_index import index_of
from kb.shipped import learnt_terms

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase


N_NAMED = 5
MAX_NAME_WORDS = 5  # longer texts are descriptions; the checklist is not opened for them


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSpecies:
    """A species, and what a knowledge base knows of it."""

    scientific_name: str
    """Genus and epithet."""
    common_name: str
    """Common name in the language of the knowledge base; the scientific one where there is none."""
    order: str
    """Scientific name of the order; empty if unknown."""
    family: str
    """Scientific name of the family; empty if unknown."""
    is_included: bool
    """Whether the species is in the knowledge base."""
    description_words: int
    """Words of the description."""
    reference_photos: int
    """Reference photos, including those stored as vectors only."""
    notes: tuple[str, ...]
    """Caveats: `whole-article`, `no-anchors`, `no-summary`."""
    taxon_id: str
    """Id of the species: its scientific name as a slug."""


SPECIES: Final[Columns] = {
    **dict.fromkeys(("scientific_name", "common_name", "order", "family"), "text"), "is_included": "boolean",
    "description_words": "integer", "reference_photos": "integer", "notes": "text", "taxon_id": "text",
}  # fmt: skip
"""Columns of a table of `ListedSpecies`."""


def list_species(store: KnowledgeBase, taxa: Sequence[str] = (), *, with_missing: bool = False) -> list[ListedSpecies]:
    """Return the species below `taxa` (of any rank; all without any) as in the checklist, then those outside it.

    Raises:
        UnknownTaxon: for a taxon that neither the checklist nor the knowledge base has.
    """
    held = {taxon.taxon_id: taxon for taxon in store.taxa()}
    checklist = store.checklist
    tops = () if taxa else checklist.top_taxa()
    listed = [found for name in taxa for found in _below(checklist, name, held.values())]
    if with_missing:
        listed += [taxon for top in tops for taxon in checklist.species_of(top)]
    else:
        listed += [held[key] for top in tops for key in checklist.species_ids(top) if key in held]
    listed += () if taxa else held.values()
    by_id = {taxon.taxon_id: taxon for taxon in listed if with_missing or taxon.taxon_id in held}
    entries = {entry.taxon.taxon_id: entry for entry in store.species([key for key in by_id if key in held])}
    return [
        ListedSpecies(
            scientific_name=entry.taxon.scientific_name,
            common_name=entry.taxon.common_name,
            order=entry.taxon.lineage.get("order", ""),
            family=entry.taxon.lineage.get("family", ""),
            is_included=entry.taxon.taxon_id in held,
            description_words=entry.summary.words if entry.summary is not None else 0,
            reference_photos=len(entry.anchors),
            notes=entry.marks,
            taxon_id=entry.taxon.taxon_id,
        )
        for entry in (entries.get(key, SpeciesEntry(taxon=taxon)) for key, taxon in by_id.items())
    ]


def members_of(store: KnowledgeBase, name: str) -> list[ListedSpecies]:
    """Return the species of a knowledge base below a genus, family or other taxon; empty if it holds none."""
    found = store.checklist.find(name)
    wanted = {fold(name), fold(found.scientific_name if found is not None else name)}
    if not any(wanted & set(map(fold, taxon.lineage.values())) for taxon in store.taxa()):
        return []
    return [each for each in list_species(store, [name]) if each.is_included]


def _below(checklist: Checklist, name: str, held: Collection[Taxon]) -> list[Taxon]:
    """Return the species below a taxon of the checklist, or of the lineages in the knowledge base."""
    own = [taxon for taxon in held if fold(name) in map(fold, (*taxon.all_names, *taxon.lineage.values()))]
    try:
        listed = select(checklist, name)
    except UnknownTaxon:
        if not own:
            raise
        listed = []
    ids = {taxon.taxon_id for taxon in listed}
    return [*listed, *(taxon for taxon in own if taxon.taxon_id not in ids)]


def missing_species(store: KnowledgeBase, name: str) -> Taxon | None:
    """Return the species of the checklist with that name if the knowledge base lacks it, else None."""
    taxon = store.checklist.find(name) if len(name.split()) <= MAX_NAME_WORDS else None
    is_missing = taxon is not None and taxon.rank == "species" and taxon.taxon_id not in store.taxon_ids
    return taxon if is_missing else None


def subspecies_of(store: KnowledgeBase, name: str) -> tuple[Taxon, str] | None:
    """Return the species of a subspecies and a sentence, without full stop, that says so; None for another name."""
    name = " ".join(name.split())
    found = FittingNames(store.checklist).subspecies(name) if len(name.split()) <= MAX_NAME_WORDS else None
    return found and (found[1], f"{capitalised(name)} is a subspecies of {found[1].common_name}")


def relatives(store: KnowledgeBase, taxon: Taxon) -> tuple[str, list[Taxon]]:
    """Return the nearest higher taxon of a species with members in the knowledge base, and these members."""
    for rank in ("genus", "family", "order"):
        name = taxon.lineage.get(rank, "")
        found = [other for other in store.taxa() if name and other.lineage.get(rank) == name]
        if found:
            return name, found
    return "", []


def why_missing(store: KnowledgeBase, taxon: Taxon) -> tuple[str, str]:
    """Return two sentences: that the knowledge base lacks a species, and which related species it holds."""
    above, members = relatives(store, taxon)
    names = ", ".join(member.common_name for member in members[:N_NAMED])
    more = f" and {len(members) - N_NAMED:,} more" if len(members) > N_NAMED else ""
    scientific = f" ({taxon.scientific_name})" if taxon.common_names else ""
    listed = store.checklist.name
    return (
        f"{taxon.common_name}{scientific} is not in {place_of(store.path)}: known by name only ({listed}).",
        f"Of {above} it holds {names}{more}." if members else "It holds no related species.",
    )


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
    """The terms with name or alias in the summary, as whole words."""
    note: str = ""
    """That the name looked for is of a subspecies."""


def find_entry(store: KnowledgeBase, name: str) -> FoundSpecies | Term:
    """Return the species with a scientific name, common name or id, or else the term with that name.

    Names in every language count, synonyms of the checklist, and names of subspecies, which find their species.

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
    for term in (*store.terms(), *learnt_terms(store.path)):
        if wanted == fold(term.name):
            return term
        if wanted in map(fold, term.aliases):
            senses.append(term)
        known[fold(term.name)] = term.name
    if senses:
        return index_of(store).names.sense_of(senses)
    if lumped := subspecies_of(store, name):
        taxon, note = lumped
        if taxon.taxon_id not in store.taxon_ids:
            raise _not_included(store, taxon, f"{note}. ")
        return replace(_species(store, taxon.taxon_id), note=f"{note}.")
    listed = taxa_named(store.checklist, name)
    held = [taxon for taxon in listed if taxon.taxon_id in store.taxon_ids]
    if len(held) == 1:
        return _species(store, held[0].taxon_id)
    if len(listed) > 1:
        where = place_of(store.path) if held else store.checklist.name
        raise AmbiguousTaxon(
            name, choices=choices(held or listed), where=where, more_with=f"kb search {shlex.quote(name)}"
        )
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
        raise BadInput(f'"{name}" was left out of {place_of(store.path)}: {reason}.', hint=ADD)
    near = [known[text] for text in nearest(wanted, known, N_SUGGESTIONS, at_least=0.7)]
    near += [text for text in store.checklist.suggest(name, N_SUGGESTIONS) if fold(text) not in known]
    raise UnknownTaxon(name, suggestions=near[:N_SUGGESTIONS], where=place_of(store.path))


def _not_included(store: KnowledgeBase, taxon: Taxon, note: str = "") -> BadInput:
    """Return the error for a taxon of the checklist without an entry of its own."""
    if taxon.rank != "species":
        hint = f"List its species: kb species --taxon {taxon.scientific_name}"
        article = "an" if taxon.rank[:1] in "aeiou" else "a"
        return BadInput(f"{taxon.scientific_name} is {article} {taxon.rank}, expected a species or a term.", hint=hint)
    message, hint = why_missing(store, taxon)
    message = f"{note}{message}"
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
        terms=tuple(
            term
            for term in store.terms()
            if any(re.search(rf"\b{re.escape(name)}s?\b", text, re.IGNORECASE) for name in (term.name, *term.aliases))
        ),
    )
