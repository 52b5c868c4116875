"""Species of the checklist that a knowledge base lacks, and its nearest species to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from data.records import Taxon

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

RELATIVES: tuple[Literal["genus", "family", "order"], ...] = ("genus", "family", "order")
N_NAMED = 5
MAX_NAME_WORDS = 5
"""Longer texts are descriptions; the checklist is not opened for them."""


def missing_species(store: KnowledgeBase, name: str) -> Taxon | None:
    """Return the species of the checklist with that name if the knowledge base lacks it, else None."""
    taxon = store.checklist.find(name) if len(name.split()) <= MAX_NAME_WORDS else None
    is_missing = taxon is not None and taxon.rank == "species" and taxon.taxon_id not in store.taxon_ids
    return taxon if is_missing else None


def relatives(store: KnowledgeBase, taxon: Taxon) -> tuple[str, list[Taxon]]:
    """Return the nearest higher taxon of a species with members in the knowledge base, and these members."""
    for rank in RELATIVES:
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
        f"{taxon.common_name}{scientific} is not in the knowledge base {store.path}: known by name only ({listed}).",
        f"Of {above} it holds {names}{more}." if members else "It holds no related species.",
    )
