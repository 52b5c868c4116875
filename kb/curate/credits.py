"""Attribution of the articles and photos of a knowledge base.

Articles and photos keep the licence of their source; what is not free, or has no known licence, is marked as not to be
published. Texts without address and licence, and photos without author, licence and file page, are the user's own. A
summary of a share-alike text (CC BY-SA, GFDL) is marked as an adaptation under the same licence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Final, Literal

from data.frames import Columns, frame_of
from data.prompts import one_line
from data.records import Anchor, Source, SpeciesEntry, Term
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.licences import Freedom, licence_freedom
from kb.store.stage_outputs import FetchOutput, additions, held_pages

if TYPE_CHECKING:
    import pandas as pd

    from kb.store.knowledge_base import KnowledgeBase
    from kb.store.ledger import Ledger

CreditFreedom = Freedom | Literal["own"]
"""Freedom of a licence, or `own` for the user's own content without one, which is the user's to publish."""
TextKind = Literal["article", "starter", "own"]
# The shipped texts have the licence of the program, which no wiki uses for prose.
STARTER_LICENCE = "Apache-2.0"
_Use = tuple[Source, str, str | None]  # text, its species or term, and the distiller of the summary
_SHARE_ALIKE = re.compile(r"\bBY[ -]SA\b|share[ -]?alike|\bGFDL\b|free documentation", re.IGNORECASE)
_CC = re.compile(r"^CC (BY(?:-(?:NC|SA|ND))*) (\d\.\d)(?: ([a-z]{2}))?$", re.IGNORECASE)
_CC_ZERO = re.compile(r"^CC ?0(?: 1\.0)?$", re.IGNORECASE)


COLUMNS: Final[Columns] = {
    **dict.fromkeys(("kind", "title", "url"), "text"), "revision": "integer",
    **dict.fromkeys(("author", "licence", "licence_url", "freedom"), "text"),
    "publishable": "boolean", "adapted": "boolean", "species": "text", "sha256": "text", "accessed": "date",
}  # fmt: skip


class _Credit:
    __slots__ = ()
    freedom: CreditFreedom

    @property
    def is_publishable(self) -> bool:
        """Whether the licence permits publication, or the content is the user's own."""
        return self.freedom in ("free", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCredit(_Credit):
    """A source text of summaries or definitions."""

    kind: TextKind
    """From a wiki, shipped with Fieldmark, or added by the user."""
    title: str
    url: str | None
    revision: int | None
    licence: str | None
    licence_url: str | None
    freedom: CreditFreedom
    species: tuple[str, ...]
    """Species and terms based on it."""
    made_by: tuple[str, ...]
    """Distillers of its summaries; empty without summaries."""
    is_adapted: bool
    """Its summaries are adaptations that stay under its licence."""
    accessed: str | None = None
    """Date on which a web page was read; articles have revisions instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoCredit(_Credit):
    """Attribution of a reference photo."""

    file: str
    sha256: str
    page_url: str | None
    author: str | None
    licence: str | None
    licence_url: str | None
    freedom: CreditFreedom
    species: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """All credits of a knowledge base, sorted by title and file, each once."""

    kb: str
    texts: tuple[TextCredit, ...] = ()
    photos: tuple[PhotoCredit, ...] = ()
    n_anchors_without_picture: int = 0
    """Number of anchors stored as vectors only, without their photos."""
    skipped_photos: Mapping[str, int] = field(default_factory=dict)
    """Photos skipped, by reason."""
    checklist: str = ""
    """Name and title of the checklist that is kept here; empty for AviList and a wiki."""
    checklist_licence: str = ""
    """Licence that the checklist states; empty if it states none."""

    @property
    def unpublishable(self) -> tuple[TextCredit | PhotoCredit, ...]:
        """Texts and photos that must not be published: not free, or licence unknown."""
        texts = (text for text in self.texts if not text.is_publishable)
        return (*texts, *(photo for photo in self.photos if not photo.is_publishable))

    def to_frame(self) -> pd.DataFrame:
        """Return a row with the `COLUMNS` for each text and photo; a photo has its file as title, and its file page."""
        texts = [{**asdict(text), "adapted": text.is_adapted} for text in self.texts]
        photos = [
            {**asdict(photo), "kind": "photo", "title": photo.file, "url": photo.page_url, "adapted": False}
            for photo in self.photos
        ]
        publishable = [credit.is_publishable for credit in (*self.texts, *self.photos)]
        return frame_of(texts + photos, COLUMNS).assign(publishable=publishable)


def collect_credits(store: KnowledgeBase) -> Credits:
    """Return the attribution of all texts and photos of a knowledge base, including additions."""
    entries = store.species(store.taxon_ids)
    terms = store.terms()
    names = {entry.taxon.taxon_id: entry.taxon.common_name for entry in entries}
    names |= {term.term_id: term.name for term in terms}
    added = [
        (text.source, names.get(key, key), text.summary.distiller if text.summary else None)
        for key, addition in additions(store.ledger).items()
        for text in addition.texts
    ]
    added += [
        (page.source, names.get(owner, owner), page.summary.distiller if page.summary else "definition")
        for owner, pages in held_pages(store.ledger).items()
        for page in pages.values()
        if page.source is not None and (page.summary is not None or page.term is not None)
    ]
    found = credits_of(store.path.name, entries, terms, added)
    accessed = _access_dates(store.ledger)
    texts = tuple(replace(text, accessed=accessed.get(text.url or "")) for text in found.texts)
    found = replace(found, texts=texts, skipped_photos=store.status().skipped_photos)
    if not store.layout.checklist.is_file() or not isinstance(store.checklist, StoredChecklist):
        return found
    listed = store.checklist
    title = listed.meta.get("title", "")
    return replace(
        found,
        checklist=f"{listed.name} ({title})" if title else listed.name,
        checklist_licence=listed.meta.get("licence", ""),
    )


def _access_dates(ledger: Ledger) -> dict[str, str]:
    pages = ledger.subjects("page")
    fetched = ledger.outputs("fetch", FetchOutput, "done") if pages else {}
    return {
        output.source.url: output.retrieved_at[:10]
        for key, output in fetched.items()
        if key in pages and output.source.url and "://" in output.source.url
    }


def credits_of(
    name: str, entries: Sequence[SpeciesEntry], terms: Sequence[Term] = (), added: Sequence[_Use] = ()
) -> Credits:
    """Return the credits of these species, terms and added texts under the name of a knowledge base."""
    n_bare = sum(anchor.sha256 is None for entry in entries for anchor in entry.anchors)
    texts, photos = tuple(_texts(entries, terms, added)), tuple(_photos(entries))
    return Credits(kb=name, texts=texts, photos=photos, n_anchors_without_picture=n_bare)


def _texts(entries: Sequence[SpeciesEntry], terms: Sequence[Term], added: Sequence[_Use]) -> list[TextCredit]:
    users: dict[Source, list[tuple[str, str | None]]] = {}
    of_species = ((e.source, e.taxon.common_name, e.summary.distiller if e.summary else None) for e in entries)
    for source, name, made_by in (*added, *of_species, *((term.source, term.name, "definition") for term in terms)):
        if source is not None:
            users.setdefault(source, []).append((name, made_by))
    by_hand = {source for source, _, _ in added}
    found = [_text(source, uses, is_added=source in by_hand) for source, uses in users.items()]
    return sorted(found, key=lambda text: (text.title.casefold(), text.title, text.url or "", text.revision or 0))


def _text(source: Source, uses: Sequence[tuple[str, str | None]], *, is_added: bool) -> TextCredit:
    made_by = _each_once(name for _, name in uses if name)
    # The user's own additions may have the same licence without being Fieldmark's.
    is_starter = source.licence == STARTER_LICENCE and not is_added
    kind: TextKind = "article" if source.url else "starter" if is_starter else "own"
    freedom: CreditFreedom = "own" if kind == "own" else "unknown"
    if source.licence is not None:
        freedom = "free" if source.licence == STARTER_LICENCE else licence_freedom(source.licence)
    return TextCredit(
        kind=kind,
        title=source.title,
        url=source.url,
        revision=source.revision,
        licence=source.licence,
        licence_url=licence_address(source.licence),
        freedom=freedom,
        species=_each_once(name for name, _ in uses),
        made_by=made_by,
        is_adapted=bool(made_by) and _SHARE_ALIKE.search(source.licence or "") is not None,
    )


def _photos(entries: Sequence[SpeciesEntry]) -> list[PhotoCredit]:
    """Return a credit per photo and file page, since a photo may have been uploaded twice."""
    found: dict[tuple[str, str | None], tuple[Anchor, list[str]]] = {}
    for entry in entries:
        for anchor in entry.anchors:
            if anchor.sha256 is not None:
                found.setdefault((anchor.sha256, anchor.page_url), (anchor, []))[1].append(entry.taxon.common_name)
    photos = [_photo(anchor, names) for anchor, names in found.values()]
    return sorted(photos, key=lambda photo: (photo.file.casefold(), photo.file, photo.sha256))


def _photo(anchor: Anchor, names: Sequence[str]) -> PhotoCredit:
    return PhotoCredit(
        file=anchor.file,
        sha256=anchor.sha256 or "",
        page_url=anchor.page_url,
        author=anchor.author,
        licence=anchor.licence,
        licence_url=anchor.licence_url or licence_address(anchor.licence),
        freedom="own" if anchor.is_own else licence_freedom(anchor.licence or "", anchor.licence_url or ""),
        species=_each_once(names),
    )


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=lambda name: (name.casefold(), name)))


def licence_address(name: str | None) -> str | None:
    """Return the address of a Creative Commons or our own licence by its short name, or None."""
    if name == STARTER_LICENCE:
        return "https://www.apache.org/licenses/LICENSE-2.0"
    if name and _CC_ZERO.match(name):
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if name and (found := _CC.match(name)):
        country = f"{found[3].lower()}/" if found[3] else ""
        return f"https://creativecommons.org/licenses/{found[1].lower()}/{found[2]}/{country}"
    return None


UNKNOWN_LICENCE = "licence unknown"
OWN = "your own"
UNKNOWN_AUTHOR = "unknown author"
ADAPTATION = "Its summaries are adaptations, shortened and changed, under the same licence."
OWN_TEXTS = "Written for Fieldmark, part of the program and under its licence."


Credit = TextCredit | PhotoCredit


def as_text(credits: Credits) -> str:
    """Return the credits as plain text, one line per text and photo."""
    # In one line each: otherwise an author's name from a wiki could add lines, or control a terminal.
    return "\n\n".join("\n".join(map(one_line, part)) for part in _parts(credits) if part)


def _parts(credits: Credits) -> list[list[str]]:
    starter = [text for text in credits.texts if text.kind == "starter"]

    def listed(title: str, found: Sequence[Credit]) -> list[str]:
        return [title, *map(_line, found)] if found else []

    return [
        [f"Credits of {credits.kb}"],
        listed("Articles", [text for text in credits.texts if text.kind == "article"]),
        listed("Your own texts", [text for text in credits.texts if text.kind == "own"]),
        [f"Fieldmark's own texts: {_counted(starter)}.", OWN_TEXTS] if starter else [],
        listed("Pictures", credits.photos),
        _remarks(credits),
    ]


def _counted(texts: Sequence[TextCredit]) -> str:
    names = {name for text in texts for name in text.species}
    licences = ", ".join(sorted({text.licence for text in texts if text.licence}))
    return f"{len(names):,} species and terms, {licences}"


def _line(credit: Credit) -> str:
    licence = _licence(credit) + (f" ({credit.licence_url})" if credit.licence_url else "")
    if isinstance(credit, PhotoCredit):
        author = () if credit.freedom == "own" else (credit.author or UNKNOWN_AUTHOR,)
        parts = [f"{credit.file}: {', '.join([*author, licence])}", credit.page_url]
    else:
        revision = f"revision {credit.revision}" if credit.revision is not None else ""
        accessed = f"accessed {credit.accessed}" if credit.accessed else ""
        parts = [f'"{credit.title}"', revision, credit.url, accessed, licence]
    line = ", ".join(filter(None, parts)) + ("." if credit.is_publishable else ". NOT TO BE PUBLISHED.")
    return line + (f" {ADAPTATION}" if isinstance(credit, TextCredit) and credit.is_adapted else "")


def _licence(credit: Credit) -> str:
    return credit.licence or (OWN if credit.freedom == "own" else UNKNOWN_LICENCE)


def _remarks(credits: Credits) -> list[str]:
    """Return notes on content that must not be published, vectors without photos, and skipped photos."""
    lines = []
    if credits.checklist:
        lines.append(f"Names from the checklist {credits.checklist}, {credits.checklist_licence or UNKNOWN_LICENCE}.")
    if n := len(credits.unpublishable):
        lines.append(f"Must not be published (licence not free or unknown): {n:,}.")
    if n := credits.n_anchors_without_picture:
        lines.append(f"Reference photos stored as vectors only, without the photos: {n:,}.")
    if credits.skipped_photos:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in credits.skipped_photos.items())
        lines.append(f"Photos skipped: {reasons}.")
    return lines


def as_html(credits: Credits) -> str:
    """Return the credits as a self-contained HTML page without scripts."""
    texts = [text for text in credits.texts if text.kind in ("article", "own")]
    starter = [text for text in credits.texts if text.kind == "starter"]
    body = [f"<p>{escape(line)}</p>" for line in _remarks(credits)]
    if texts:
        body.append(_table("Texts", ("Article", "Revision", "Species", "Licence"), texts))
    if any(text.is_adapted for text in texts):
        body.append(f"<p>Texts marked <em>adapted</em>: {escape(ADAPTATION)}</p>")
    if starter:
        body.append(f"<h2>Fieldmark's own texts</h2>\n<p>{escape(_counted(starter))}. {escape(OWN_TEXTS)}</p>")
    if credits.photos:
        body.append(_table("Pictures", ("File", "Author", "Species", "Licence"), credits.photos))
    page = Template(files("kb.curate").joinpath("credits.html").read_text(encoding="utf-8"))
    return page.substitute(title=escape(f"Credits of {credits.kb}"), body="\n".join(body))


def _table(title: str, headings: Sequence[str], credits: Sequence[Credit]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<h2>{title}</h2>\n<table>\n<tr>{head}</tr>\n" + "\n".join(map(_html_row, credits)) + "\n</table>"


def _html_row(credit: Credit) -> str:
    adapted = ""
    if isinstance(credit, PhotoCredit):
        author = credit.author or (OWN if credit.freedom == "own" else UNKNOWN_AUTHOR)
        title, origin = _link(credit.file, credit.page_url), escape(author)
    else:
        title, origin = _link(credit.title, credit.url), f"accessed {credit.accessed}" if credit.accessed else ""
        origin = origin if credit.revision is None else str(credit.revision)
        adapted = ", <em>adapted</em>" if credit.is_adapted else ""
    licence = _link(_licence(credit), credit.licence_url) + adapted
    mark = "" if credit.is_publishable else ' class="unfree"'
    cells = (title, origin, escape(", ".join(credit.species)), licence)
    return f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _link(text: str, url: str | None) -> str:
    # A wiki's metadata may hold any address; only these are safe to link.
    if url and url.startswith(("https://", "http://")):
        return f'<a href="{escape(url)}">{escape(text)}</a>'
    return escape(text)
