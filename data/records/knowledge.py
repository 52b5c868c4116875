"""Taxa, articles, and the summaries, reference photos, terms and ranges of a knowledge base."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from data.files import sha256_hex

SubjectKind = Literal["taxon", "term", "page"]
"""Kind of a row of the ledger; a page of the web belongs to a species or term."""
Rank = Literal["class", "order", "family", "genus", "species"]
HIGHER_RANKS: Final = ("class", "order", "family", "genus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxon:
    """A taxon as a checklist has it. `taxon_id` is the scientific name as a slug: `cardinalis-cardinalis`."""

    taxon_id: str
    scientific_name: str
    rank: str
    common_names: tuple[str, ...] = ()
    """The preferred name first; English ones, or ones in the language of the knowledge base."""
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> scientific name, from the class down to the taxon's parent."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Checklist -> identifier, both strings: `avibase`, `ebird`, `gbif`, `col`, `inat`, `wikidata`."""
    synonyms: tuple[str, ...] = ()
    """Other scientific names of the same taxon."""
    names_by_language: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Language code -> common names in it, where the checklist or the wiki states the language."""

    @property
    def common_name(self) -> str:
        """The preferred common name, else the scientific name."""
        return self.common_names[0] if self.common_names else self.scientific_name

    @property
    def names(self) -> tuple[str, ...]:
        """Scientific name, common names, synonyms."""
        return (self.scientific_name, *self.common_names, *self.synonyms)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names in every language, each once."""
        foreign = (name for names in self.names_by_language.values() for name in names)
        return tuple(dict.fromkeys((*self.names, *foreign)))

    def in_language(self, language: str) -> Taxon:
        """Return the taxon with its names in a language first; without such names, unchanged."""
        own = self.names_by_language.get(language, ())
        if self.common_names[: len(own)] == own:
            return self
        return replace(self, common_names=tuple(dict.fromkeys((*own, *self.common_names))))

    def with_names(self, names: Mapping[str, Iterable[str]]) -> Taxon:
        """Return the taxon with further common names by language; the names that it has come first."""
        languages = dict.fromkeys((*self.names_by_language, *names))
        joined = {
            each: tuple(dict.fromkeys((*self.names_by_language.get(each, ()), *names.get(each, ()))))
            for each in languages
        }
        return replace(self, names_by_language=joined) if joined != self.names_by_language else self


def vocabulary_hash(taxon_ids: Iterable[str]) -> str:
    """Return a hash of a set of species, independent of the order."""
    return sha256_hex("\n".join(sorted(taxon_ids)))


def taxon_id(scientific_name: str) -> str:
    """Return the id of the taxon, its scientific name as a slug."""
    name = scientific_name.lower()
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "-".join(re.findall(r"[^\W_]+", name))


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
    properties: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Language code -> title of the same article, in a wiki of another language than English and in those asked for."""


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
