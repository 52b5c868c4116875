"""Parsing of a wiki page into an article: text with sections, taxobox and figures.

Reads the HTML of `action=parse` and saved pages, of old and new MediaWikis and of Parsoid.
"""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag

from data.records import Article, Source
from kb.sources.mediawiki.figures import FOREIGN_BOXES, HEADINGS, find_figures
from kb.sources.mediawiki.taxoboxes import find_taxobox, read_taxobox
from kb.sources.plain_text import Passage, clean, join_passages, remove_hidden, soup_of

CONTENT_ROOTS = (
    "#mw-content-text .mw-parser-output",
    ".mw-parser-output",
    "#wikiPreview",
    "#mw-content-text",
    "#bodyContent",
)
# Boxes, notes, captions and editing links.
BESIDE_TEXT = (
    "noscript, math, audio, video, form, figure, ol.references, link, meta, .reflist, .references, "
    ".refbegin, .mw-references-wrap, .editsection, .rellink, .thumb, .gallery, .infobox, .infobox_v3, .taxobox, "
    ".navbox-styles, .noprint, .toc, #toc, .mw-empty-elt, .shortdescription, .Template-Fact, .Inline-Template, "
    ".mw-cite-backlink, .printfooter, #catlinks, "
    ".mw-jump-link, #jump-to-nav, #siteSub, #contentSub, #coordinates, .error, #disambigbox, .portable-infobox, "
) + ", ".join(f".{name}" for name in sorted(FOREIGN_BOXES))
NOT_TEXT = f"table, {BESIDE_TEXT}"
BLOCKS = frozenset((
    "p", "li", "dd", "dt", "blockquote", "pre", "div", "section", "ul", "ol", "dl", "center", "article", "main",
    "tr", "td", "th", "figcaption", "hr",
))  # fmt: skip
_BREAK, _HEADING = "\x1e", "\x1d"  # between blocks, and before the level of a heading
_REFERS_TO = re.compile(
    r"\b(?:may|can|could|might) (?:also )?(?:refer|mean|be used)(?: to)?(?: any of)?(?: the following)?\s*:?\s*$", re.I
)
_MARKS = "#disambigbox, #disambig, .dmbox-disambig, .disambig, .dmbox, table.disambigbox"


def parse_article(html: str, *, source: Source) -> Article:
    """Return the article in the HTML of a page.

    Its text has a paragraph per line and an empty line between sections, without headings, notes, tables and captions.
    A section ends at the next heading of any level. The first section is the lead, possibly empty, with level 1 and no
    title.

    Args:
        html: a reply of `action=parse`, or a saved page.
        source: title, address, revision and licence.
    """
    soup = soup_of(html)
    remove_hidden(soup)
    root = _content_root(soup)
    for tag in root.select("style, script, sup.reference, sup.Inline-Template, .mw-editsection"):
        tag.decompose()
    for tag in root.find_all(("br", "div", "p", "li", "tr")):
        tag.insert(0, " ")  # else words of table cells and captions run together
    is_marked = root.select_one(_MARKS) is not None
    table = find_taxobox(root)
    infobox = read_taxobox(table) if table is not None else None
    figures = find_figures(root, table)
    for tag in root.select(NOT_TEXT):
        tag.decompose()
    passages = _passages(root)
    text, sections = join_passages(passages)
    return Article(
        source=source,
        text=text,
        sections=sections,
        figures=figures,
        infobox=infobox,
        is_disambiguation=infobox is None
        and (
            is_marked or "__DISAMBIG__" in text or bool(passages[0].blocks and _REFERS_TO.search(passages[0].blocks[0]))
        ),
    )


def _content_root(soup: BeautifulSoup) -> Tag:
    for selector in CONTENT_ROOTS:
        found = soup.select(selector)
        if found:
            return max(found, key=lambda tag: len(tag.get_text()))
    return soup.body or soup


def _passages(root: Tag) -> list[Passage]:
    for tag in root.find_all([*HEADINGS, *BLOCKS]):  # into each, since places beside it are searched from the first
        if tag.name in HEADINGS:
            title = clean(tag.get_text())
            tag.string = f"{_BREAK}{_HEADING}{tag.name[1]}{title}{_BREAK}" if title and tag.name != "h1" else _BREAK
        else:
            tag.insert(0, _BREAK)
            tag.append(_BREAK)
    passages = [Passage("", 1)]
    for block in root.get_text().split(_BREAK):
        if block[:1] == _HEADING and block[1:2].isdecimal():
            passages.append(Passage(block[2:], int(block[1])))
        elif text := clean(block):
            passages[-1].blocks.append(text)
    return passages
