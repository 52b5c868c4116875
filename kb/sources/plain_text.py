"""Text with sections: parsing of plain and Markdown texts and of HTML, cleaning, joining."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from data.records import Section

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_PLAIN_HEADING = re.compile(r"^([A-Z][\w ,&-]{2,50}):$")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_INVISIBLE = dict.fromkeys((0x200B, 0xFEFF, 0x00AD))  # zero-width blank, byte order mark, soft hyphen
_SPACES = re.compile(r"\s+")
_BEFORE_PUNCTUATION = re.compile(r" +([,.;:!?)\]])")
_EMPTY_BRACKETS = re.compile(r"\s?[(\[][\s;,]*[)\]]")
MAX_TITLE = 300
_FOOTNOTE = re.compile(r"\[(?:\d{1,3}|[a-z]|note \d+|citation needed)\]")


@dataclass(slots=True)
class Passage:
    """A heading with the blocks of prose below it, up to the next heading."""

    title: str
    level: int
    blocks: list[str] = field(default_factory=list)


def parse_text(body: str) -> tuple[str, tuple[Section, ...]]:
    """Return the text and sections of a plain or Markdown text; each paragraph becomes a line, as in parsed pages."""
    passages = [Passage("", 1)]
    for block in re.split(r"\n\s*\n", body.replace("\r\n", "\n").replace("\r", "\n")):
        lines: list[str] = []
        for line in block.split("\n"):
            stripped = line.strip()
            heading = _HEADING.match(stripped)
            plain = _PLAIN_HEADING.match(stripped) if not lines else None
            if heading or plain:
                _add_block(passages, lines)
                lines = []
                # The first heading of a file is its title, not a section.
                title, level = (heading[2], max(2, len(heading[1]))) if heading else (plain[1] if plain else "", 2)
                is_title = (
                    heading is not None and len(heading[1]) == 1 and len(passages) == 1 and not passages[0].blocks
                )
                if not is_title:
                    passages.append(Passage(clean(title), level))
            elif stripped:
                lines.append(re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", stripped))
        _add_block(passages, lines)
    return join_passages(passages)


def _add_block(passages: list[Passage], lines: list[str]) -> None:
    text = clean(_MARKDOWN_LINK.sub(r"\1", " ".join(lines)).replace("**", "").replace("__", "").replace("`", ""))
    text = re.sub(r"(?<!\w)[*_]([^*_]+)[*_](?!\w)", r"\1", text)
    if text:
        passages[-1].blocks.append(text)


def join_passages(passages: Iterable[Passage]) -> tuple[str, tuple[Section, ...]]:
    """Return the text of an article, one paragraph per line and an empty line between sections, and its sections."""
    parts: list[str] = []
    sections: list[Section] = []
    position = 0
    for passage in passages:
        prose = "\n".join(passage.blocks)
        if prose and parts:
            parts.append("\n\n")
            position += 2
        sections.append(Section(title=passage.title, level=passage.level, start=position, end=position + len(prose)))
        if prose:
            parts.append(prose)
            position += len(prose)
    return "".join(parts), tuple(sections)


def clean(text: str) -> str:
    """Return a text in one line: NFC, single spaces, without footnote marks and empty brackets."""
    shown = unicodedata.normalize("NFC", text).translate(_INVISIBLE)
    line = _SPACES.sub(" ", _EMPTY_BRACKETS.sub("", _FOOTNOTE.sub("", shown)))
    return _BEFORE_PUNCTUATION.sub(r"\1", line).replace("( ", "(").strip()


def visible(text: str) -> str:
    r"""Return a text without control, direction and other invisible characters; line ends stay."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(sign for sign in lines if sign == "\n" or unicodedata.category(sign)[0] != "C")


def title_of(text: str) -> str:
    """Return a title in one line of at most 300 characters."""
    return " ".join(visible(text.replace("\n", " ")).split())[:MAX_TITLE]


def soup_of(html: str, parser: str = "html.parser") -> BeautifulSoup:
    """Return parsed HTML, by Python's own parser or one that Beautiful Soup knows by name.

    A text without tags gets a line end: else Beautiful Soup warns at length of texts that look like addresses or names
    of files, such as the credit of a photo.
    """
    from bs4 import BeautifulSoup

    return BeautifulSoup(html if "<" in html else f"{html}\n", parser)


_HIDING = re.compile(
    r"(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|content-visibility:hidden|opacity:0*\.?0*(?:%|!|;|$)"
    r"|font(?:-size)?:0[a-z%.]*(?:!|;|/|$)|(?:left|right|top|bottom|text-indent|margin-(?:left|top)):-(?:\d{4,}|999)"
    r"|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%|transform:scale\(0\))"
)
_NO_SIZE = re.compile(r"(?:^|;)(?:max-)?(?:width|height):[01](?:px|em|%)?(?:!|;|$)")
_HIDDEN_CLASSES = (
    ".sortkey, .nodisplay, .geo-nondefault, .geo-multi-punct, .sr-only, .visually-hidden, .visuallyhidden, "
    ".screen-reader-text"
)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_AT_RULE = re.compile(r"@[^{;]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")
_SIMPLE = re.compile(r"[\w\s.#>*-]+")


def remove_hidden(root: Tag) -> None:
    """Remove what a reader does not see: by attributes, styles, usual classes and the page's own simple style rules.

    Panels of tabs stay, since a click shows them. Rules of `@media` and for other states do not count.
    """
    hidden = root.select(_HIDDEN_CLASSES) + root.find_all(hidden=True)
    hidden += (tag for tag in root.find_all(style=True) if _hides(str(tag.get("style"))))
    for style in root.find_all("style"):
        rules = _AT_RULE.sub(" ", re.sub(r"/\*.*?\*/", " ", style.get_text(), flags=re.DOTALL))
        for selectors, declared in _RULE.findall(rules):
            for selector in selectors.split(",") if _hides(declared) else ():
                with suppress(Exception):  # a selector that soupsieve does not know hides nothing
                    hidden += root.select(selector.strip()) if _SIMPLE.fullmatch(selector.strip()) else ()
    for tag in hidden:
        is_shown = tag.decomposed or tag.name in ("html", "body") or "tabpanel" in tag.get_attribute_list("role")
        if not is_shown:  # a page may hide its body until its script has run
            tag.decompose()


def _hides(style: str) -> bool:
    """Return whether declarations of CSS, in any case and spacing, hide their element."""
    plain = re.sub(r"\s+", "", style).lower()
    return _HIDING.search(plain) is not None or ("overflow:hidden" in plain and _NO_SIZE.search(plain) is not None)
