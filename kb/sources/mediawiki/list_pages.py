"""Article links in the lists and tables of a list page."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote

from bs4 import Tag

from kb.http import split_address
from kb.sources.mediawiki.wiki_pages import SiteInfo, clean_title
from kb.sources.parsers import soup_of

# Links under these headings are not part of the list.
_OTHER_SECTIONS = frozenset(
    {"see also", "references", "external links", "notes", "further reading", "sources", "bibliography", "footnotes"}
)
_OUTSIDE = (
    ".navbox, .infobox, .sidebar, .hatnote, .dablink, .metadata, .reflist, .references, .mw-references-wrap, #toc, "
    ".toc, .mw-editsection, .gallerytext, .thumb, figure, sup, .catlinks, .portal, .noprint, .ambox, style, script"
)
_NAMESPACE = re.compile(
    r"^(?:File|Image|Category|Template|Help|Special|Wikipedia|Project|Portal|Talk|User|MediaWiki|Module|Draft|Book|TimedText|Media"
    r"|[A-Za-z ]+ talk):",
    re.IGNORECASE,
)


def links_in_list(html: str, site: SiteInfo) -> list[str]:
    """Return the article titles linked in the lists and tables of a page, each once, in order.

    Red links are included. A page without lists and tables gives the links of its text.
    """
    soup = soup_of(html)
    root = soup.select_one(".mw-parser-output") or soup
    for tag in root.select(_OUTSIDE):
        tag.decompose()
    listed = [link for link in root.find_all("a") if link.find_parent(["li", "td", "th", "dd"])]
    titles: dict[str, None] = {}
    for link in listed or root.find_all("a"):
        title = title_of_link(link, site)
        if title and not _is_in_other_section(link):
            titles.setdefault(title)
    return list(titles)


def title_of_link(link: Tag, site: SiteInfo) -> str | None:
    """Return the title of the linked article; None for another namespace, another site, or a part of this page."""
    classes = set(link.get_attribute_list("class"))
    address = str(link.get("href") or "")
    if (
        not address
        or address.startswith("#")
        or classes & {"external", "extiw", "image", "mw-file-description", "internal"}
    ):
        return None
    parts = split_address(address)
    own = split_address(site.page_address)
    if parts.netloc and parts.netloc != own.netloc:
        return None
    query = parse_qs(parts.query)
    if "title" in query:  # a red link, or a wiki without short addresses
        title = query["title"][0]
    else:
        prefix = own.path.replace("$1", "")
        if parts.path.startswith("./"):  # Parsoid
            title = unquote(parts.path[2:])
        elif prefix and parts.path.startswith(prefix):
            title = unquote(parts.path[len(prefix) :])
        else:
            return None
    title = clean_title(title.split("#")[0])
    return None if not title or _NAMESPACE.match(title) else title


def _is_in_other_section(link: Tag) -> bool:
    heading = link.find_previous(["h2", "h3"])
    return isinstance(heading, Tag) and " ".join(heading.get_text().split()).lower() in _OTHER_SECTIONS
