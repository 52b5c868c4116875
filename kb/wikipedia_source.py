"""A MediaWiki as a source of articles and photos: taxa joined with its pages, bodies, parsed articles, anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import cache
from itertools import chain

from data.contracts import AnchorBatch, TaxonSource
from data.errors import MissingContact, PageNotFound, SourceError
from data.records import Article, Failure, FetchedPage, LeftOut, PageRef, Source, Taxon
from kb import reasons
from kb.clues import Match, clues_from_article, match_page, taxon_names, without_qualifier
from kb.joining import assign, candidates, left_out, merged, page_ref, title_tries
from kb.listing import links_in_list
from kb.parse import parse_article
from kb.photos import PhotoFinder
from kb.taxa import epithet_stem, fold, load_checklist
from kb.terms import term_id
from kb.wiki_pages import PAGES_PER_LISTING, WikiPage, WikiPages, clean_title
from kb.wiki_retry import Patience
from kb.wikipedia import N_CONCURRENT, TITLES_PER_REQUEST, Json, Timeouts, WikiClient

PARSER = "mediawiki-html/1"  # raise the number when `parse` gives other articles for the same pages
SMALL_WIKI_PAGES = 5_000  # ten listings: so much is always worth it for a bird under an unexpected title
LARGEST_LISTED_WIKI = 60_000
# A search costs two requests, one for each taxon; a few are always worth it, then one for so many found.
MOST_SEARCHES = 5
SEARCHES_PER_FOUND = 20
CATEGORY_DEPTH = 3
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class WikipediaSource:
    """Wikipedia or any other MediaWiki; implements `ArticleSource`.

    Args:
        api_url: the address of its `api.php`; Wikipedia's in `language` if None.
        contact: who runs this, for the User-Agent; Wikimedia's wikis are not asked without it.
        language: which Wikipedia, and the language noted for articles of a wiki that does not say its own.
        thumbnail_px: the width of photos; one of those that Wikimedia serves.
        allow_any_licence: take photos that are not free too.
        timeouts: how long to wait for an answer.
        patience: how often to try again.

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
        patience: Patience | None = None,
    ) -> None:
        self.client = WikiClient(api_url, contact=contact, language=language, timeouts=timeouts, patience=patience)
        self._pages = WikiPages(self.client)
        self._photos = PhotoFinder(self._pages, thumbnail_px=thumbnail_px, allow_any_licence=allow_any_licence)
        self._options = f"{thumbnail_px}px" + (", any licence" if allow_any_licence else "")
        self._listed: dict[str, WikiPage] = {}
        self._claimed: set[str] = set()

    @property
    def name(self) -> str:
        """The wiki's address and what is taken from it."""
        return f"wikipedia {self.client.api_url_shown} ({self._options})"

    @property
    def parser(self) -> str:
        """Name and version of what `parse` does."""
        return PARSER

    @property
    def requests_made(self) -> int:
        """API requests so far, photos apart."""
        return self.client.requests_made

    def close(self) -> None:
        """Close the connections to the wiki; done by itself when the source is not needed any more."""
        self.client.close()

    # --- which page is whose -----------------------------------------------------------------------------------

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield for each taxon its page or why it has none; bodies are not fetched.

        A small wiki's pages are listed and joined to the names; a large one is asked for the names, 50 a request, the
        rarer spellings only for taxa not found yet. Either way the first section of a page must speak of the taxon.

        Raises:
            SourceError: if the wiki cannot be asked.
        """
        if not taxa:
            return
        found = self._find_by_listing(taxa) if self._should_list(len(taxa)) else self._find_by_asking(taxa)
        for i, taxon in enumerate(taxa):
            page = found.get(i) or left_out(taxon, reasons.NO_PAGE)
            yield taxon, page if isinstance(page, LeftOut) else page_ref(taxon, page)

    def unclaimed(self, checklist: TaxonSource) -> list[LeftOut]:
        """Return the articles of a wiki that `locate` listed and joined to no taxon, each with why.

        Empty for a wiki that is too large to be listed. A species of the checklist that was not among the taxa of
        `locate` is "not asked for".
        """
        return [
            LeftOut(name=page.title, reason=_reason_for(page, checklist))
            for page in self._listed.values()
            if page.title not in self._claimed
        ]

    def titles_in_list(self, page: str) -> list[str]:
        """Return the titles of the articles that a list page links to, in its order, red links too.

        Raises:
            PageNotFound: if there is no such page.
        """
        return links_in_list(self.client.parse_page(page)["text"], self._pages.site)

    def titles_in_category(self, category: str) -> list[str]:
        """Return the titles of the articles in a category (with or without `Category:`) and in those below it.

        Raises:
            PageNotFound: if it has no members.
        """
        titles = self._pages.members(category, depth=CATEGORY_DEPTH)
        if not titles:
            raise PageNotFound(f"{self.client.host} has no article in the category {category!r}")
        return titles

    def match_titles(
        self, titles: Sequence[str], checklist: TaxonSource
    ) -> Iterator[tuple[str, tuple[Taxon, PageRef] | LeftOut]]:
        """Yield for each title the species of the checklist that its page is about, or why it is none.

        The page's binomial decides; without one its title or redirects do. Of two titles that lead to one species the
        first is taken.
        """
        pages = self._pages.look_up(titles)
        taken: dict[str, str] = {}
        for title in dict.fromkeys(titles):
            page = pages.get(title)
            if page is None or page.namespace != 0:
                yield title, LeftOut(name=title, reason=reasons.NO_PAGE)
                continue
            taxon = _species_on(page, checklist)
            if taxon is None:
                yield title, LeftOut(name=title, reason=_reason_for(page, checklist))
            elif taxon.taxon_id in taken:
                yield title, LeftOut(name=title, reason=reasons.DUPLICATE, detail=f"as {taken[taxon.taxon_id]}")
            else:
                taken[taxon.taxon_id] = title
                yield title, (taxon, page_ref(taxon, page))

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield for each `(term, page title or None)` its page or why it has none.

        Without a title the page of the term's own name is taken, else a hit of the wiki's search whose title or
        redirect is the term but for case, hyphens and accents.
        """
        tries = {name: [title] if title else _term_tries(name) for name, title in terms}
        pages = self._pages.look_up(list(chain.from_iterable(tries.values())))
        for name, title in terms:
            page = next((pages[attempt] for attempt in tries[name] if attempt in pages), None)
            if title is None and (page is None or page.clues.is_disambiguation):
                page = self._search_term(name) or page
            if page is None:
                yield name, LeftOut(name=name, reason=reasons.NO_PAGE, detail=title or "")
            elif page.clues.is_disambiguation:
                yield name, LeftOut(name=name, reason=reasons.DISAMBIGUATION, detail=f"page {page.title}")
            else:
                yield name, PageRef(subject_id=term_id(name), title=page.title, revision=page.revision)

    # --- bodies ------------------------------------------------------------------------------------------------

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield each page's body as it arrives, in any order; what is not about its taxon after all is left out.

        Raises:
            MissingContact: if the wiki leads to Wikimedia and there is no contact.
        """
        if not pages:
            return
        self._pages.site  # noqa: B018  asked before the threads start: all of them need it
        with ThreadPoolExecutor(N_CONCURRENT, thread_name_prefix="fetch") as pool:
            queue = iter(pages)
            running: dict[Future[FetchedPage | LeftOut], PageRef] = {}
            try:
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
            finally:
                pool.shutdown(cancel_futures=True)

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

    # --- locating ----------------------------------------------------------------------------------------------

    def _should_list(self, n_taxa: int) -> bool:
        """Return whether listing the wiki costs fewer requests than asking for the names."""
        if n_taxa * 3 <= TITLES_PER_REQUEST:
            return False  # a single request asks for all of it
        n_pages = self._pages.site.n_pages
        costs_less = n_pages / PAGES_PER_LISTING <= n_taxa / TITLES_PER_REQUEST
        return n_pages <= SMALL_WIKI_PAGES or (costs_less and n_pages <= LARGEST_LISTED_WIKI)

    def _find_by_listing(self, taxa: Sequence[Taxon]) -> dict[int, WikiPage | LeftOut]:
        listed = self._pages.list_all()
        described = self._pages.look_up([page.title for page in listed])
        pages = [
            WikiPage(
                title=page.title,
                revision=described[page.title].revision or page.revision,
                redirects=page.redirects,
                clues=described[page.title].clues,
            )
            for page in listed
            if page.title in described
        ]
        found = assign(taxa, candidates(taxa, pages))
        self._listed |= {page.title: page for page in pages}
        self._claimed |= {page.title for page in found.values() if isinstance(page, WikiPage)}
        return found

    def _find_by_asking(self, taxa: Sequence[Taxon]) -> dict[int, WikiPage | LeftOut]:
        tries = [title_tries(taxon) for taxon in taxa]
        rounds = [0, 1, 2]
        if sum(len(titles) for rank in tries for titles in rank) <= TITLES_PER_REQUEST:
            tries, rounds = [[list(chain.from_iterable(rank))] for rank in tries], [0]
        seen: dict[str, WikiPage] = {}
        found: dict[int, WikiPage | LeftOut] = {}
        for k in rounds:
            open_ = [i for i in range(len(taxa)) if not isinstance(found.get(i), WikiPage)]
            if not open_:
                break
            seen.update(self._pages.look_up(list(chain.from_iterable(tries[i][k] for i in open_))))
            pages = [page for page in merged(seen) if page.namespace == 0]
            found = assign(taxa, candidates(taxa, pages))
        missing = [i for i in range(len(taxa)) if not isinstance(found.get(i), WikiPage)]
        if missing and self._pages.site.n_pages <= SMALL_WIKI_PAGES:
            found |= {i: page for i, page in self._find_by_listing(taxa).items() if i in missing}
        elif missing:
            # Those that a namesake stands in the way of first.
            missing.sort(key=lambda i: i not in found)
            for i in missing[: MOST_SEARCHES + (len(taxa) - len(missing)) // SEARCHES_PER_FOUND]:
                hits = [title for title, _ in self._pages.search(f'"{taxa[i].scientific_name}"', 3)]
                seen.update(self._pages.look_up(hits))
            pages = [page for page in merged(seen) if page.namespace == 0]
            found = assign(taxa, candidates(taxa, pages))
        return found

    def _search_term(self, name: str) -> WikiPage | None:
        wanted = fold(name)
        for title, redirect in self._pages.search(name):
            if wanted in (fold(title), fold(redirect or "")):
                return self._pages.look_up([title]).get(clean_title(title))
        return None

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
            return LeftOut(name=page.title, reason=reasons.NOT_ABOUT, detail=f"its taxobox: {_stated(article)}")
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


def _species_on(page: WikiPage, checklist: TaxonSource) -> Taxon | None:
    """Return the species of the checklist that a page is about, or None."""
    names = [page.clues.best_binomial, *(without_qualifier(title) for title in page.titles)]
    for name in filter(None, names):
        found = checklist.find(name)
        if found is None:
            continue
        # "Anhinga" is a genus and the English name of one of its species.
        named = [taxon for taxon in checklist.species_of(found) if fold(name) in map(fold, taxon_names(taxon))]
        for taxon in named if found.rank == "genus" else [found]:
            if taxon.rank == "species" and match_page(page.clues, taxon, page.titles) is not Match.NO:
                return taxon
    return None


def _reason_for(page: WikiPage, checklist: TaxonSource) -> str:
    """Return why a page that exists is not taken in."""
    if page.clues.is_disambiguation:
        return reasons.DISAMBIGUATION
    if _species_on(page, checklist) is not None:
        return reasons.NOT_ASKED_FOR
    known = checklist.find(without_qualifier(page.title))
    if (known is not None and known.rank != "species") or page.title.startswith(("List of ", "Lists of ")):
        return reasons.NOT_A_SPECIES
    binomial = page.clues.best_binomial
    if binomial is None and not page.clues.speaks_of_birds:
        return reasons.NOT_A_BIRD
    if page.clues.class_name and page.clues.class_name != "Aves":
        return reasons.NOT_A_BIRD
    return reasons.NOT_IN_TAXONOMY


def _term_tries(name: str) -> list[str]:
    return list(dict.fromkeys([name, name[:1].upper() + name[1:].lower(), name.title()]))
