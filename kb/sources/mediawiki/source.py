"""A MediaWiki as a source of articles and photos: taxa joined with its pages, bodies, parsed articles, anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from functools import cache

from data.contracts import AnchorBatch, ArticleSource, TaxonSource
from data.errors import BadInput, MissingContact, PageNotFound, SourceError
from data.records import Anchor, Article, Failure, FetchedPage, LeftOut, PageRef, Source, Taxon
from kb import reasons
from kb.checklist.avilist import epithet_stem, load_checklist
from kb.sources.mediawiki.client.retry import RetryPolicy
from kb.sources.mediawiki.client.wiki_client import N_CONCURRENT, Json, Timeouts, WikiClient
from kb.sources.mediawiki.client.workers import wiki_workers
from kb.sources.mediawiki.html.parse import parse_article
from kb.sources.mediawiki.pages.changes import newest_pages
from kb.sources.mediawiki.pages.clues import Match, clues_from_article, match_page
from kb.sources.mediawiki.pages.list_pages import links_in_list
from kb.sources.mediawiki.pages.locate import Locator
from kb.sources.mediawiki.pages.wiki_pages import WikiPages
from kb.sources.mediawiki.photos import PhotoFinder

PARSER = "mediawiki-html/1"  # raise the number when `parse` gives other articles for the same pages
CATEGORY_DEPTH = 3
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class WikipediaSource(ArticleSource):
    """Wikipedia or any other MediaWiki as a source of articles and photos.

    Args:
        api_url: the address of its `api.php`; Wikipedia's in `language` if None.
        contact: who runs this, for the User-Agent; Wikimedia's wikis are not asked without it.
        language: which Wikipedia, and the language noted for articles of a wiki that does not say its own.
        thumbnail_px: the width of photos; one of those that Wikimedia serves.
        allow_any_licence: take photos that are not free too.
        timeouts: how long to wait for an answer.
        retry: how often to try again.

    Raises:
        MissingContact: for a Wikimedia wiki without a contact.
        UsageError: for an address that is not http or https.
    """

    def __init__(
        self,
        api_url: str | None,
        *,
        contact: str | None,
        language: str = "en",
        thumbnail_px: int = 960,
        allow_any_licence: bool = False,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.client = WikiClient(api_url, contact=contact, language=language, timeouts=timeouts, retry=retry)
        self._pages = WikiPages(self.client)
        self._photos = PhotoFinder(self._pages, thumbnail_px=thumbnail_px, allow_any_licence=allow_any_licence)
        self._locator = Locator(self._pages)

    @property
    def name(self) -> str:
        """The wiki's address."""
        return f"wikipedia {self.client.api_url_shown}"

    @property
    def photo_rules(self) -> str:
        """The width of photos, and whether those that are not free are taken too."""
        return f"{self._photos.thumbnail_px}px" + (", any licence" if self._photos.allows_any_licence else "")

    @property
    def parser(self) -> str:
        """Name and version of what `parse` does."""
        return PARSER

    @property
    def n_requests(self) -> int:
        """API requests so far, photos apart."""
        return self.client.n_requests

    @property
    def n_photo_requests(self) -> int:
        """Photos asked for so far, tries included."""
        return self.client.n_photo_requests

    @property
    def origin(self) -> Mapping[str, str]:
        """How it is opened again; user names, passwords and queries of the address are not in it."""
        return {
            "kind": "wikipedia",
            "api_url": self.client.api_url_shown,
            "language": self.client.language,
            "licences": "any" if self._photos.allows_any_licence else "free",
            "thumbnail_px": str(self._photos.thumbnail_px),
        }

    def close(self) -> None:
        """Close the connections to the wiki; done by itself when the source is not needed any more."""
        self.client.close()

    # --- which page is whose -----------------------------------------------------------------------------------

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield for each taxon its page or why it has none, as `Locator.locate` does; bodies are not fetched."""
        return self._locator.locate(taxa)

    def unclaimed(self, checklist: TaxonSource) -> list[LeftOut]:
        """Return the articles of a small wiki that are none of the located taxa's, as `Locator.unclaimed` does."""
        return self._locator.unclaimed(checklist)

    def match_titles(
        self, titles: Sequence[str], checklist: TaxonSource
    ) -> Iterator[tuple[str, tuple[Taxon, PageRef] | LeftOut]]:
        """Yield for each title the species its page is about, or why it is none, as `Locator.match_titles` does."""
        return self._locator.match_titles(titles, checklist)

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield for each `(term, page title or None)` its page or why it has none, as `Locator.locate_terms` does."""
        return self._locator.locate_terms(terms)

    def titles_in_list(self, page: str) -> list[str]:
        """Return the titles of the articles that a list page links to, in its order, red links too.

        Raises:
            BadInput: if there is no such page.
        """
        try:
            html = self.client.parse_page(page)["text"]
        except PageNotFound as error:
            raise BadInput(
                f"{self.client.host} has no page {page!r}",
                hint="--list expects the exact title of a page there that links to species, such as 'List of owls'",
            ) from error
        return links_in_list(html, self._pages.site)

    def titles_in_category(self, category: str) -> list[str]:
        """Return the titles of the articles in a category (with or without `Category:`) and in those below it.

        Raises:
            BadInput: if it has no members.
        """
        try:
            titles = self._pages.members(category, depth=CATEGORY_DEPTH)
        except PageNotFound:  # no category can have that name
            titles = []
        if not titles:
            raise BadInput(
                f"{self.client.host} has no article in the category {category!r}",
                hint="--category expects the exact name of a category there, such as 'Owls'",
            )
        return titles

    # --- bodies ------------------------------------------------------------------------------------------------

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield each page's body as it arrives, in any order; what is not about its taxon after all is left out.

        Raises:
            MissingContact: if the wiki leads to Wikimedia and there is no contact.
        """
        if not pages:
            return
        self._pages.site  # noqa: B018  asked before the threads start: all of them need it
        with wiki_workers("fetch") as pool:
            queue = iter(pages)
            running: dict[Future[FetchedPage | LeftOut], PageRef] = {}
            while True:
                for page in queue:
                    running[pool.submit(self._fetch_one, page)] = page
                    if len(running) >= 2 * N_CONCURRENT:
                        break
                if not running:
                    return
                done = next(as_completed(running))
                page = running.pop(done)
                yield page, _outcome(done, page)

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in a body; pure."""
        return parse_article(
            fetched.body, source=fetched.source, categories=fetched.categories, properties=fetched.properties
        )

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield for each `(subject_id, article)` up to `limit` free photos: lead image, galleries, then the text's."""
        return self._photos.fetch(articles, limit=limit)

    # --- what is new -------------------------------------------------------------------------------------------

    def newest(self, held: Sequence[tuple[Taxon | str, PageRef]]) -> Iterator[tuple[Taxon | str, PageRef | LeftOut]]:
        """Yield for each taxon or term the page that it has now, as `newest_pages` does."""
        return newest_pages(self._pages, self._locator, held)

    def photo_versions(self, files: Sequence[str]) -> dict[str, str]:
        """Return file -> a text that changes when the photo, its author or its licence does; empty for no such file."""
        return self._photos.versions(files)

    def reuse_photos(self, held: Mapping[str, Anchor]) -> None:
        """Take these anchors, by the version of their photo, for what would be downloaded once more."""
        self._photos.reuse(held)

    def _fetch_one(self, page: PageRef) -> FetchedPage | LeftOut:
        try:
            answer = self.client.parse_page(page.title)
        except PageNotFound:
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail="it is gone since it was looked up")
        fetched = self._fetched(page, answer)
        article = self.parse(fetched)
        if article.is_disambiguation:
            return LeftOut(name=page.title, reason=reasons.DISAMBIGUATION)
        if _contradicts(article, page.subject_id):
            return LeftOut(name=page.title, reason=reasons.OTHER_SUBJECT, detail=f"its taxobox: {_stated(article)}")
        return fetched

    def _fetched(self, page: PageRef, answer: Json) -> FetchedPage:
        site = self._pages.site
        title = str(answer.get("title") or page.title)
        properties = answer.get("properties") or {}
        return FetchedPage(
            page=page,
            body=_COMMENT.sub("", answer["text"]).strip(),  # comments hold times of rendering; equal pages, equal bytes
            media_type="text/html",
            source=Source(
                title=title,
                url=site.page_url(title),
                revision=int(answer["revid"]) if answer.get("revid") else None,
                licence=site.licence,
                language=site.language,
            ),
            categories=tuple(str(item["category"]).replace("_", " ") for item in answer.get("categories", ())),
            properties={str(k): str(v) for k, v in properties.items()} if isinstance(properties, dict) else {},
        )


def _outcome(done: Future[FetchedPage | LeftOut], page: PageRef) -> FetchedPage | LeftOut | Failure:
    try:
        return done.result()
    except MissingContact:
        raise
    except SourceError as error:
        return Failure(taxon=page.title, stage="fetch", reason=str(error))


@cache
def _checklist_taxon(subject_id: str) -> Taxon | None:
    """Return the species of the checklist with that id; None for terms and for taxa of other lists."""
    taxon = None if ":" in subject_id else load_checklist().find(subject_id.replace("-", " "))
    return taxon if taxon is not None and taxon.taxon_id == subject_id else None


def _contradicts(article: Article, subject_id: str) -> bool:
    """Return whether an article's taxobox is certainly another organism's.

    Only what the page and the checklist say counts, not what an earlier look-up knew: a build that goes on after a kill
    must come to the same end.
    """
    taxon = _checklist_taxon(subject_id)
    if taxon is None or article.infobox is None:
        return False
    stated_class = article.infobox.classification.get("class")
    if stated_class and stated_class != taxon.lineage.get("class", stated_class):
        return True
    stated = article.infobox.binomial
    if stated is None or match_page(clues_from_article(article), taxon, (article.source.title,)) is not Match.NO:
        return False
    same_genus = stated.split()[0] == taxon.scientific_name.split()[0]
    return not same_genus and epithet_stem(stated) != epithet_stem(taxon.scientific_name)


def _stated(article: Article) -> str:
    box = article.infobox
    return (box.binomial or box.classification.get("class") or box.name) if box else "none"
