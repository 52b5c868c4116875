"""Look-ups of a wiki: titles, redirects, revisions, clues from the first section, members of categories, lists."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urljoin

from bs4 import Tag

from data.batches import grouped
from data.cache_file import CacheFile
from data.codec import from_json, to_json
from data.errors import BadInput, MissingRequirement, StoreError
from kb.addresses import split_address
from kb.licences import short_licence
from kb.sources.mediawiki.article_parser import BESIDE_TEXT
from kb.sources.mediawiki.clues import FIRST_SENTENCE_CHARACTERS, Clues, clues_from_wikitext
from kb.sources.mediawiki.wiki_client import (
    TITLES_PER_REQUEST,
    Answer,
    Json,
    WikiClient,
    ask_all,
    merged,
    number,
    record,
    records,
    text,
)
from kb.sources.plain_text import soup_of

PAGES_PER_LISTING = 500
SHOWN_FROM = 20
"""Requests or categories from which a look-up shows its progress."""
Report = Callable[[str, int, int], None]
LONGEST_TITLE_BYTES = 255
_NEVER_IN_TITLES = re.compile(r"[#<>\[\]{}|\x00-\x1f\x7f]")
_LOOKUP: Mapping[str, str | int] = {
    "prop": "revisions|pageprops",
    "rvprop": "ids|content",
    "rvslots": "main",
    "rvsection": 0,
    "ppprop": "disambiguation",
}
_REVISIONS: Mapping[str, str | int] = {"prop": "info|pageprops", "ppprop": "disambiguation"}  # a few bytes a page
_SITE: Mapping[str, str | int] = {"meta": "siteinfo", "siprop": "general|statistics|rightsinfo|namespaces"}
MEMBERS_PER_REQUEST: Final = 500
MOST_CATEGORIES: Final = 5_000
"""Each costs a request; more are a sign of a group that is better chosen in another way."""
# Links under these headings are not part of the list.
_OTHER_SECTIONS = frozenset(
    {"see also", "references", "external links", "notes", "further reading", "sources", "bibliography", "footnotes"}
)
_NAMESPACE = re.compile(
    r"^(?:File|Image|Category|Template|Help|Special|Wikipedia|Project|Portal|Talk|User|MediaWiki|Module|Draft|Book|TimedText|Media"
    r"|[A-Za-z ]+ talk):",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteInfo:
    """Language, licence and namespaces of a wiki."""

    page_address: str
    """With `$1` for the title."""
    language: str
    licence: str | None
    """Licence of its texts, or None if not stated."""
    n_pages: int
    category_namespace: str

    def page_url(self, title: str) -> str:
        """Return the address of a page."""
        return self.page_address.replace("$1", quote(title.replace(" ", "_"), safe="/:@!$*(),;'"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WikiPage:
    """A page found by a look-up. `redirects` are known titles that lead to it."""

    title: str
    revision: int | None
    redirects: tuple[str, ...] = ()
    clues: Clues = field(default_factory=Clues)
    namespace: int = 0

    @property
    def titles(self) -> tuple[str, ...]:
        """Its own title first."""
        return (self.title, *self.redirects)


class WikiPages:
    """Looks up pages of one wiki, 50 titles per request, three requests at a time."""

    def __init__(self, client: WikiClient) -> None:
        self.client = client
        self._site: SiteInfo | None = None
        self.journal: CacheFile | None = None
        """Answers to look-ups of titles and categories, so that a build that was killed does not ask again."""
        self.report: Report = lambda *_: None
        """Called with (noun, done, total) of a long look-up."""

    @property
    def site(self) -> SiteInfo:
        """Site information; requested once, together with the first look-up if possible."""
        if self._site is None:
            self._site = self._read_site(merged(self.client.query(_SITE)))
        return self._site

    def look_up(self, titles: Sequence[str], *, with_clues: bool = True) -> dict[str, WikiPage]:
        """Return title -> page for the titles that exist, redirects resolved; without clues only their revisions."""
        look_up = partial(self._look_up_batch, with_clues=with_clues)
        valid = [title for title in dict.fromkeys(map(clean_title, titles)) if is_title(title)]
        batches = [*grouped(valid, TITLES_PER_REQUEST)]
        found: dict[str, WikiPage] = {}
        for n_done, part in enumerate(ask_all("look-up", look_up, batches), 1):  # the first brings the site information
            found.update(part)
            if len(batches) >= SHOWN_FROM:
                self.report("titles", min(n_done * TITLES_PER_REQUEST, len(valid)), len(valid))
        return {title: found[clean_title(title)] for title in titles if clean_title(title) in found}

    def list_all(self) -> list[WikiPage]:
        """Return all articles of the wiki with the titles that redirect to them, without clues."""
        answer = merged(
            self.client.query(
                {
                    "generator": "allpages",
                    "gapnamespace": 0,
                    "gapfilterredir": "nonredirects",
                    "gaplimit": PAGES_PER_LISTING,
                    "prop": "info|redirects",
                    "rdprop": "title",
                    "rdlimit": PAGES_PER_LISTING,
                }
            )
        )
        return [
            _page(page, [text(each, "title") for each in records(page, "redirects")])
            for page in answer.pages
            if "missing" not in page
        ]

    def members(self, category: str, *, depth: int) -> list[str]:
        """Return the article titles in a category, none if it does not exist, and in its subcategories down to `depth`.

        Raises:
            BadInput: for more than `MOST_CATEGORIES` subcategories, as soon as that is known.
        """
        prefix = self.site.category_namespace
        space, _, name = category.partition(":")
        category = f"{prefix}:{name.strip() if space.strip().lower() in ('category', prefix.lower()) else category}"
        level, seen, n_done = [category] if is_title(category) else [], {category}, 0
        titles: dict[str, None] = {}
        for below in range(depth + 1):
            following: list[str] = []
            for pages, subcategories in ask_all("categories", self._members_of, level):
                n_done += 1
                titles |= dict.fromkeys(pages)
                if below < depth:
                    fresh = [each for each in subcategories if each not in seen]
                    seen.update(fresh)
                    following += fresh
                if len(seen) >= SHOWN_FROM:
                    self.report("categories", n_done, len(seen))
                if len(seen) > MOST_CATEGORIES:
                    raise BadInput(
                        f"{category} on {self.client.host} has more than {MOST_CATEGORIES:,} subcategories, "
                        "one request each.",
                        hint="Choose smaller groups, such as families (--taxon may be repeated), or add --checklist "
                        "FILE: its names are looked up 50 per request.",
                    )
            level = following
        return list(titles)

    def _members_of(self, category: str) -> tuple[list[str], list[str]]:
        """Return the pages and subcategories of a category."""
        fields: Mapping[str, str | int] = {
            "list": "categorymembers",
            "cmtitle": category,
            "cmlimit": MEMBERS_PER_REQUEST,
            "cmtype": "page|subcat",
            "cmprop": "title",
        }

        def ask() -> tuple[list[str], list[str]]:
            members = [member for part in self.client.query(fields) for member in records(part, "categorymembers")]
            placed = [(number(each, "ns"), text(each, "title")) for each in members]
            return [title for ns, title in placed if ns == 0], [title for ns, title in placed if ns == 14]

        pages, subcategories = self._answer(["members", category], ask)
        return pages, subcategories

    def search(self, words: str, n: int = 5) -> list[tuple[str, str | None]]:
        """Return the first hits of the wiki's own search as `(title, title of the redirect that matched or None)`."""
        answer = merged(
            self.client.query(
                {"list": "search", "srsearch": words, "srlimit": n, "srnamespace": 0, "srprop": "redirecttitle"}
            )
        )
        hits = records(answer.fields, "search")
        return [(text(hit, "title"), text(hit, "redirecttitle") or None) for hit in hits][:n]

    def _answer(self, question: object, ask: Callable[[], Any]) -> Any:  # noqa: ANN401  # JSON values
        """Return the answer of `ask`, or that of an interrupted build to the same question."""
        key = json.dumps(question)
        with suppress(MissingRequirement, StoreError):  # without a file, it only costs requests
            if self.journal is not None and (known := self.journal.get(key)) is not None:
                return json.loads(known)
        found = ask()
        with suppress(MissingRequirement, StoreError):
            if self.journal is not None and any(found):  # what is missing may be added before the next try
                self.journal.put(key, json.dumps(found))
        return found

    def _look_up_batch(self, titles: Sequence[str], *, with_clues: bool) -> dict[str, WikiPage]:
        fields = _LOOKUP if with_clues else _REVISIONS
        found = self._answer(
            ["titles", list(titles), with_clues],
            lambda: {title: to_json(page) for title, page in self._ask_batch(titles, fields).items()},
        )
        return {title: from_json(WikiPage, page) for title, page in found.items()}

    def _ask_batch(self, titles: Sequence[str], fields: Mapping[str, str | int]) -> dict[str, WikiPage]:
        wants_site = self._site is None
        answer = self.client.query_titles(titles, {**fields, **(_SITE if wants_site else {})})
        if wants_site and "general" in answer.fields:
            self._site = self._read_site(answer)
        redirects = answer.steps("redirects")
        pages = {
            page["title"]: _page(page, [each for each in redirects if redirects[each] == page["title"]])
            for page in answer.pages
            if "missing" not in page and "invalid" not in page and page["ns"] >= 0
        }
        return {title: pages[end] for title in titles if (end := answer.end_of(title)) in pages}

    def _read_site(self, answer: Answer) -> SiteInfo:
        general, rights = record(answer.fields, "general"), record(answer.fields, "rightsinfo")
        path = text(general, "server") + (text(general, "articlepath") or "/index.php?title=$1")
        return SiteInfo(
            page_address=urljoin(self.client.api_url, path),
            language=text(general, "lang") or "en",
            licence=short_licence(text(rights, "text"), text(rights, "url")),
            n_pages=number(record(answer.fields, "statistics"), "pages") or 0,
            category_namespace=text(record(record(answer.fields, "namespaces"), "14"), "name") or "Category",
        )


def clean_title(title: str) -> str:
    """Return a title in normal form: NFC, single spaces, no underscores."""
    return " ".join(unicodedata.normalize("NFC", title).replace("_", " ").split())


def is_title(title: str) -> bool:
    """Return whether a title is valid; one invalid title fails a request of fifty."""
    return bool(title) and not _NEVER_IN_TITLES.search(title) and len(title.encode()) <= LONGEST_TITLE_BYTES


def _page(page: Json, redirects: Sequence[str]) -> WikiPage:
    revision = next(iter(records(page, "revisions")), {})
    content = text(record(record(revision, "slots"), "main"), "content")
    clues = clues_from_wikitext(content, is_disambiguation="disambiguation" in record(page, "pageprops"))
    if clues.binomial:  # which decides, so the lead of many pages need not be held
        clues = replace(clues, lead=clues.lead[:FIRST_SENTENCE_CHARACTERS], lead_binomials=())
    return WikiPage(
        title=page["title"],
        revision=number(revision, "revid") or number(page, "lastrevid"),
        redirects=tuple(dict.fromkeys(filter(None, redirects))),
        clues=clues,
        namespace=page["ns"],
    )


def links_in_list(html: str, site: SiteInfo) -> list[str]:
    """Return the article titles linked in the lists and tables of a page, each once, in order.

    Red links are included. A page without lists and tables gives the links of its text.
    """
    soup = soup_of(html)
    root = soup.select_one(".mw-parser-output") or soup
    for tag in root.select(f"{BESIDE_TEXT}, sup, style, script"):
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
