"""Search for the wiki pages of taxa, list titles and terms, and matching of taxa and pages, at most one each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from data.records import HIGHER_RANKS, LeftOut, PageRef, Taxon, taxon_id
from data.words import without_qualifier
from kb import reasons
from kb.checklist.names import fold
from kb.checklist.selection import own_taxon
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes
from kb.distill.terms import term_id
from kb.sources.article_source import left_out
from kb.sources.mediawiki.clues import Match, bird_name, match_page
from kb.sources.mediawiki.wiki_client import TITLES_PER_REQUEST
from kb.sources.mediawiki.wiki_pages import PAGES_PER_LISTING, WikiPage, WikiPages, clean_title

if TYPE_CHECKING:
    from data.contracts import Checklist

SMALL_WIKI_PAGES = 5_000  # listed in ten requests, to find birds under unexpected titles
LARGEST_LISTED_WIKI = 60_000
# A search costs two requests: a few are always made, then one per so many taxa found.
MOST_SEARCHES = 5
SEARCHES_PER_FOUND = 20
MOST_SEARCHES_OF_ALL = 600
LINEAGE: Final = ("kingdom", "phylum", *HIGHER_RANKS)
QUALIFIERS: Final = ("genus", "plant", "fungus", "butterfly", "moth", "beetle", "fish", "frog", "spider", "gastropod")
"""Of titles of genera that share their name with something better known."""


class Locator:
    """Finds the pages of taxa and terms on one wiki, and remembers which listed pages remain."""

    def __init__(self, pages: WikiPages) -> None:
        self._pages = pages
        self._listed: dict[str, WikiPage] = {}
        self._claimed: dict[str, str] = {}  # title -> taxon_id

    def locate(
        self, taxa: Sequence[Taxon], titles: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield the page of each taxon, or why it has none; taxon_id -> title so far is tried first.

        The pages of a small wiki are listed and matched with the names. On a large one, names are looked up, 50 per
        request, the rarer spellings only for taxa not found yet. The first section of a page must be about the taxon.

        Raises:
            SourceError: if the wiki is not available.
        """
        lists = bool(taxa) and self._should_list(len(taxa))
        found = self._find_by_listing(taxa) if lists else self._find_by_title(taxa, titles or {})
        for i, taxon in enumerate(taxa):
            page = found.get(i) or left_out(taxon, reasons.NO_PAGE)
            yield taxon, page if isinstance(page, LeftOut) else page_ref(taxon, page)

    def unclaimed(self, checklist: Checklist) -> list[LeftOut]:
        """Return the listed articles that match no taxon, with reasons; empty for a wiki too large to be listed.

        Articles on species of the checklist that were not located are not returned.
        """
        checklist, _ = _listed(checklist)
        taken = {taxon_id: title for title, taxon_id in self._claimed.items()}
        found = []
        for page in self._listed.values():
            if page.title in self._claimed:
                continue
            taxon = None if page.clues.is_disambiguation else species_on(page, checklist)
            if taxon is None:
                found.append(_rejected(page, page.title, checklist))
            elif taxon.taxon_id in taken:
                detail = f"as {taken[taxon.taxon_id]}"
                found.append(LeftOut(name=page.title, reason=reasons.DUPLICATE, detail=detail))
        return found

    def match_titles(
        self, titles: Sequence[str], checklist: Checklist
    ) -> Iterator[tuple[str, tuple[Taxon, PageRef] | LeftOut]]:
        """Yield the species of each title's page, or why there is none.

        The binomial of the page decides, or else its title and redirects. Of two titles with the same species, the
        first is taken. The page of a genus or family is taken where no page of its species is, birds apart.
        """
        looked_up = self._pages.look_up(titles)
        pages = {title: page for title, page in looked_up.items() if page.namespace == 0}
        on = ((title, species_on(page, checklist) or group_on(page, checklist)) for title, page in pages.items())
        named = [(title, taxon) for title, taxon in on if taxon is not None]
        order = {"species": 0, "genus": 1}
        found: dict[str, tuple[Taxon, PageRef] | LeftOut] = {}
        taken: dict[str, str] = {}  # taxon_id -> title
        covered: set[tuple[str, str]] = set()
        for title, taxon in sorted(named, key=lambda each: order.get(each[1].rank, 2)):
            if (taxon.rank, taxon.scientific_name) in covered:
                detail = f"{taxon.rank} {taxon.scientific_name}; its species have their own articles"
                found[title] = LeftOut(name=title, reason=reasons.NOT_A_SPECIES, detail=detail)
            elif taxon.taxon_id in taken:
                found[title] = LeftOut(name=title, reason=reasons.DUPLICATE, detail=f"as {taken[taxon.taxon_id]}")
            else:
                found[title] = taxon, page_ref(taxon, pages[title])
                taken[taxon.taxon_id] = title
                covered |= {*taxon.lineage.items()}
        if isinstance(checklist, WithTaxoboxes):  # "not a bird" is a reason among birds alone
            has_listed = any(
                checklist.find(place[0].scientific_name) for place in found.values() if isinstance(place, tuple)
            )
            checklist = checklist.listed if has_listed else WikiChecklist()
        for title in dict.fromkeys(titles):
            if title in pages:
                yield title, found.get(title) or _rejected(pages[title], title, checklist)
            else:
                yield title, LeftOut(name=title, reason=reasons.NO_PAGE)

    def pages_of_groups(self, names: Sequence[str]) -> dict[str, WikiPage]:
        """Return name -> page of the genera and families that have an article, from the listing of a small wiki.

        On a large one the names are looked up, and those hidden by a namesake under titles such as "Vanessa (plant)".
        """
        if self._listed:
            return _groups_by_name(self._listed.values(), names)
        seen = self._pages.look_up(names)
        found = _groups_by_name(seen.values(), names)
        hidden = [name for name in names if name in seen and name not in found]
        tries = [f"{name} ({kind})" for name in hidden for kind in QUALIFIERS]
        return found | _groups_by_name(self._pages.look_up(tries).values(), hidden) if tries else found

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
        found = assign(taxa, pages)
        self._listed |= {page.title: page for page in pages}
        self._claimed |= {page.title: taxa[i].taxon_id for i, page in found.items() if isinstance(page, WikiPage)}
        return found

    def _find_by_title(self, taxa: Sequence[Taxon], titles: Mapping[str, str]) -> dict[int, WikiPage | LeftOut]:
        tries = [[[titles[each.taxon_id]] if each.taxon_id in titles else [], *title_tries(each)] for each in taxa]
        if sum(len(names) for rounds in tries for names in rounds) <= TITLES_PER_REQUEST:
            tries = [[list(chain.from_iterable(rounds))] for rounds in tries]
        seen: dict[str, WikiPage] = {}
        found: dict[int, WikiPage | LeftOut] = {}
        missing = list(range(len(taxa)))

        def look_up(wanted: Sequence[str]) -> None:
            seen.update(self._pages.look_up(wanted))
            found.update(assign(taxa, [page for page in merged(seen) if page.namespace == 0]))
            missing[:] = [i for i in range(len(taxa)) if not isinstance(found.get(i), WikiPage)]

        for k in range(len(tries[0]) if tries else 0):
            if wanted := [title for i in missing for title in tries[i][k]]:
                look_up(wanted)
        if missing and self._pages.site.n_pages <= SMALL_WIKI_PAGES:
            found |= {i: page for i, page in self._find_by_listing(taxa).items() if i in missing}
        elif missing:
            # Taxa hidden by a namesake come first.
            missing.sort(key=lambda i: i not in found)
            n_searches = min(MOST_SEARCHES + (len(taxa) - len(missing)) // SEARCHES_PER_FOUND, MOST_SEARCHES_OF_ALL)
            searches = [self._pages.search(f'"{taxa[i].scientific_name}"', 3) for i in missing[:n_searches]]
            look_up([title for hits in searches for title, _ in hits])
        return found

    def _search_term(self, name: str) -> WikiPage | None:
        wanted = fold(name)
        for title, redirect in self._pages.search(name):
            if wanted in (fold(title), fold(redirect or "")):
                return self._pages.look_up([title]).get(clean_title(title))
        return None


def species_on(page: WikiPage, checklist: Checklist) -> Taxon | None:
    """Return the species that a page is about, or None."""
    listed, may_state = _listed(checklist)
    names = [page.clues.best_binomial, *map(bird_name, page.titles)]
    for name in filter(None, names):
        found = listed.find(name)
        listed_taxa = listed.homonyms(name) if found is None else [found]
        if found is not None and found.rank == "genus":
            # "Anhinga" is a genus and the English name of one of its species.
            listed_taxa = [taxon for taxon in listed.species_of(found) if fold(name) in map(fold, taxon.names)]
        for taxon in listed_taxa:
            if taxon.rank == "species" and match_page(page.clues, taxon, page.titles) is not Match.NO:
                return taxon
    return _species_of_taxobox(page) if may_state and not _is_of_group(page, listed) else None


def group_on(page: WikiPage, checklist: Checklist) -> Taxon | None:
    """Return the genus or family that a page is about, or None; never one of birds.

    Nearly all species of AviList have a page of their own, and its knowledge bases are to hold species alone.
    """
    (rank, name), (listed, may_state) = page.clues.taxon, _listed(checklist)
    if rank not in ("genus", "family", "group") or not name.isalpha() or checklist.group or _is_of_group(page, listed):
        return None
    if not may_state:
        known = listed.find(name)
        return known if known is not None and known.rank in ("genus", "family") else None
    return group_titled(page, name, "family" if rank == "family" else "genus", _above(page))  # the fetched page tells


def _listed(checklist: Checklist) -> tuple[Checklist, bool]:
    """Return the checklist with a list, empty for the wiki alone, and whether pages may state other species."""
    if isinstance(checklist, WithTaxoboxes):
        return checklist.listed, True
    return (WikiChecklist(), True) if isinstance(checklist, WikiChecklist) else (checklist, False)


def _above(page: WikiPage) -> dict[str, str]:
    return {rank: page.clues.lineage[rank] for rank in LINEAGE if rank in page.clues.lineage}


def group_titled(page: WikiPage, name: str, rank: str, lineage: Mapping[str, str]) -> Taxon:
    """Return a genus or family with the title of its page as its common name, unless that is scientific."""
    title = without_qualifier(page.title)
    common_names = () if fold(title) == fold(name) else (title,)
    return Taxon(taxon_id=taxon_id(name), scientific_name=name, rank=rank, common_names=common_names, lineage=lineage)


def _is_of_group(page: WikiPage, listed: Checklist) -> bool:
    """Return whether a page is about the group of a checklist: a bird that AviList lacks, or a genus of birds."""
    if not listed.group:
        return False
    clues = page.clues
    is_listed = not clues.class_name and not clues.binomial and listed.find(clues.taxon.name) is not None
    return clues.is_of_a_bird or is_listed


def _species_of_taxobox(page: WikiPage) -> Taxon | None:
    """Return the species that the taxobox of a page states; the title is its common name unless it is scientific."""
    stated = page.clues.binomial
    if stated is None or not page.clues.has_taxobox:
        return None
    taxon = with_title(own_taxon(stated, lineage=page.clues.lineage), page.title)
    return replace(taxon, lineage={**_above(page), **taxon.lineage})


def with_title(species: Taxon, title: str) -> Taxon:
    """Return a species with the title of its page as its common name, unless that is scientific."""
    name = without_qualifier(title)
    is_scientific = name.split(" ")[0] in (
        species.scientific_name.split()[0],
        *(n.split()[0] for n in species.synonyms),
    )
    return species if is_scientific else replace(species, common_names=(name,))


def _groups_by_name(pages: Iterable[WikiPage], names: Sequence[str]) -> dict[str, WikiPage]:
    groups = [page for page in pages if page.clues.taxon.rank in ("genus", "family", "group") and page.namespace == 0]
    return {page.clues.taxon.name: page for page in reversed(groups) if page.clues.taxon.name in names}


def _rejected(page: WikiPage, title: str, checklist: Checklist) -> LeftOut:
    """Return why a page without a species is left out, with the taxon that its taxobox states."""
    detail, reason = " ".join(filter(None, page.clues.taxon)), _reason_for(page, checklist)
    if reason == reasons.NO_TAXOBOX:
        detail = f"{page.clues.subject_binomial}: --names takes it"
    return LeftOut(name=title, reason=reason, detail=detail)


def _reason_for(page: WikiPage, checklist: Checklist) -> str:
    if page.clues.is_disambiguation:
        return reasons.DISAMBIGUATION
    is_list = page.title.startswith(("List of ", "Lists of "))
    if isinstance(checklist, WikiChecklist):
        if page.clues.has_taxobox or is_list:
            return reasons.NOT_A_SPECIES
        return reasons.NO_TAXOBOX if page.clues.subject_binomial else reasons.OTHER_SUBJECT
    known = checklist.find(bird_name(page.title))
    if (known is not None and known.rank != "species") or is_list:
        return reasons.NOT_A_SPECIES
    if checklist.group != "birds":
        return reasons.NOT_IN_CHECKLIST if page.clues.best_binomial else reasons.NOT_A_SPECIES
    may_be_one = not page.clues.class_name and (page.clues.has_taxobox or page.clues.lead_binomials)
    return reasons.NOT_IN_CHECKLIST if page.clues.is_of_a_bird or may_be_one else reasons.NOT_A_BIRD


def title_tries(taxon: Taxon) -> list[list[str]]:
    """Return possible page titles of a taxon, in rounds from the most to the least likely.

    First the binomial, which never leads to a namesake; then the preferred English name as checklists and as wikis
    spell it; then all other names and spellings.
    """
    english = list(taxon.common_names)
    first = [taxon.scientific_name]
    second = [spelling for name in english[:1] for spelling in (sentence_case(name), name)]
    third = [*taxon.synonyms]
    for name in english[:1]:
        third += [f"{sentence_case(name)} (bird)", *_half_capitalised(name)]
        if "grey" in name.lower():  # the most common spelling variant of bird names
            american = name.replace("Grey", "Gray").replace("grey", "gray")
            third += [sentence_case(american), american]
    for name in english[1:]:
        third += [sentence_case(name), name]
    second = [title for title in dict.fromkeys(second) if title not in first]
    return [first, second, [title for title in dict.fromkeys(third) if title not in (*first, *second)]]


def sentence_case(name: str) -> str:
    """Return an English name in sentence case, as Wikipedia spells its titles."""
    head, *tail = name.split(" ")
    return " ".join([head[:1].upper() + head[1:], *(word.lower() for word in tail)])


def assign(taxa: Sequence[Taxon], pages: Iterable[WikiPage]) -> dict[int, WikiPage | LeftOut]:
    """Return the page of each taxon, by position, or why no page that shares a name with it fits; none is taken twice.

    Better matches come first, then pages titled with the preferred name, then the order of the taxa.
    """
    by_name: dict[str, list[int]] = {}
    for i, taxon in enumerate(taxa):
        for name in taxon.names:
            by_name.setdefault(fold(name), []).append(i)
    found: list[tuple[int, bool, int, WikiPage]] = []
    result: dict[int, WikiPage | LeftOut] = {}
    for page in pages:
        names = [*map(bird_name, page.titles), *filter(None, (page.clues.best_binomial,))]
        for i in dict.fromkeys(i for name in names for i in by_name.get(fold(name), ())):
            match = match_page(page.clues, taxa[i], page.titles)
            has_preferred_title = fold(bird_name(page.title)) == fold(taxa[i].common_name)
            if match is not Match.NO:
                found.append((-match, not has_preferred_title, i, page))
                continue
            reason = reasons.DISAMBIGUATION if page.clues.is_disambiguation else reasons.OTHER_SUBJECT
            result.setdefault(i, left_out(taxa[i], reason, page.title))
    found.sort(key=lambda item: item[:3])
    taken: set[str] = set()
    for _, _, i, page in found:
        if isinstance(result.get(i), WikiPage):
            continue
        if page.title in taken:
            result[i] = left_out(taxa[i], reasons.DUPLICATE, page.title)
        else:
            taken.add(page.title)
            result[i] = page
    return result


def page_ref(taxon: Taxon, page: WikiPage) -> PageRef:
    """Return the page reference of a taxon."""
    return PageRef(subject_id=taxon.taxon_id, title=page.title, revision=page.revision)


def merged(pages: Mapping[str, WikiPage]) -> list[WikiPage]:
    """Return the pages of a look-up, each once, with all the titles that led to it."""
    found: dict[str, WikiPage] = {}
    for page in pages.values():
        redirects = found[page.title].redirects if page.title in found else ()
        found[page.title] = replace(page, redirects=tuple(dict.fromkeys((*redirects, *page.redirects))))
    return list(found.values())


def _half_capitalised(name: str) -> Iterator[str]:
    """Yield the spellings with one more capital, such as "Great Indian bustard"."""
    words = name.split(" ")
    for i in range(1, len(words)):
        yield " ".join(word if j in (0, i) else word.lower() for j, word in enumerate(words))


GROUPS: Final = ("genus", "family")
TELL_APART: Final = ("kingdom", "class")


def with_group_articles(
    located: Iterable[tuple[Taxon, PageRef | LeftOut]], locator: Locator, checklist: Checklist
) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
    """Yield the located species, and one entry for each genus, else family, none of whose species has a page.

    Its species are left out as described by that article. Species of AviList are passed on as they are: nearly all
    have a page, and knowledge bases of birds hold species alone.
    """
    listed, _ = _listed(checklist)
    without: list[tuple[Taxon, LeftOut]] = []
    covered: set[tuple[str, str]] = set()
    for taxon, place in located:
        if isinstance(place, PageRef):
            covered |= {(rank, taxon.lineage[rank]) for rank in GROUPS if rank in taxon.lineage}
        elif place.reason == reasons.NO_PAGE and not (listed.group and listed.find(taxon.scientific_name)):
            without.append((taxon, place))
            continue
        yield taxon, place
    for n, rank in enumerate(GROUPS, 1):
        by_name: dict[str, list[tuple[Taxon, LeftOut]]] = {}
        for taxon, left in without:
            by_name.setdefault(taxon.lineage.get(rank, ""), []).append((taxon, left))
        wanted = [name for name in by_name if name and (rank, name) not in covered]
        pages = locator.pages_of_groups(wanted) if wanted else {}
        without = []
        for name, species in by_name.items():
            group: Taxon | None = None
            for taxon, left in species:
                if (page := pages.get(name)) is None or not _describes(page, rank, taxon):
                    without.append((taxon, left))
                    continue
                if group is None:
                    above = {each: taxon.lineage[each] for each in taxon.lineage if each not in GROUPS[:n]}
                    group = group_titled(page, name, rank, above)
                    yield group, page_ref(group, page)
                covered.add(("family", taxon.lineage.get("family", "")))
                yield taxon, replace(left, reason=reasons.IN_GROUP_ARTICLE, detail=f"{rank} article {page.title}")
    yield from without


def _describes(page: WikiPage, rank: str, species: Taxon) -> bool:
    """Return whether a page is on a group of the species, and not on a namesake in another kingdom or class."""
    stated, lineage = page.clues.lineage, species.lineage
    return page.clues.taxon.rank in (rank, "group") and all(
        stated.get(each) in (None, lineage[each]) for each in TELL_APART if each in lineage
    )
