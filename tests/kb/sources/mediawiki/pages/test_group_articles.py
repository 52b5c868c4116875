"""Articles on genera and families for species without a page, from a listed and from a large wiki."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from data.contracts import Checklist
from data.records import LeftOut, PageRef, Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.shelf import Shelf
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes
from kb.sources.mediawiki.pages.group_articles import with_group_articles
from kb.sources.mediawiki.source import WikipediaSource
from tests.servers.faulty_wiki import FaultyWiki

SPECIES = """scientific_name,class,order,family,genus
Vanessa atalanta,Insecta,Lepidoptera,Nymphalidae,Vanessa
Vanessa cardui,Insecta,Lepidoptera,Nymphalidae,Vanessa
Danaus plexippus,Insecta,Lepidoptera,Nymphalidae,Danaus
Lycaena one,Insecta,Lepidoptera,Lycaenidae,Lycaena
Polyommatus one,Insecta,Lepidoptera,Lycaenidae,Polyommatus
Prunella moth,Insecta,Lepidoptera,Pyralidae,Prunella
"""


def edit(wiki: FaultyWiki, title: str, wikitext: str) -> None:
    wiki.wikitext[title], wiki.pages[title] = wikitext, "<p>A page.</p>"


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        edit(wiki, "Vanessa atalanta", "{{Speciesbox|taxon=Vanessa atalanta}}")
        edit(wiki, "Vanessa", "{{Automatic taxobox|taxon=Vanessa}}\n'''Vanessa''' is a genus.")
        edit(wiki, "Danaus", "'''Danaus''' was a king of Egypt.")
        edit(wiki, "Danaus (butterfly)", "{{Automatic taxobox|taxon=Danaus}}\n'''Danaus''' is a genus.")
        edit(wiki, "Lycaenidae", "{{Automatic taxobox|taxon=Lycaenidae}}")
        edit(wiki, "Nymphalidae", "{{Automatic taxobox|taxon=Nymphalidae}}")
        edit(wiki, "Prunella", "{{Taxobox|regnum=Plantae|classis=Magnoliopsida|genus=Prunella}} is a genus")
        yield wiki


@pytest.fixture
def checklist(tmp_path: Path) -> Checklist:
    (tmp_path / "species.csv").write_text(SPECIES)
    return Shelf(tmp_path / "home").add(tmp_path / "species.csv")


def located(wiki: FaultyWiki, taxa: Sequence[Taxon], checklist: Checklist) -> tuple[dict[str, str], dict[str, str]]:
    source = WikipediaSource(wiki.api_url, contact=None)
    found = list(with_group_articles(source.locate(taxa), source.locator, checklist))
    pages = {f"{taxon.rank} {taxon.scientific_name}": place.title for taxon, place in found
             if isinstance(place, PageRef)}  # fmt: skip
    left_out = {taxon.scientific_name: f"{place.reason}: {place.detail}" for taxon, place in found
                if isinstance(place, LeftOut)}  # fmt: skip
    return pages, left_out


@pytest.mark.parametrize("n_pages", [None, 60_000_000])
def test_a_genus_else_a_family_stands_for_species_without_pages(
    wiki: FaultyWiki, checklist: Checklist, n_pages: int | None
) -> None:
    wiki.n_pages = n_pages
    order = checklist.find("Lepidoptera")
    assert order is not None
    pages, left_out = located(wiki, checklist.species_of(order), checklist)
    assert pages == {
        "species Vanessa atalanta": "Vanessa atalanta",
        "genus Danaus": "Danaus (butterfly)",
        "family Lycaenidae": "Lycaenidae",
    }
    assert left_out == {
        "Vanessa cardui": "no page: ",  # the article on its genus would stand for the red admiral too
        "Danaus plexippus": "in a genus or family article: genus article Danaus (butterfly)",
        "Lycaena one": "in a genus or family article: family article Lycaenidae",
        "Polyommatus one": "in a genus or family article: family article Lycaenidae",
        "Prunella moth": "no page: ",  # the genus with a page is one of plants
    }


def test_birds_of_avilist_have_no_entries_of_genera(wiki: FaultyWiki) -> None:
    edit(wiki, "Mniotilta", "{{Automatic taxobox|taxon=Mniotilta}}\n'''Mniotilta''' is a genus of birds.")
    birds = load_checklist()
    warbler = birds.find("Mniotilta varia")
    assert warbler is not None
    for checklist in (birds, WithTaxoboxes(birds)):
        pages, left_out = located(wiki, [warbler], checklist)
        assert pages == {} and list(left_out) == ["Mniotilta varia"]


@pytest.mark.parametrize(
    ("titles", "taken"),
    [
        (["Vanessa", "Vanessa atalanta"], ["Vanessa atalanta"]),
        (["Vanessa", "Danaus"], ["Vanessa"]),
        (["Lycaenidae", "Danaus (butterfly)"], ["Danaus", "Lycaenidae"]),
    ],
)
def test_pages_of_groups_are_taken_where_no_page_is_of_their_species(
    wiki: FaultyWiki, titles: list[str], taken: list[str]
) -> None:
    source = WikipediaSource(wiki.api_url, contact=None)
    places = [place for _, place in source.locator.match_titles(titles, WikiChecklist())]
    assert sorted(place[0].scientific_name for place in places if not isinstance(place, LeftOut)) == taken
