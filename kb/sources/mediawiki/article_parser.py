"""Parsing of a wiki page into an article: text with sections, taxobox and figures.

Reads the HTML of `action=parse` and saved pages, of old and new MediaWikis and of Parsoid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from urllib.parse import parse_qs, unquote

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PageElement, PreformattedString

from data.records import Article, Figure, Source
from kb.addresses import split_address
from kb.sources.mediawiki.taxoboxes import find_taxobox, plain, read_taxobox
from kb.sources.plain_text import Passage, clean, join_passages, soup_of

CONTENT_ROOTS = (
    "#mw-content-text .mw-parser-output",
    ".mw-parser-output",
    "#wikiPreview",
    "#mw-content-text",
    "#bodyContent",
)
# Boxes, tables, notes, captions and editing links.
NOT_TEXT = (
    "table, style, script, noscript, math, audio, video, form, figure, sup.reference, ol.references, link, "
    "meta, .reflist, .references, .refbegin, .mw-references-wrap, .mw-editsection, .editsection, .hatnote, "
    ".dablink, .rellink, .thumb, .gallery, .infobox, .infobox_v3, .taxobox, .navbox, .navbox-styles, .sidebar, "
    ".metadata, .ambox, .mbox-small, .side-box, .sistersitebox, .portalbox, .portal, .portal-bar, .noprint, "
    ".toc, #toc, .mw-empty-elt, .shortdescription, .Template-Fact, .Inline-Template, .mw-cite-backlink, "
    ".printfooter, .catlinks, #catlinks, .previewnote, .mw-jump-link, #jump-to-nav, #siteSub, #contentSub, "
    "#coordinates, .stub, .asbox, .authority-control, .error, .mw-kartographer-container, .ext-phonos, .haudio, "
    ".homonymie, .bandeau-article, .dmbox, #disambigbox, .portable-infobox"
)
BLOCKS = frozenset((
    "p", "li", "dd", "dt", "blockquote", "pre", "div", "section", "ul", "ol", "dl", "center", "article", "main",
    "tr", "td", "th", "figcaption", "hr",
))  # fmt: skip
HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_DISAMBIGUATION_CATEGORY = re.compile(
    r"^(?:all )?(?:article |human name |place name )?(?:disambiguation pages|disambiguations?)$"
    r"|\bdisambiguation pages$|^set index articles on animal|^animal common name disambiguation"
    r"|homonymie|begriffsklärung",
    re.IGNORECASE,
)
_REFERS_TO = re.compile(
    r"\b(?:may|can|could|might) (?:also )?(?:refer|mean|be used)(?: to)?(?: any of)?(?: the following)?\s*:?\s*$", re.I
)
_MARKS = "#disambigbox, #disambig, .dmbox-disambig, .disambig, .dmbox, table.disambigbox"
SMALLEST_ICON_PX = 50  # a narrower picture is an icon
PHOTO_SUFFIXES = frozenset({"jpg", "jpeg", "jpe", "png", "webp", "gif", "tif", "tiff"})
# Classes of boxes around the article, for stubs, portals, warnings and other pages.
FOREIGN_BOXES = frozenset((
    "metadata", "stub", "ambox", "mbox-small", "tmbox", "cmbox", "ombox", "dmbox", "navbox", "navbox-inner",
    "vertical-navbox", "sidebar", "sistersitebox", "side-box", "portal", "portalbox", "portal-bar", "noviewer",
    "topicon", "mw-indicator", "mw-indicators", "authority-control", "hatnote", "dablink", "asbox",
    "mw-ext-score", "ext-phonos", "listen", "haudio", "mw-kartographer-container", "previewnote", "catlinks",
    "bandeau-article", "homonymie",
))  # fmt: skip
_SIGN_SUFFIXES = frozenset({"png", "gif", "svg"})  # formats of maps and icons, rarely of photos
_MAP = re.compile(
    r"(?:^|[\W_])(?:maps?|range[\W_]?maps?|distribution|verbreitung|locator|mapa|karte|cladogram|phylogen\w*)(?:$|[\W_\d])"
    r"|(?:distribution|range)[\W_]?map|[a-z]map\.\w+$|distribution\.\w+$",
    re.IGNORECASE,
)
_SIGN = re.compile(
    r"(?:^|[\W_])(?:range|location|carte|timeline|logo|icon|flag|coat[\W_]of[\W_]arms|padlock|question[\W_]?book\S*|commons|"
    r"wikispecies|wikidata|loudspeaker|gnome|speaker|sound|distrib)(?:$|[\W_])",
    re.IGNORECASE,
)
_STATUS = re.compile(r"^(?:status[\W_]|iucn[\W_])", re.IGNORECASE)
_RANGE_CAPTION = re.compile(
    r"(?:(?:approximate|native|breeding|geographic(?:al)?|global|world|current|known|year-round)\s+)*(?:range|distribution)\b",
    re.I,
)
_THUMB = re.compile(r"/thumb/[0-9a-f]/[0-9a-f]{2}/([^/]+)/[^/]+$")
_ORIGINAL = re.compile(r"/[0-9a-f]/[0-9a-f]{2}/([^/]+)$")
_FILE_TITLE = re.compile(r"^[^:/]+:(.+\.[A-Za-z0-9]{2,5})$")


def parse_article(
    html: str,
    *,
    source: Source,
    categories: Iterable[str] = (),
    properties: Mapping[str, str] | None = None,
) -> Article:
    """Return the article in the HTML of a page.

    Its text has a paragraph per line and an empty line between sections, without headings, notes, tables and captions.
    A section ends at the next heading of any level. The first section is the lead, possibly empty, with level 1 and no
    title.

    Args:
        html: a reply of `action=parse`, or a saved page.
        source: title, address, revision and licence.
        categories: names without namespace; hidden ones too.
        properties: page properties; `disambiguation` marks such a page.
    """
    soup = soup_of(html)
    root = _content_root(soup)
    shown = (clean(link.get_text()) for link in soup.select("#mw-normal-catlinks li a, #mw-hidden-catlinks li a"))
    names = tuple(dict.fromkeys(categories)) or tuple(dict.fromkeys(shown))
    is_marked = root.select_one(_MARKS) is not None
    table = find_taxobox(root)
    infobox = read_taxobox(table) if table is not None else None
    figures = find_figures(root, table)
    for tag in root.select(NOT_TEXT) + root.select('[style*="display:none"], [style*="display: none"]'):
        tag.decompose()
    passages = _passages(root)
    text, sections = join_passages(passages)
    return Article(
        source=source,
        text=text,
        sections=sections,
        figures=figures,
        infobox=infobox,
        categories=names,
        is_disambiguation=infobox is None
        and (
            is_marked
            or "disambiguation" in (properties or {})
            or any(_DISAMBIGUATION_CATEGORY.search(name.replace("_", " ")) for name in names)
            or "__DISAMBIG__" in text
            or bool(passages[0].blocks and _REFERS_TO.search(passages[0].blocks[0]))
        ),
    )


def _content_root(soup: BeautifulSoup) -> Tag:
    for selector in CONTENT_ROOTS:
        found = soup.select(selector)
        if found:
            return max(found, key=lambda tag: len(tag.get_text()))
    return soup.body or soup


def _passages(root: Tag) -> list[Passage]:
    passages = [Passage("", 1)]
    line: list[str] = []

    def flush() -> None:
        block = clean("".join(line))
        line.clear()
        if block:
            passages[-1].blocks.append(block)

    # Not recursive: a page may be nested deeper than Python calls. None marks the end of a block.
    waiting: list[PageElement | None] = list(reversed(root.contents))
    while waiting:
        child = waiting.pop()
        if child is None:
            flush()
        elif isinstance(child, NavigableString):
            if not isinstance(child, PreformattedString):  # comments
                line.append(str(child))
        elif isinstance(child, Tag):
            if child.name in HEADINGS:
                flush()
                title = clean(child.get_text())
                if title and child.name != "h1":
                    passages.append(Passage(title, HEADINGS[child.name]))
            elif child.name == "br":
                line.append(" ")
            else:
                if child.name in BLOCKS:
                    flush()
                    waiting.append(None)
                waiting.extend(reversed(child.contents))
    flush()
    return passages


def find_figures(root: Tag, taxobox: Tag | None) -> tuple[Figure, ...]:
    """Return the figures of an article, each file once: the lead image first, then galleries, then the rest.

    The lead image is the first photo of the taxobox; without a taxobox, the first photo outside galleries. Maps and
    icons are never the lead. Further photos of the taxobox count as gallery.
    """
    lead: list[Figure] = []
    gallery: list[Figure] = []
    body: list[Figure] = []
    for image in root.find_all("img"):
        if _is_icon(image, root):
            continue
        file = file_name(image)
        if file is None or _STATUS.match(file):
            continue
        in_box = taxobox is not None and any(parent is taxobox for parent in image.parents)
        caption = _caption(image, root, taxobox if in_box else None)
        is_subject = is_photo(file) and not is_map_or_icon(file, caption)
        in_gallery = _in_gallery(image, root)
        if not lead and is_subject and (in_box or (taxobox is None and not in_gallery)):
            lead.append(Figure(file=file, caption=caption, role="lead"))
        elif (in_box and is_subject) or in_gallery:
            gallery.append(Figure(file=file, caption=caption, role="gallery"))
        else:
            body.append(Figure(file=file, caption=caption, role="body"))
    first: dict[str, Figure] = {}
    for figure in (*lead, *gallery, *body):
        first.setdefault(figure.file, figure)
    return tuple(first.values())


def is_photo(file: str) -> bool:
    """Return whether a file may be a photo, by its suffix."""
    return file.rpartition(".")[2].lower() in PHOTO_SUFFIXES


def is_map_or_icon(file: str, caption: str = "") -> bool:
    """Return whether a picture is a map or an icon, by its name or caption."""
    if _MAP.search(file) or _STATUS.match(file) or _RANGE_CAPTION.match(caption):
        return True
    return file.rpartition(".")[2].lower() in _SIGN_SUFFIXES and _SIGN.search(file) is not None


def file_name(image: Tag) -> str | None:
    """Return the title of a picture's file page without namespace, by the link to it or the picture's address."""
    links = [str(parent.get("href") or "") for parent in list(image.parents)[:3] if parent.name == "a"]
    for address in (*links[:1], str(image.get("resource") or "")):
        if name := _name_in_link(address):
            return name
    path = unquote(split_address(str(image.get("src") or "")).path)
    match = _THUMB.search(path) or _ORIGINAL.search(path)
    return _as_title(match[1]) if match else None


def _name_in_link(address: str) -> str | None:
    parts = split_address(address)
    query = parse_qs(parts.query).get("title")
    tail = query[0] if query else unquote(parts.path).rsplit("/wiki/", 1)[-1].rsplit("/index.php/", 1)[-1]
    match = _FILE_TITLE.match(tail.removeprefix("./").rpartition("/")[2])
    return _as_title(match[1]) if match else None


def _as_title(name: str) -> str:
    title = unquote(name).replace("_", " ").strip()
    return title[:1].upper() + title[1:]


def _is_icon(image: Tag, root: Tag) -> bool:
    for parent in _between(image, root):
        classes = set(parent.get_attribute_list("class"))
        if classes & FOREIGN_BOXES or "magnify" in classes or parent.name in ("sup", "h2", "h3"):
            return True
    source = str(image.get("src") or "")
    if "/skins" in source or "/resources/" in source or "/extensions/" in source or source.startswith("data:"):
        return True
    widths = (str(image.get(name) or "") for name in ("width", "data-file-width"))
    return any(width.isdecimal() and 0 < int(width) < SMALLEST_ICON_PX for width in widths)


def _in_gallery(image: Tag, root: Tag) -> bool:
    return any(
        set(parent.get_attribute_list("class")) & {"gallery", "gallerybox", "mod-gallery", "multiimageinner", "tmulti"}
        for parent in _between(image, root)
    )


def _caption(image: Tag, root: Tag, taxobox: Tag | None) -> str:
    if taxobox is not None:
        cell = image.find_parent(["td", "th"])
        row = image.find_parent("tr")
        if isinstance(cell, Tag) and (text := plain(cell)):
            return text
        following = row.find_next_sibling("tr") if isinstance(row, Tag) else None
        if isinstance(following, Tag) and following.find("th") is None and following.find("img") is None:
            cells = following.find_all("td")
            return plain(cells[0]) if len(cells) == 1 else ""
        return ""
    for parent in _between(image, root):
        caption = parent.find(class_=["thumbcaption", "gallerytext"]) or parent.find("figcaption")
        if isinstance(caption, Tag):
            return plain(caption)
        if parent.name in ("table", "section", "p", "ul"):
            break
    return ""


def _between(image: Tag, root: Tag) -> Iterator[Tag]:
    return takewhile(lambda parent: parent is not root, image.parents)
