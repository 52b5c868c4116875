"""Documents as Markdown text: HTML by trafilatura, PDF by pypdf, plain and Markdown texts as they are."""

from __future__ import annotations

import io
import logging
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector

from data.codec import load_json
from data.errors import BadInput, MissingDependency
from data.files import sha256_hex
from data.prompts import one_line
from kb.licences import licence_in, short_licence
from kb.sources.plain_text import remove_hidden, soup_of, title_of, visible

MAX_HTML_BYTES = 5_000_000  # trafilatura takes two seconds a megabyte
MAX_CHARACTERS = 1_000_000
MAX_PDF_PAGES = 300
MAX_PDF_S = 60.0
FEWEST_CHARACTERS = 40
"""A page with less text needs JavaScript, a login, or says nothing."""
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*", b"\0\0\0")
_HTML = re.compile(rb"^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|[a-z])", re.I | re.S)
_LOGIN = re.compile(r"\b(?:log|sign)[ -]?in\b|\bsubscribe", re.IGNORECASE)
_SCRIPT = re.compile(r"\bjavascript\b", re.IGNORECASE)
_LANGUAGE = re.compile(r"^[a-z]{2,3}\b")
_LABELLED = re.compile(r"([A-Z][A-Za-z]+(?: [a-z]+){0,2}): (?=[A-Z].{20,}[.!?]$)")
_AS_HEADING = re.compile(r"^[#\s]+")
_HYPHEN_AT_END = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


class NotReadable(Exception):
    """A document without usable text; the message is the reason, for a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The text of a document as Markdown, with what it states about itself."""

    text: str
    title: str = ""
    licence: str | None = None
    language: str = "en"

    @property
    def version(self) -> int:
        """Number that changes with the text; advertisements and menus do not count."""
        return int(sha256_hex(self.text)[:12], 16)


def read_document(content: bytes, *, kind: str = "", charset: str | None = None) -> Document:
    """Return the text of a document.

    The bytes decide, then the stated kind: servers send pictures and PDF as HTML.

    Raises:
        NotReadable: if it is not a text, or has no text to speak of.
        MissingDependency: without the extra `web`, for HTML and PDF.
    """
    if b"%PDF-" in content[:1024]:
        document = _read_pdf(content)
    elif content.startswith(_PICTURES) or (kind and not _is_text(kind)):
        got = "a picture" if content.startswith(_PICTURES) else kind
        raise NotReadable(f"expected HTML, PDF or plain text, got {got}")
    elif "html" in kind or kind == ".htm" or (kind not in (".txt", ".md", "text/plain") and _HTML.match(content)):
        if len(content) > MAX_HTML_BYTES:
            raise NotReadable(f"more than the limit of {MAX_HTML_BYTES:,} bytes of HTML")
        document = _read_html(decoded(content, charset))
    else:
        text = decoded(content, charset)
        if "\0" in text:
            raise NotReadable("expected HTML, PDF or plain text, got binary data")
        document = Document(text=visible(text).strip())
    if len(document.text) < FEWEST_CHARACTERS:
        raise NotReadable("no text")
    if len(document.text) > MAX_CHARACTERS:
        raise NotReadable(f"more than the limit of {MAX_CHARACTERS:,} characters of text")
    return document


def _is_text(kind: str) -> bool:
    return kind.startswith(("text/", ".")) or kind in ("application/xhtml+xml", "application/octet-stream")


def _read_html(html: str) -> Document:
    trafilatura = required("trafilatura")
    soup = soup_of(html, "lxml")
    remove_hidden(soup)
    # Precision: recall keeps cookie banners and menus of short pages.
    extract = partial(
        trafilatura.bare_extraction,
        str(soup),
        favor_precision=True,
        include_comments=False,
        include_images=False,
        with_metadata=True,
    )
    found = extract(include_tables=False)
    text = _text_of(found)
    if len(text) < FEWEST_CHARACTERS and soup.find("table") is not None:
        found = extract(include_tables=True)  # a page of nothing else
        text = _text_of(found)
    asks_password = soup.find("input", type="password") is not None
    if len(text) < FEWEST_CHARACTERS or (asks_password and len(text) < 600 and _LOGIN.search(text)):
        raise NotReadable("no text without a login" if asks_password else _why_empty(soup))
    language = str(soup.html.get("lang") or "") if soup.html else ""
    own_title = soup.title.get_text() if soup.title else ""
    has_title = own_title.strip() or soup.find("h1") or soup.find("meta", attrs={"property": "og:title"})
    return Document(
        text=text,
        # Without a title of its own, trafilatura takes the heading of a section.
        title=title_of(str(getattr(found, "title", None) or own_title)) if has_title else "",
        licence=stated_licence(soup),
        language=match[0] if (match := _LANGUAGE.match(language.lower())) else "en",
    )


def _text_of(found: Any) -> str:  # noqa: ANN401  # a document of trafilatura
    body = getattr(found, "body", None)
    return "" if body is None else as_markdown(_blocks(body))


def _blocks(body: Any) -> Iterator[tuple[int, str]]:  # noqa: ANN401  # an element of lxml
    """Yield level and text of the headings, paragraphs, list items and table rows of an extracted page."""
    for element in body.iter("head", "p", "item", "quote", "code", "row"):
        if next(element.iterancestors("row"), None) is not None:
            continue
        if element.tag == "row" and next(element.iter("lb", "p", "list", "head"), None) is not None:
            yield from _laid_out(element)
        elif element.tag == "row":
            cells = [" ".join(" ".join(cell.itertext()).split()) for cell in element.iter("cell")]
            if row := ": ".join(filter(None, (cells[0] if cells else "", ", ".join(filter(None, cells[1:]))))):
                yield 0, row if row.endswith((".", "!", "?")) else f"{row}."
        elif element.tag == "head":
            level = str(element.get("rend") or "h2").removeprefix("h")
            if level != "1":
                yield int(level) if level.isdecimal() else 2, " ".join(element.itertext())
        elif not any(child.tag in ("p", "item") for child in element.iterdescendants()):
            yield 0, " ".join(element.itertext())


def _laid_out(row: Any) -> Iterator[tuple[int, str]]:  # noqa: ANN401  # an element of lxml
    """Yield the headings and paragraphs of a table row that lays out a page: "Description: It is ..." has both."""
    before = ""
    for line in [*"".join(_with_breaks(row)).split("\n"), "X"]:
        text = " ".join(line.split())
        if before and text[:1].islower():  # a sentence that is broken
            before = f"{before} {text}"
        elif text:
            if match := _LABELLED.match(before):
                yield 2, match[1]
            yield 0, before[match.end() :] if match else before
            before = text


def _with_breaks(element: Any) -> Iterator[str]:  # noqa: ANN401  # an element of lxml
    end = "\n" if element.tag in ("lb", "p", "item", "head", "cell") else ""
    yield end + (element.text or "")
    for child in element:
        yield from _with_breaks(child)
        yield child.tail or ""
    yield end


def _why_empty(soup: BeautifulSoup) -> str:
    scripts = " ".join(tag.get_text(" ") for tag in soup.find_all("noscript"))
    if _SCRIPT.search(scripts) or (soup.find("script", src=True) is not None and len(soup.get_text().strip()) < 200):
        return "no text without JavaScript"
    return "no text"


def _read_pdf(content: bytes) -> Document:
    pypdf = required("pypdf")
    deadline = time.monotonic() + MAX_PDF_S
    try:
        reader = pypdf.PdfReader(io.BytesIO(content), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise NotReadable("the PDF needs a password")
        parts: list[str] = []
        for page in islice(reader.pages, MAX_PDF_PAGES):
            if time.monotonic() > deadline:
                raise NotReadable(f"the PDF takes more than {MAX_PDF_S:g} s to read")
            parts.append(page.extract_text() or "")
        title = str((reader.metadata or {}).get("/Title") or "")
    except NotReadable:
        raise
    except Exception as error:  # pypdf raises many kinds for damaged files
        raise NotReadable(f"the PDF is damaged: {str(error)[:100] or type(error).__name__}") from error
    text = "\n\n".join(_paragraphs("\n".join(parts)))
    if not text:
        raise NotReadable("the PDF has no text; it may be scanned")
    return Document(text=text, title=title_of(title))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a PDF, whose lines are broken: each ends with a short line, as a heading does."""
    lines = [" ".join(line.split()) for line in _HYPHEN_AT_END.sub("", visible(text)).split("\n")]
    lengths = sorted(len(line) for line in lines if line)
    width = lengths[int(0.9 * len(lengths))] if lengths else 0
    paragraph: list[str] = []
    for line in lines:
        if line:
            paragraph.append(line)
        if paragraph and (not line or len(line) < 0.7 * width):
            yield " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield " ".join(paragraph)


def read_file(path: str, content: bytes) -> Document:
    """Return the text of a local file, by its ending.

    Raises:
        BadInput: for other endings than .html, .htm, .txt, .md and .pdf.
        NotReadable: if it has no text to speak of.
    """
    ending = f".{path.rpartition('.')[2].lower()}"
    if ending not in (".html", ".htm", ".txt", ".md", ".pdf"):
        raise BadInput(f"{path}: expected a file that ends with .html, .txt, .md or .pdf.")
    if ending == ".pdf" and b"%PDF-" not in content[:1024]:
        raise NotReadable("expected a PDF, got something else")
    return read_document(content, kind=ending)


def required(module: str) -> Any:  # noqa: ANN401  # a module
    """Return a module of the extra `web`.

    Raises:
        MissingDependency: if it is not installed; the hint is the pip command.
    """
    logging.getLogger(module).setLevel(logging.CRITICAL)  # what is wrong with a document is reported by us
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(module, extra="web") from error


def decoded(content: bytes, stated: str | None = None) -> str:
    """Return the text of a document: by its byte order mark, as UTF-8 if it is that, else as stated.

    Servers often state a wrong charset, but a text that is no UTF-8 hardly ever reads as UTF-8 by chance.
    """
    charset = (stated or "").lower()
    surest = [charset] if charset.startswith(("utf-16", "utf-32", "iso-2022", "hz")) else []
    bare, marked = EncodingDetector.strip_byte_order_mark(content)
    found = [*filter(None, (marked,)), *surest, "utf-8", charset, EncodingDetector.find_declared_encoding(bare, True)]
    for each in filter(None, found):
        with suppress(UnicodeDecodeError, LookupError):
            return bare.decode(each)
    return bare.decode("cp1252", "replace")


def as_markdown(blocks: Iterable[tuple[int, str]]) -> str:
    r"""Return `(level, text)` blocks as Markdown; level 0 is a paragraph, 1 to 6 are headings."""
    lines = []
    for level, text in blocks:
        line = _AS_HEADING.sub("", one_line(text))
        if line:
            lines.append(f"{'#' * max(2, level)} {line}" if level else line)
    return "\n\n".join(lines)


# the licence that a page states for its text

_CC_LINK = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/[^\s/]*(?:/\d\.\d)?", re.IGNORECASE)
_META = frozenset(
    ("dc.rights.license", "dc.rights.licence", "dcterms.license", "dcterms.licence", "license", "licence")
)
_MEDIA = frozenset(("imageobject", "videoobject", "audioobject", "mediaobject", "dataset", "softwareapplication"))
_SPEAKS_OF_TEXT = re.compile(
    r"\b(?:text|content|contents|page|site|website|work|article|material)s?\b.{0,120}\b(?:licen[cs]ed?|available|released)\b"
    r"|\blicen[cs]ed under\b",
    re.IGNORECASE | re.DOTALL,
)
_OF_TEXT = re.compile(r"\b(?:texts?|contents?|pages?|site|website|works?|articles?)\b", re.IGNORECASE)
_OF_MEDIA = re.compile(
    r"\b(?:photo(?:graph)?s?|pictures?|images?|videos?|audio|sounds?|recordings?|maps?|illustrations?|drawings?)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\bCC|Creative ?Commons", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\d\s])|[|•·]|\n\s*\n")
_BLOCKS = ("p", "li", "div", "footer", "small", "section", "td", "body")
_NOT_READ = ("script", "style", "noscript", "nav", "form")
_WITH_PHOTOS = ("figure", "figcaption", "picture", "table")
MAX_LICENCE = 200


def stated_licence(soup: BeautifulSoup) -> str | None:
    """Return the licence of the text of a page, by its short name where known, or None if it states none.

    Statements are links with `rel=license`, the `license` of JSON-LD about the page (not about its pictures), `meta`
    tags, and links to Creative Commons, or their names, beside words about the page's content. If they disagree,
    nothing is stated: one of them may be about a photo.
    """
    found = {licence for name, url in _statements(soup) if (licence := short_licence(name, url))}
    if len(found) != 1:
        return None
    return title_of(found.pop())[:MAX_LICENCE] or None


def _statements(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """Yield name and address of every licence stated for the text."""
    for tag in soup.find_all(("link", "a")):
        address, relations = str(tag.get("href") or ""), [str(each).lower() for each in tag.get_attribute_list("rel")]
        if {"license", "licence"} & {*relations} and tag.find_parent(_WITH_PHOTOS) is None:
            yield title_of(tag.get_text(" ")), address
        if tag.name == "a" and _CC_LINK.search(address):
            tag.append(f" {address} ")  # for the sentence around it
    for string in soup.find_all(string=_NAMED):
        link = string.find_parent("a")
        is_elsewhere = link is not None and not _CC_LINK.search(str(link.get("href")))
        if (
            is_elsewhere
            or string.find_parent((*_WITH_PHOTOS, *_NOT_READ))
            or not (block := string.find_parent(_BLOCKS))
        ):
            continue
        sentences = _SENTENCE.split(str(string) if block.name == "body" else block.get_text(" ")[:2_000])
        linked = [sentence for sentence in sentences if _CC_LINK.search(sentence)]  # the link says more
        for sentence in filter(_is_of_text, linked or sentences):
            for each in _CC_LINK.findall(sentence) or [sentence]:
                yield licence_in(each) or "", ""
    for meta in soup.find_all("meta"):
        if str(meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower() in _META:
            yield _named(str(meta.get("content") or ""))
    for script in soup.find_all("script", type="application/ld+json"):
        with suppress(ValueError):
            yield from _json_ld(load_json(script.get_text()))


def _is_of_text(statement: str) -> bool:
    """Return whether a statement on a licence speaks of the text of the page, and not of a photo alone."""
    if _OF_MEDIA.search(statement) and not _OF_TEXT.search(statement):
        return False
    return _SPEAKS_OF_TEXT.search(statement) is not None


def _json_ld(content: object) -> Iterator[tuple[str, str]]:
    """Yield the licences of the objects at the top of JSON-LD, or in its `@graph`, but not of its pictures."""
    for each in _listed(content):
        if isinstance(each, dict):
            yield from _json_ld(each.get("@graph"))
            if not {str(kind).lower() for kind in _listed(each.get("@type"))} & _MEDIA:
                for licence in _listed(each.get("license")):
                    values = map(licence.get, ("@id", "url", "name")) if isinstance(licence, dict) else (licence,)
                    yield from (_named(value) for value in islice(filter(None, values), 1) if isinstance(value, str))


def _named(stated: str) -> tuple[str, str]:
    """Return name and address of a licence that is stated by one of them."""
    return ("", stated.strip()) if "://" in stated else (stated.strip(), "")


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]
