"""The topic of a page, from the wikitext or HTML of its first section."""

from __future__ import annotations

import pytest

from data.records import Article, Infobox, Source, Taxon
from kb.sources.mediawiki.pages.clues import Clues, Match, clues_from_article, clues_from_wikitext, match_page

MERLIN = Taxon(
    taxon_id="falco-columbarius",
    scientific_name="Falco columbarius",
    rank="species",
    common_names=("Merlin", "Pigeon Hawk"),
    lineage={"class": "Aves", "order": "Falconiformes", "family": "Falconidae", "genus": "Falco"},
    synonyms=("Aesalon columbarius",),
)


@pytest.mark.parametrize(
    "wikitext",
    [
        "{{Speciesbox|taxon=Falco columbarius}}\nText.",
        "{{Speciesbox\n| name = Merlin\n| genus = Falco (bird)\n| species = columbarius <!-- L. -->\n}}",
        "{{Speciesbox | genus = Falco | species = columbarius | authority = [[Carl Linnaeus|Linnaeus]], 1758}}",
        "{{Taxobox\n| genus = ''[[Falco (bird)|Falco]]''\n| species = '''''F. columbarius'''''\n}}",
        "{{Taxobox\n| status = LC<ref name=\"a/b\" />\n| binomial = ''Falco columbarius''<ref>B. species = x</ref>\n}}",
        "{{short description|Species of bird}}\n{{speciesbox|taxon = Falco columbarius|range={{x|taxon=Y z}}}}",
    ],
)
def test_a_taxobox_binomial_is_read_from_wikitext(wikitext: str) -> None:
    clues = clues_from_wikitext(wikitext)
    assert clues.binomial == "Falco columbarius"
    assert clues.has_taxobox
    assert match_page(clues, MERLIN, ("Any title",)) is Match.BINOMIAL


def test_without_a_taxobox_the_lead_gives_the_binomial() -> None:
    clues = clues_from_wikitext(
        "[[File:M.jpg|thumb|The [[merlin]]]]\nThe '''merlin''' (''Falco columbarius''), once ''Lithofalco'', is small."
    )
    assert clues.binomial is None
    assert clues.lead_binomials == ("Falco columbarius",)
    assert match_page(clues, MERLIN, ("Small falcon",)) is Match.LEAD


@pytest.mark.parametrize(
    ("in_italics", "expected"),
    [
        ("Falco columbarius", ("Falco columbarius",)),
        ("Falco columbarius suckleyi", ("Falco columbarius",)),
        ("Falco columbarius flies south", ()),
        ("Falco", ()),
    ],
)
def test_a_lead_binomial_may_be_followed_only_by_a_subspecies(in_italics: str, expected: tuple[str, ...]) -> None:
    """A book title or an italic sentence that begins with a binomial does not name a species."""
    assert clues_from_wikitext(f"The merlin, ''{in_italics}'', is small.").lead_binomials == expected


@pytest.mark.parametrize(
    ("wikitext", "titles", "match"),
    [
        ("{{Speciesbox|taxon=Aesalon columbarius}}", ("X",), Match.SYNONYM),
        ("{{Speciesbox|taxon=Tinnunculus columbarius}}", ("Merlin",), Match.MENTION),
        ("{{Speciesbox|taxon=Falco regulus}}", ("merlin",), Match.MENTION),
        ("{{Speciesbox|taxon=Falco regulus}}", ("X",), Match.NO),
        ("{{Speciesbox|taxon=Salmo trutta}}", ("Merlin",), Match.NO),
        ("{{Subspeciesbox|genus=Falco|species=columbarius|subspecies=suckleyi}}\nA race.", ("Black merlin",), Match.NO),
        ("A small falcon, Falco columbarius.", ("Merlin (bird)",), Match.MENTION),
        ("The '''merlin''' is a small bird of prey.", ("Merlin",), Match.NAME),
        ("The '''merlin''' is a species of falcon from the north.", ("Pigeon hawk", "Merlin"), Match.NAME),
        ("The '''merlin''' is in the genus ''Falco''.", ("Merlin",), Match.NAME),
        ("'''Merlin''' is a wizard who was fond of birds.", ("Merlin",), Match.NO),
        ("'''Merlin''' is a film of 1998; a falcon has a part in it.", ("Merlin",), Match.NO),
        ("'''Merlin''' may refer to:\n* [[Merlin (bird)]] (''Falco columbarius'')", ("Merlin",), Match.NO),
        ("The '''merlin''' (''Falco columbarius'') is a bird.\n{{disambiguation}}", ("Merlin",), Match.NO),
        ("", ("Merlin",), Match.NO),
        ("", ("Falco columbarius",), Match.NO),
    ],
)  # fmt: skip
def test_pages_match_a_taxon_by_taxobox_lead_or_title(wikitext: str, titles: tuple[str, ...], match: Match) -> None:
    assert match_page(clues_from_wikitext(wikitext), MERLIN, titles) is match


def test_a_parsed_article_gives_the_same_clues() -> None:
    box = Infobox(name="Merlin", binomial="Falco columbarius", classification={"class": "Aves"})
    article = Article(source=Source(title="X"), text="The merlin (Falco columbarius) is small.", infobox=box)
    clues = clues_from_article(article)
    assert match_page(clues, MERLIN, ("X",)) is Match.BINOMIAL
    assert clues.is_about_birds
    bare = Article(source=Source(title="X"), text="The merlin (Falco columbarius) is small.")
    assert match_page(clues_from_article(bare), MERLIN, ("X",)) is Match.LEAD


def test_a_page_of_another_class_is_not_about_birds() -> None:
    assert not Clues(has_taxobox=True, lineage={"class": "Amphibia"}).is_about_birds
    toad = clues_from_wikitext("{{Taxobox|classis=[[Amphibia]]|binomial=''Bufo bufo''}}")
    assert (toad.class_name, toad.best_binomial) == ("Amphibia", "Bufo bufo")
