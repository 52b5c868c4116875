"""Articles, their parts and their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of an article: `start:end` are offsets into `Article.text`; the lead has level 1 and no title."""

    title: str
    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """An image in an article. `file` is the title of its file page without namespace (`Owl.jpg`)."""

    file: str
    caption: str = ""
    role: Literal["lead", "gallery", "body"] = "body"
    section: str = ""
    """Headings above it, from the chapter down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Infobox:
    """A taxobox: its heading, the binomial and the classification of the taxon, and all rows."""

    name: str = ""
    binomial: str | None = None
    classification: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Source of a text, for its credit and revision."""

    title: str
    """Title of the page."""
    url: str | None = None
    """Address of the page."""
    revision: int | None = None
    """Revision of the page."""
    licence: str | None = None
    """Licence stated by the wiki."""
    language: str = "en"
    """Language of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A parsed page. `text` is its normalised plain text; spans of evidence are offsets into it."""

    source: Source
    text: str
    sections: tuple[Section, ...] = ()
    figures: tuple[Figure, ...] = ()
    infobox: Infobox | None = None
    categories: tuple[str, ...] = ()
    is_disambiguation: bool = False

    def section_text(self, section: Section) -> str:
        """Return the plain text of a section, without its heading."""
        return self.text[section.start : section.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRef:
    """The page of a subject. `revision` is the newest one known when it was looked up."""

    subject_id: str
    title: str
    revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page body as fetched; `articles/` stores it by the hash of `body`."""

    page: PageRef
    body: str
    media_type: Literal["text/html", "text/plain", "application/json"]
    source: Source
    categories: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Language code -> title of the same article, in a wiki of another language than English and in those asked for."""
