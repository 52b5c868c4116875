"""Wikipedia, or any other MediaWiki, as a source of articles and photos."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from data.cache_file import CacheFile
from data.errors import BadInput, PageNotFound, SourceError, UnknownTaxon
from data.records import Article, Failure, FetchedPage, Infobox, LeftOut, PageRef, Source, Taxon
from kb import reasons
from kb.checklist.avilist import load_checklist
from kb.checklist.names import epithet_stem, fold
from kb.sources.article_source import ArticleSource, left_out
from kb.sources.mediawiki.article_parser import parse_article
from kb.sources.mediawiki.clues import COMMENT
from kb.sources.mediawiki.locate import Locator
from kb.sources.mediawiki.photos import THUMBNAIL_PX, PhotoFinder
from kb.sources.mediawiki.wiki_client import Json, WikiClient, ask_all, number, record, records, text
from kb.sources.mediawiki.wiki_pages import Report, WikiPage, WikiPages, links_in_list

KnownPage = tuple[Taxon | str, PageRef]


CATEGORY_DEPTH = 3
NO_TAXON = "The wiki has no page, category or list of that name; try --category, --list or --names."
TAXON_DEPTH = 12
"""Levels of categories below a taxon, from a class to the genera."""
_DISAMBIGUATION = re.compile(
    r"^(?:all )?(?:article |human name |place name )?(?:disambiguation pages|disambiguations?)$"
    r"|\bdisambiguation pages$|^set index articles on animal|^animal common name disambiguation"
    r"|homonymie|begriffsklärung",
    re.IGNORECASE,
)


class WikipediaSource(Locator, PhotoFinder, ArticleSource):
    """Wikipedia or any other MediaWiki as a source of articles and photos.

    Args:
        client: asks the wiki; the source closes it.
        allow_any_licence: also take photos that are not free.
        name_languages: languages in which the titles of the same article are taken as names, where the wiki links it.
    """

    parser = "mediawiki-html/2"  # raise the number when `parse` changes its result

    def __init__(
        self, client: WikiClient, *, allow_any_licence: bool = False, name_languages: Sequence[str] = ()
    ) -> None:
        self.client, pages = client, WikiPages(client)
        Locator.__init__(self, pages)
        PhotoFinder.__init__(self, pages, allow_any_licence=allow_any_licence)
        self._name_languages = tuple(name_languages)
        self._within: set[str] = set()  # taxa that the species of this run lie below
        self.leaves_out_birds = False
        """Whether birds outside AviList are left out: it is the authority on birds."""

    @property
    def name(self) -> str:
        """The wiki's address."""
        return f"wikipedia {self.client.api_url_shown}"

    @property
    def photo_rules(self) -> str:
        """Width of photos, whether non-free ones are taken, and the version of the choice."""
        return f"{THUMBNAIL_PX}px, choice 2" + (", any licence" if self.allows_any_licence else "")

    @property
    def n_requests(self) -> int:
        """API requests so far, photos excluded."""
        return self.client.n_requests

    @property
    def n_photo_requests(self) -> int:
        """Photo downloads so far, retries included."""
        return self.client.n_photo_requests

    @property
    def origin(self) -> Mapping[str, str]:
        """Settings that open the source again, without user name, password and query of the address."""
        return {
            "kind": "wikipedia",
            "api_url": self.client.api_url_shown,
            "language": self.client.language,
            "licences": "any" if self.allows_any_licence else "free",
        }

    def keep_look_ups(self, journal: CacheFile | None, report: Report) -> None:
        """Answer look-ups from a journal where it has them, and report the progress of long ones."""
        self._pages.journal, self._pages.report = journal, report

    def close(self) -> None:
        """Close the connections to the wiki; called automatically when the source is garbage collected."""
        self.client.close()

    def titles_in_list(self, page: str) -> list[str]:
        """Return the titles that a list page links to, in its order, including red links.

        Raises:
            BadInput: if there is no such page.
        """
        try:
            html = self.client.parse_page(page)["text"]
        except PageNotFound as error:
            raise BadInput(
                f"There is no page {page!r} on {self.client.host}",
                hint="--list expects the exact title of a page with links to species, such as 'List of owls'",
            ) from error
        return links_in_list(html, self._pages.site)

    def titles_in_category(self, category: str) -> list[str]:
        """Return the titles in a category (with or without `Category:`) and its subcategories.

        Raises:
            BadInput: if it has no articles.
        """
        titles = self._pages.members(category, depth=CATEGORY_DEPTH)
        if not titles:
            raise BadInput(
                f"There are no articles in the category {category!r} on {self.client.host}",
                hint="--category expects the exact name of a category, such as 'Owls'",
            )
        return titles

    def titles_below(self, taxon: str) -> list[str]:
        """Return the titles of pages that may be species of a taxon of this wiki: its categories, and its own lists.

        Pages of species whose taxobox states another classification are left out when they are fetched.

        Raises:
            UnknownTaxon: if the wiki has no page with that title and a taxobox.
        """
        try:
            title, group = self.limit_to(taxon)
        except UnknownTaxon:  # no article, but perhaps a category
            if not (titles := self._pages.members(taxon, depth=TAXON_DEPTH)):
                raise
            self._within.add(taxon)
            return titles
        if " " in group:  # a species
            return [title]
        names = dict.fromkeys((title, group, taxon))
        titles = [each for name in names for each in self._pages.members(name, depth=TAXON_DEPTH)]
        return list(dict.fromkeys([*titles, *self.titles_in_list(title)]))

    def limit_to(self, taxon: str) -> tuple[str, str]:
        """Take in only species below a taxon of this wiki; return the title and the scientific name of its page.

        Called for several taxa, species below any of them.

        Raises:
            UnknownTaxon: if the wiki has no page with that title and a taxobox.
        """
        page = self._pages.look_up([taxon]).get(taxon)
        name = "" if page is None else page.clues.taxon.name
        if page is None or not name:
            raise UnknownTaxon(taxon, where=self.client.host, limits=NO_TAXON)
        self._within.add(name.split()[0])
        return page.title, name

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield the body of each page, in this order; pages about another subject are left out.

        Raises:
            MissingContact: if the wiki redirects to Wikimedia and no contact is set.
        """
        if not pages:
            return
        self._pages.site  # noqa: B018  requested before the threads start
        yield from zip(pages, ask_all("fetch", self._fetch_one, pages), strict=True)

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in a body; pure."""
        return parse_article(fetched.body, source=fetched.source)

    def newest(self, known: Sequence[KnownPage]) -> Iterator[tuple[Taxon | str, PageRef | LeftOut | Failure]]:
        """Yield the current page of each `(taxon or term, its page so far)`, in this order.

        Revisions are requested for all titles, 50 per request; pages with the same revision need no more. Changed,
        moved and missing pages are matched with their taxa as in a build, so that an update and a fresh build agree:
        first the page under the old title, then a look-up of the names.

        Raises:
            SourceError: if the wiki is not available.
        """
        current = self._pages.look_up([ref.title for _, ref in known], with_clues=False)
        same = [ref for _, ref in known if _is_same(ref, current.get(ref.title))]
        unchanged, taken = {ref.subject_id for ref in same}, {ref.title for ref in same}
        changed = {
            taxon.taxon_id: (taxon, ref.title)
            for taxon, ref in known
            if isinstance(taxon, Taxon) and ref.subject_id not in unchanged
        }
        titles = {taxon_id: title for taxon_id, (_, title) in changed.items() if title in current}
        located = self.locate([taxon for taxon, _ in changed.values()], titles)
        places = {taxon.taxon_id: place for taxon, place in located}
        for subject, ref in known:
            if ref.subject_id in unchanged:
                yield subject, ref
            elif isinstance(subject, str):
                yield subject, self._newest_term(subject, ref, current.get(ref.title))
            elif isinstance(place := places[subject.taxon_id], PageRef) and place.title in taken:
                yield subject, left_out(subject, reasons.DUPLICATE, place.title)
            else:
                yield subject, place

    def _newest_term(self, name: str, ref: PageRef, page: WikiPage | None) -> PageRef | LeftOut:
        if page is not None and not page.clues.is_disambiguation and page.namespace == 0:
            return PageRef(subject_id=ref.subject_id, title=page.title, revision=page.revision)
        title = None if fold(ref.title) == fold(name) else ref.title
        [(_, place)] = self.locate_terms([(name, title)])
        return place

    def _fetch_one(self, page: PageRef) -> FetchedPage | LeftOut | Failure:
        try:
            others = set(self._name_languages) - {self._pages.site.language}
            answer = self.client.parse_page(page.title, with_languages=bool(others))
            fetched, is_marked = self._fetched(page, answer), _is_marked(answer)
        except PageNotFound:
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail="deleted since it was looked up")
        except SourceError as error:
            return Failure(taxon=page.title, stage="fetch", reason=str(error))
        article = self.parse(fetched)
        if article.is_disambiguation or (is_marked and article.infobox is None):
            return LeftOut(name=page.title, reason=reasons.DISAMBIGUATION)
        is_term = ":" in page.subject_id
        fault = None if article.infobox is None or is_term else self._fault(page, article.infobox)
        return fault or fetched

    def _fault(self, page: PageRef, box: Infobox) -> LeftOut | None:
        """Return why the taxobox of a species' page is certainly that of another organism, or None.

        Only page and checklist count, not an earlier look-up, so that a resumed build has the same result.
        """
        name, stated_class, stated = box.binomial, box.classification.get("class"), {*box.classification.values()}
        if self._within and stated and self._within.isdisjoint(stated):
            below = ", ".join(sorted(self._within))
            return LeftOut(name=page.title, reason=reasons.OTHER_SUBJECT, detail=f"not below {below}")
        shown = name or stated_class or box.name
        listed = load_checklist().find(page.subject_id.replace("-", " "))
        if listed is None or (listed.taxon_id, listed.rank) != (page.subject_id, "species"):
            is_bird = self.leaves_out_birds and stated_class == "Aves"
            return LeftOut(name=page.title, reason=reasons.NOT_IN_CHECKLIST, detail=shown) if is_bird else None
        own = listed.scientific_name
        has_other_class = bool(stated_class) and stated_class != listed.lineage.get("class", stated_class)
        is_known = name is None or name in listed.synonyms or name.split()[0] == own.split()[0]
        if has_other_class or not (is_known or epithet_stem(name or "") == epithet_stem(own)):
            return LeftOut(name=page.title, reason=reasons.OTHER_SUBJECT, detail=f"its taxobox: {shown}")
        return None

    def _fetched(self, page: PageRef, answer: Json) -> FetchedPage:
        site = self._pages.site
        title = text(answer, "title") or page.title
        revision = number(answer, "revid")
        return FetchedPage(
            page=page,
            body=COMMENT.sub("", answer["text"]).strip(),  # comments hold rendering times
            media_type="text/html",
            source=Source(
                title=title,
                url=site.page_url(title),
                revision=revision or None,
                licence=site.licence,
                language=site.language,
            ),
            titles=self._titles(title, answer),
        )

    def _titles(self, title: str, answer: Json) -> dict[str, str]:
        """Return language -> title of an article; of an English wiki without other languages nothing new."""
        found = {} if self._pages.site.language == "en" else {self._pages.site.language: title}
        for link in records(answer, "langlinks"):
            language, name = text(link, "lang"), text(link, "title")
            if language in self._name_languages and name:
                found.setdefault(language, name)
        return found


def _is_marked(answer: Json) -> bool:
    """Return whether a wiki marks a page as a disambiguation, by its properties or categories."""
    categories = (text(item, "category").replace("_", " ") for item in records(answer, "categories"))
    return "disambiguation" in record(answer, "properties") or any(map(_DISAMBIGUATION.search, categories))


def _is_same(ref: PageRef, page: WikiPage | None) -> bool:
    return (
        page is not None
        and page.title == ref.title
        and page.revision == ref.revision
        and not page.clues.is_disambiguation
    )
