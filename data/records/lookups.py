"""Results of look-ups in a knowledge base."""

from __future__ import annotations

from dataclasses import dataclass

from data.records.articles import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonMatch:
    """A taxon found by a search, best first by `score`."""

    taxon_id: str
    """Id of the taxon."""
    scientific_name: str
    """Scientific name."""
    common_name: str
    """English name."""
    rank: str
    """Rank, such as species."""
    score: float
    """Score of the search; higher is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermNote:
    """A term as a context passage uses it."""

    name: str
    """The term."""
    definition: str
    """Its definition."""
    look_for: str = ""
    """What to look for in a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Context of a query from the knowledge base; `found` is false when there is none."""

    query: str
    """The query."""
    passage: str = ""
    """The explanation; empty if nothing was found."""
    terms: tuple[TermNote, ...] = ()
    """Terms that the passage explains."""
    sources: tuple[Source, ...] = ()
    """Sources of the passage."""
    found: bool = False
    """Whether anything was found."""
    written_by: str | None = None
    """The model that wrote the passage; None if it is made of stored texts."""
