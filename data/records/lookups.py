"""Results of look-ups in a knowledge base."""

from __future__ import annotations

from dataclasses import dataclass

from data.records.articles import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonMatch:
    """A taxon found by a search, best first by `score`."""

    taxon_id: str
    scientific_name: str
    common_name: str
    rank: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TermNote:
    """A term as a context passage uses it."""

    name: str
    definition: str
    look_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Context of a query from the knowledge base; `found` is false when there is none."""

    query: str
    passage: str = ""
    terms: tuple[TermNote, ...] = ()
    sources: tuple[Source, ...] = ()
    found: bool = False
    written_by: str | None = None
    """The model that wrote the passage; None if it is made of stored texts."""
