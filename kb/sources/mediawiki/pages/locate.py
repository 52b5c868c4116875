"""Search for the wiki pages of taxa, list titles and terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from data.records import LeftOut, PageRef, Taxon
from kb import reasons
from kb.checklist.names import fold
from kb.checklist.selection import own_taxon
from kb.checklist.wiki_checklist import WikiChecklist
from kb.distill.terms import term_id
from kb.sources.mediawiki.client.wiki_client import TITLES_PER_REQUEST
from kb.sources.mediawiki.pages.clues import Match, match_page, without_qualifier
from kb.sources.mediawiki.pages.match import assign, candidates, left_out, merged, page_ref, title_tries
from kb.sources.mediawiki.pages.wiki_pages import PAGES_PER_LISTING, WikiPage, WikiPages, clean_title

if TYPE_CHECKING:
    from data.contracts import Checklist

SMALL_WIKI_PAGES = 5_000  # listed in ten requests, to find birds under unexpected titles
LARGEST_LISTED_WIKI = 60_000
# A search costs two requests: a few are always made, then one per so many taxa found.
MOST_SEARCHES = 5
SEARCHES_PER_FOUND = 20


class Locator:
    """Finds the pages of taxa and terms on one wiki, and remembers which listed pages remain."""

    def __init__(self, pages: WikiPages) -> None:
        self._pages = pages
        self._listed: dict[str, WikiPage] = {}
        self._claimed: dict[str, str] = {}  # title -> taxon_id

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield the page of each taxon, or why it has none; bodies are not fetched.

        The pages of a small wiki are listed and matched with the names. On a large one, names are looked up, 50 per
        request, the rarer spellings only for taxa not found yet. The first section of a page must be about the taxon.

        Raises:
            SourceError: if the wiki is not available.
        """
        if not taxa:
            return
        found = self._find_by_listing(taxa) if self._should_list(len(taxa)) else self._find_by_title(taxa)
        for i, taxon in enumerate(taxa):
            page = found.get(i) or left_out(taxon, reasons.NO_PAGE)
            yield taxon, page if isinstance(page, LeftOut) else page_ref(taxon, page)

    def unclaimed(self, checklist: Checklist) -> list[LeftOut]:
        """Return the listed articles that match no taxon, with reasons; empty for a wiki too large to be listed.

        Articles on species of the checklist that were not located are not returned.
        """
        taken = {taxon_id: title for title, taxon_id in self._claimed.items()}
        found = []
        for page in self._listed.values():
            if page.title in self._claimed:
                continue
            taxon = None if page.clues.is_disambiguation else _species_on(page, checklist)
            if taxon is None:
                found.append(LeftOut(name=page.title, reason=_reason_for(page, checklist)))
            elif taxon.taxon_id in taken:
                detail = f"as {taken[taxon.taxon_id]}"
                found.append(LeftOut(name=page.title, reason=reasons.DUPLICATE, detail=detail))
        return found

    def match_titles(
        self, titles: Sequence[str], checklist: Checklist
    ) -> Iterator[tuple[str, tuple[Taxon, PageRef] | LeftOut]]:
        """Yield the species of each title's page, or why there is none.

        The binomial of the page decides, or else its title and redirects. Of two titles with the same species, the
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
        """Yield the page of each `(term, page title or None)`, or why it has none.

        Without a title, the page with the name of the term is taken, or else a hit of the wiki's search that differs
        from the term only in case, hyphens and accents.
        """
        tries = {
            name: [title] if title else [name, name[:1].upper() + name[1:].lower(), name.title()]
            for name, title in terms
        }
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

    def _should_list(self, n_taxa: int) -> bool:
        """Return whether listing the wiki costs fewer requests than looking up the names."""
        if n_taxa * 3 <= TITLES_PER_REQUEST:
            return False  # one request looks up all names
        n_pages = self._pages.site.n_pages
        costs_less = n_pages / PAGES_PER_LISTING <= n_taxa / TITLES_PER_REQUEST
        return n_pages <= SMALL_WIKI_PAGES or (costs_less and n_pages <= LARGEST_LISTED_WIKI)

    def _find_by_listing(self, taxa: Sequence[Taxon]) -> dict[int, WikiPage | LeftOut]:
        listed = self._pages.list_all()
        described = self._pages.look_up([page.title for page in listed])
        pages = [
            replace(page, revision=known.revision or page.revision, clues=known.clues)
            for page in listed
            if (known := described.get(page.title))
        ]
        found = assign(taxa, candidates(taxa, pages))
        self._listed |= {page.title: page for page in pages}
        self._claimed |= {page.title: taxa[i].taxon_id for i, page in found.items() if isinstance(page, WikiPage)}
        return found

    def _find_by_title(self, taxa: Sequence[Taxon]) -> dict[int, WikiPage | LeftOut]:
        tries = [title_tries(taxon) for taxon in taxa]
        rounds = [0, 1, 2]
        if sum(len(titles) for rank in tries for titles in rank) <= TITLES_PER_REQUEST:
            tries, rounds = [[list(chain.from_iterable(rank))] for rank in tries], [0]
        seen: dict[str, WikiPage] = {}
        found: dict[int, WikiPage | LeftOut] = {}
        for k in rounds:
            missing = [i for i in range(len(taxa)) if not isinstance(found.get(i), WikiPage)]
            if not missing:
                break
            seen.update(self._pages.look_up(list(chain.from_iterable(tries[i][k] for i in missing))))
            pages = [page for page in merged(seen) if page.namespace == 0]
            found = assign(taxa, candidates(taxa, pages))
        missing = [i for i in range(len(taxa)) if not isinstance(found.get(i), WikiPage)]
        if missing and self._pages.site.n_pages <= SMALL_WIKI_PAGES:
            found |= {i: page for i, page in self._find_by_listing(taxa).items() if i in missing}
        elif missing:
            # Taxa hidden by a namesake come first.
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


def _species_on(page: WikiPage, checklist: Checklist) -> Taxon | None:
    """Return the species that a page is about, or None."""
    if isinstance(checklist, WikiChecklist):
        return _species_of_taxobox(page)
    names = [page.clues.best_binomial, *(without_qualifier(title) for title in page.titles)]
    for name in filter(None, names):
        found = checklist.find(name)
        listed = checklist.homonyms(name) if found is None else [found]
        if found is not None and found.rank == "genus":
            # "Anhinga" is a genus and the English name of one of its species.
            listed = [taxon for taxon in checklist.species_of(found) if fold(name) in map(fold, taxon.names)]
        for taxon in listed:
            if taxon.rank == "species" and match_page(page.clues, taxon, page.titles) is not Match.NO:
                return taxon
    return None


def _species_of_taxobox(page: WikiPage) -> Taxon | None:
    """Return the species that the taxobox of a page states; the title is its common name unless it is scientific."""
    stated = page.clues.binomial
    if stated is None:
        return None
    title = re.sub(r" \([^()]+\)$", "", page.title)
    names = [] if title.split()[0] == stated.split()[0] else [title]
    return own_taxon(stated, common_names=names, lineage=page.clues.lineage)


def _reason_for(page: WikiPage, checklist: Checklist) -> str:
    """Return why a page without a species is left out."""
    if page.clues.is_disambiguation:
        return reasons.DISAMBIGUATION
    if isinstance(checklist, WikiChecklist):
        return reasons.NOT_A_SPECIES
    known = checklist.find(without_qualifier(page.title))
    if (known is not None and known.rank != "species") or page.title.startswith(("List of ", "Lists of ")):
        return reasons.NOT_A_SPECIES
    binomial = page.clues.best_binomial
    if checklist.group != "birds":
        return reasons.NOT_IN_CHECKLIST if binomial else reasons.NOT_A_SPECIES
    if binomial is None and not page.clues.is_about_birds:
        return reasons.NOT_A_BIRD
    if page.clues.class_name and page.clues.class_name != "Aves":
        return reasons.NOT_A_BIRD
    return reasons.NOT_IN_CHECKLIST
