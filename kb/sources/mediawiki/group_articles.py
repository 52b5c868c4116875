"""Articles on genera and families for species that have no page of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from data.contracts import Checklist
from data.records import LeftOut, PageRef, Taxon
from kb import reasons
from kb.checklist.wiki_checklist import WithTaxoboxes
from kb.sources.mediawiki.locate import Locator, group_titled, page_ref
from kb.sources.mediawiki.wiki_pages import WikiPage

RANKS: Final = ("genus", "family")
TELL_APART: Final = ("kingdom", "class")


def with_group_articles(
    located: Iterable[tuple[Taxon, PageRef | LeftOut]], locator: Locator, checklist: Checklist
) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
    """Yield the located species, and one entry for each genus, else family, none of whose species has a page.

    Its species are left out as described by that article. Species of AviList are passed on as they are: nearly all
    have a page, and knowledge bases of birds hold species alone.
    """
    listed = checklist.listed if isinstance(checklist, WithTaxoboxes) else checklist
    without: list[tuple[Taxon, LeftOut]] = []
    covered: set[tuple[str, str]] = set()
    for taxon, place in located:
        if isinstance(place, PageRef):
            covered |= {(rank, taxon.lineage[rank]) for rank in RANKS if rank in taxon.lineage}
        elif place.reason == reasons.NO_PAGE and not (listed.group and listed.find(taxon.scientific_name)):
            without.append((taxon, place))
            continue
        yield taxon, place
    entries: dict[tuple[str, str], WikiPage] = {}
    for rank in RANKS:
        described = [taxon for taxon, _ in without if _entry_of(taxon, entries) is None]
        names = {taxon.lineage.get(rank, ""): None for taxon in described}
        wanted = [name for name in names if name and (rank, name) not in covered]
        pages = locator.pages_of_groups(wanted) if wanted else {}
        entries |= {(rank, name): page for name, page in pages.items() if page.clues.taxon.rank in (rank, "group")}
        covered |= {("family", taxon.lineage["family"]) for taxon in described
                    if _entry_of(taxon, entries) and "family" in taxon.lineage}  # fmt: skip
    given: set[tuple[str, str]] = set()
    for taxon, place in without:
        key = _entry_of(taxon, entries)
        if key is None:
            yield taxon, place
            continue
        page = entries[key]
        if key not in given:
            given.add(key)
            group = _group(taxon, *key, page)
            yield group, page_ref(group, page)
        yield taxon, replace(place, reason=reasons.IN_GROUP_ARTICLE, detail=f"{key[0]} article {page.title}")


def _entry_of(taxon: Taxon, entries: dict[tuple[str, str], WikiPage]) -> tuple[str, str] | None:
    """Return rank and name of the entry that describes a species; not a namesake in another kingdom or class."""
    for key in ((rank, taxon.lineage.get(rank, "")) for rank in RANKS):
        if key in entries:
            stated = entries[key].clues.lineage
            if all(stated.get(rank) in (None, name) for rank, name in taxon.lineage.items() if rank in TELL_APART):
                return key
    return None


def _group(species: Taxon, rank: str, name: str, page: WikiPage) -> Taxon:
    below = RANKS[: RANKS.index(rank) + 1]
    return group_titled(page, name, rank, {k: above for k, above in species.lineage.items() if k not in below})
