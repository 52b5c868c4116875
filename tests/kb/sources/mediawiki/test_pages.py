"""Walks through categories, and articles on genera and families for species without a page."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from data.cache_file import CacheFile
from data.contracts import Checklist
from data.errors import BadInput
from data.records import LeftOut, PageRef, Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from kb.checklist.shelf import Shelf
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes
from kb.sources.mediawiki import wiki_pages
from kb.sources.mediawiki.locate import with_group_articles
from tests.servers.faulty_wiki import FaultyWiki

SPECIES = """scientific_name,class,order,family,genus
Vanessa atalanta,Insecta,Lepidoptera,Nymphalidae,Vanessa
Vanessa cardui,Insecta,Lepidoptera,Nymphalidae,Vanessa
Danaus plexippus,Insecta,Lepidoptera,Nymphalidae,Danaus
Lycaena one,Insecta,Lepidoptera,Lycaenidae,Lycaena
Polyommatus one,Insecta,Lepidoptera,Lycaenidae,Polyommatus
Prunella moth,Insecta,Lepidoptera,Pyralidae,Prunella
"""
GROUPS = {
    "Vanessa atalanta": "{{Speciesbox|taxon=Vanessa atalanta}}",
    "Vanessa": "{{Automatic taxobox|taxon=Vanessa}}\n'''Vanessa''' is a genus.",
    "Danaus": "'''Danaus''' was a king of Egypt.",
    "Danaus (butterfly)": "{{Automatic taxobox|taxon=Danaus}}\n'''Danaus''' is a genus.",
    "Lycaenidae": "{{Automatic taxobox|taxon=Lycaenidae}}",
    "Nymphalidae": "{{Automatic taxobox|taxon=Nymphalidae}}",
    "Prunella": "{{Taxobox|regnum=Plantae|classis=Magnoliopsida|genus=Prunella}} is a genus",
    "Mniotilta": "{{Automatic taxobox|taxon=Mniotilta}}\n'''Mniotilta''' is a genus of birds.",
}


def test_each_category_is_asked_for_once_three_at_a_time_in_the_wikis_order(
    wiki: FaultyWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = [f"Category:Family {i}" for i in range(30)]
    wiki.categories = {
        "Category:Insects": ["Insect", *families],
        **{name: [f"Species {i}", "Category:Insects"] for i, name in enumerate(families)},
        "Category:Owls": ["Barn owl", "Template:Owls", "Category:Eared owls", "Category:Extinct owls"],
        "Category:Eared owls": ["Long-eared owl", "Category:Scops owls"],
        "Category:Extinct owls": ["Laughing owl", "Category:Eared owls", "Category:Owls"],
        "Category:Scops owls": ["Oriental scops owl"],
    }
    shown: list[tuple[str, int, int]] = []
    source = wiki.source()
    source.keep_look_ups(None, lambda *counts: shown.append(counts))
    owls = ["Barn owl", "Long-eared owl", "Laughing owl", "Oriental scops owl"]
    for depth, n_titles, n_asked in ((0, 1, 1), (1, 3, 3), (2, 4, 4), (9, 4, 4)):
        wiki.requests.clear()
        assert source._pages.members("Owls", depth=depth) == owls[:n_titles]
        assert sum("cmtitle" in request for request in wiki.requests) == n_asked
    assert shown == []  # of few categories
    wiki.requests.clear()
    wiki.delay_s = 0.02
    assert source.titles_in_category("Insects") == ["Insect", *(f"Species {i}" for i in range(30))]
    asked = [request["cmtitle"] for request in wiki.requests if "cmtitle" in request]
    assert len(asked) == len(set(asked)) == 31
    assert wiki.most_at_once == 3
    assert shown[-1] == ("categories", 31, 31)
    monkeypatch.setattr(wiki_pages, "MOST_CATEGORIES", 20)
    wiki.requests.clear()
    with pytest.raises(BadInput, match=r"Category:Insects on .* has more than 20 subcategories") as caught:
        source.titles_in_category("Insects")
    assert caught.value.hint is not None and "--checklist FILE" in caught.value.hint
    assert sum("cmtitle" in request for request in wiki.requests) == 1


def test_a_build_that_was_stopped_asks_for_no_title_or_category_again(wiki: FaultyWiki, tmp_path: Path) -> None:
    wiki.pages = {"Owl": "<p>An owl.</p>"}
    wiki.categories = {"Category:Owls": ["Owl"]}
    found = []
    for expected in ({"titles", "cmtitle"}, set()):
        wiki.requests.clear()
        with CacheFile(tmp_path / "look-ups" / "a.sqlite") as journal:
            source = wiki.source()
            source.keep_look_ups(journal, lambda *_: None)
            found.append((source.titles_in_category("Owls"), source._pages.look_up(["Owl", "None such"])))
            assert source._pages.look_up(["Bat"]) == {} and len(journal) == 2  # it may be added before the next try
        asked = [request for request in wiki.requests if request.get("titles") != "Bat"]
        assert {key for request in asked for key in ("titles", "cmtitle") if key in request} == expected
    assert found[0] == found[1] and found[0][0] == ["Owl"] and found[0][1].keys() == {"Owl"}


@pytest.fixture
def groups(wiki: FaultyWiki) -> FaultyWiki:
    wiki.wikitext = dict(GROUPS)
    wiki.pages = dict.fromkeys(GROUPS, "<p>A page.</p>")
    return wiki


def located(wiki: FaultyWiki, taxa: Sequence[Taxon], checklist: Checklist) -> tuple[dict[str, str], dict[str, str]]:
    source = wiki.source()
    found = list(with_group_articles(source.locate(taxa), source, checklist))
    pages = {f"{taxon.rank} {taxon.scientific_name}": place.title for taxon, place in found
             if isinstance(place, PageRef)}  # fmt: skip
    left_out = {taxon.scientific_name: f"{place.reason}: {place.detail}" for taxon, place in found
                if isinstance(place, LeftOut)}  # fmt: skip
    return pages, left_out


def test_a_genus_else_a_family_stands_for_species_without_pages(groups: FaultyWiki, tmp_path: Path) -> None:
    (tmp_path / "species.csv").write_text(SPECIES)
    checklist = Shelf(tmp_path / "home").add(tmp_path / "species.csv")
    for groups.n_pages in (None, 60_000_000):  # listed, and looked up
        pages, left_out = located(groups, select(checklist, "Lepidoptera"), checklist)
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
    birds = load_checklist()
    for avilist in (birds, WithTaxoboxes(birds)):
        pages, left_out = located(groups, select(birds, "Mniotilta varia"), avilist)
        assert pages == {} and list(left_out) == ["Mniotilta varia"]


def test_pages_of_groups_are_taken_where_no_page_is_of_their_species(groups: FaultyWiki) -> None:
    locator = groups.source()
    for titles, taken in (
        (["Vanessa", "Vanessa atalanta", "Danaus"], ["Vanessa atalanta"]),
        (["Lycaenidae", "Danaus (butterfly)"], ["Danaus", "Lycaenidae"]),
    ):
        places = [place for _, place in locator.match_titles(titles, WikiChecklist())]
        assert sorted(place[0].scientific_name for place in places if not isinstance(place, LeftOut)) == taken
