"""Plain text of documents: decoding, cleaning, and Markdown headings that `parse_text` reads."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable

_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})""")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_AS_HEADING = re.compile(r"^[#\s]+")
MAX_TITLE = 300


def decoded(content: bytes, stated: str | None = None) -> str:
    """Return the text of a document: by its byte order mark, as UTF-8 if it is that, else as stated.

    Servers often state a wrong charset, but a text that is no UTF-8 hardly ever reads as UTF-8 by chance.

    Args:
        content: the bytes.
        stated: charset of the Content-Type; without it, that of a `meta` tag.

    Example:
        >>> decoded("café".encode(), "iso-8859-1"), decoded("café".encode("latin-1"), "iso-8859-1")
        ('café', 'café')
    """
    for mark, named in _MARKS:
        if content.startswith(mark):
            return content.decode(named, "replace")
    charset = _known(stated) or _declared(content[:4096])
    wide = charset is not None and charset.startswith(("utf-16", "utf-32", "iso2022", "hz"))
    for each in (charset, "utf-8") if wide else ("utf-8", charset):
        if each is not None:
            try:
                return content.decode(each)
            except UnicodeDecodeError:
                continue
    return content.decode("cp1252" if charset in (None, "utf-8", "iso8859-1", "ascii") else str(charset), "replace")


def _known(charset: str | None) -> str | None:
    try:
        return codecs.lookup(charset.strip().strip("\"'")).name if charset else None
    except (LookupError, ValueError):
        return None


def _declared(head: bytes) -> str | None:
    found = _XML_ENCODING.search(head) or _META_CHARSET.search(head)
    charset = _known(found[1].decode("ascii")) if found else None
    # A meta tag that can be read as ASCII is not in UTF-16.
    return None if charset is None or charset.startswith(("utf-16", "utf-32")) else charset


def visible(text: str) -> str:
    r"""Return a text without control, direction and other invisible characters; line ends stay.

    Example:
        >>> visible("a\x1b[31m red\u202e bill\r\nb")
        'a[31m red bill\nb'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(sign for sign in lines if sign == "\n" or unicodedata.category(sign)[0] != "C")


def title_of(text: str) -> str:
    """Return a title in one line of at most 300 characters."""
    return " ".join(visible(text.replace("\n", " ")).split())[:MAX_TITLE]


def as_markdown(blocks: Iterable[tuple[int, str]]) -> str:
    r"""Return `(level, text)` blocks as Markdown; level 0 is a paragraph, 1 to 6 are headings.

    Example:
        >>> as_markdown([(2, "Description"), (0, "# It is red.")])
        '## Description\n\nIt is red.'
    """
    lines = []
    for level, text in blocks:
        line = _AS_HEADING.sub("", " ".join(visible(text.replace("\n", " ")).split()))
        if line:
            lines.append(f"{'#' * max(2, level)} {line}" if level else line)
    return "\n\n".join(lines)
