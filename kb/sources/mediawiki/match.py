"""Matching of taxa and pages, at most one each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from data.records import LeftOut, PageRef, Taxon
from kb import reasons
from kb.checklist.names import fold
from kb.sources.article_source import left_out
from kb.sources.mediawiki.clues import Match, match_page, without_qualifier
from kb.sources.mediawiki.wiki_pages import WikiPage


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
    seen: set[str] = set()
    rounds = []
    for titles in (first, second, third):
        fresh = [title for title in dict.fromkeys(titles) if title not in seen]
        seen.update(fresh)
        rounds.append(fresh)
    return rounds


def sentence_case(name: str) -> str:
    """Return an English name in sentence case, as Wikipedia spells its titles.

    Example:
        >>> sentence_case("Black-crowned Night Heron"), sentence_case("Cetti's Warbler")
        ('Black-crowned night heron', "Cetti's warbler")
    """
    head, *tail = name.split(" ")
    return " ".join([head[:1].upper() + head[1:], *(word.lower() for word in tail)])


def candidates(taxa: Sequence[Taxon], pages: Iterable[WikiPage]) -> Iterator[tuple[int, WikiPage]]:
    """Yield `(position of the taxon, page)` for each page that shares a title, redirect or binomial with a taxon."""
    by_name: dict[str, list[int]] = {}
    for i, taxon in enumerate(taxa):
        for name in taxon.names:
            by_name.setdefault(fold(name), []).append(i)
    for page in pages:
        names = [without_qualifier(title) for title in page.titles]
        if page.clues.best_binomial:
            names.append(page.clues.best_binomial)
        for i in dict.fromkeys(i for name in names for i in by_name.get(fold(name), ())):
            yield i, page


def assign(taxa: Sequence[Taxon], pairs: Iterable[tuple[int, WikiPage]]) -> dict[int, WikiPage | LeftOut]:
    """Return the page of each taxon with candidates, or why none of them fits; no page is assigned twice.

    Better matches come first, then pages titled with the preferred name, then the order of the taxa.
    """
    found: list[tuple[int, bool, int, WikiPage]] = []
    result: dict[int, WikiPage | LeftOut] = {}
    for i, page in pairs:
        match = match_page(page.clues, taxa[i], page.titles)
        has_preferred_title = fold(without_qualifier(page.title)) == fold(taxa[i].common_name)
        if match is not Match.NO:
            found.append((-match, not has_preferred_title, i, page))
            continue
        result.setdefault(i, left_out(taxa[i], no_match(page), page.title))
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


def no_match(page: WikiPage) -> str:
    """Return why a page that shares a name with a taxon does not describe it."""
    if page.clues.is_unusable:
        return reasons.MALFORMED
    return reasons.DISAMBIGUATION if page.clues.is_disambiguation else reasons.OTHER_SUBJECT


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
