"""Summaries, reference photos, terms and ranges of a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from data.records.articles import Source
from data.records.taxa import Taxon


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of characters of `Article.text`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence of a summary and the spans of the article that support it (none for facts without an article)."""

    text: str
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Description of a species' appearance, from its article."""

    statements: tuple[Statement, ...]
    stage: Literal["summary", "refined"] = "refined"
    scope: Literal["description", "article", "facts"] = "description"
    """Source of the text: an article with a section on appearance, one without, or bare facts."""
    distiller: str = ""
    """Name and version of the distiller, with the name of its model."""
    prompt_hash: str | None = None

    @property
    def text(self) -> str:
        """The sentences in one line; offsets of chunks point into it."""
        return " ".join(statement.text for statement in self.statements)

    @property
    def words(self) -> int:
        """The number of words in `text`."""
        return len(self.text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A run of whole sentences of one summary, short enough for every encoder: `start:end` into `Summary.text`."""

    chunk_id: str
    subject_id: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A reference photo of a species, with its credit.

    `anchor_id` is the sha256 of the image; an anchor without an image has another id and no `sha256`.
    """

    anchor_id: str
    subject_id: str
    sha256: str | None = None
    file: str = ""
    page_url: str | None = None
    author: str | None = None
    licence: str | None = None
    licence_url: str | None = None
    caption: str = ""
    media_type: str = "image/jpeg"

    @property
    def is_own(self) -> bool:
        """Whether it is a photo of the user: one without author, licence and file page."""
        return self.sha256 is not None and not (self.author or self.licence or self.page_url)

    @property
    def credit(self) -> str | None:
        """Author, licence and file page in one line, or None for an anchor without an image."""
        if self.sha256 is None:
            return None
        if self.is_own:
            return "your own"
        parts = [self.author or "unknown author", self.licence or "licence unknown"]
        return ", ".join(parts) + (f" ({self.page_url})" if self.page_url else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorImage:
    """An anchor from a source: the bytes of its image, or its vectors if there is none."""

    anchor: Anchor
    content: bytes | None = None
    vectors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Space -> vector, for an anchor that ships as numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A technical term: its meaning and how to recognise it in a photo."""

    term_id: str
    name: str
    definition: str
    look_for: str = ""
    aliases: tuple[str, ...] = ()
    source: Source | None = None
    group: str = ""
    """Groups of organisms that it belongs to, with commas: `fish,amphibians`; empty for any."""

    @property
    def groups(self) -> frozenset[str]:
        """The same as a set."""
        return frozenset(filter(None, self.group.split(",")))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer(Term):
    """A search model's answer to a query, stored among the terms; `name` is the query, `definition` the answer."""

    model: str
    """The model that searched."""
    asked_on: str
    """Date of the answer, such as 2026-11-23."""
    citations: tuple[Source, ...] = ()
    """Cited pages, in the order of the marks [1], [2], ... in the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesEntry:
    """Entry of one species in a knowledge base."""

    taxon: Taxon
    source: Source | None = None
    summary: Summary | None = None
    chunks: tuple[Chunk, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    marks: tuple[str, ...] = ()
    """Caveats: `whole-article`, `no-anchors`, `no-summary`."""


RangeRole = Literal["resident", "breeds", "winters", "passage", "vagrant", "introduced", "occurs", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFact:
    """One place of a species' range, as its text states it."""

    place: str
    """Name in the gazetteer, with a direction where the text has one: `northern India`."""
    role: RangeRole
    """Part that the place plays in the year of the species; `occurs` where the text says no more."""
    months: tuple[int, ...] = ()
    """Months that the text states, 1 to 12; empty for none."""
    sentence: str = ""
    """The sentence that states it."""
