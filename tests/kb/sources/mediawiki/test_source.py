"""A wiki as a source: pages of taxa, request counts and reasons for left-out pages; odd pages in the words of editors."""

# ruff: noqa: E501 (wikitext stays as editors write it)
from collections import Counter
from collections.abc import Sequence

import pytest

from data.errors import UnknownTaxon
from data.records import Failure, FetchedPage, LeftOut, PageRef, Source, Taxon
from kb.checklist.avilist import load_checklist
from kb.http import RetryPolicy
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.faulty_wiki import Fault, FaultyWiki

PAGES: dict[str, str] = {
    # Titles that belong to other subjects; the page of the bird has a suffix in brackets.
    "Merlin": "'''Merlin''' is a wizard in the legends of King Arthur; no picture of him is known.",
    "Merlin (bird)": "{{Speciesbox\n| name = Merlin\n| taxon = Falco columbarius\n}}\n"
    "The '''merlin''' (''Falco columbarius'') is a small [[falcon]].\n\n== Description ==\nMales are blue-grey above.",
    "Falco columbarius": "#REDIRECT Merlin (bird)",
    "Kea": "'''Kea''' may refer to:\n* [[Kea (island)]], in Greece\n* [[Kea (parrot)]]\n\n{{disambiguation}}",
    "Kea (parrot)": "{{Speciesbox | genus = Nestor | species = notabilis | authority = [[John Gould|Gould]], 1856 }}\n"
    "The '''kea''' is a large species of parrot of New Zealand.",
    "Ruff": "A '''ruff''' is a pleated collar of the sixteenth century; birds of fashion wore it in black and white.",
    # Titles in other spellings.
    "NORTHERN CARDINAL": "{{Speciesbox|taxon=Cardinalis cardinalis}}\nThe '''northern cardinal''' is red.",
    "Rüppell’s vulture": "{{Speciesbox|genus=Gyps|species=rueppelli}}\n'''Rüppell's vulture''' is a large bird of prey.",
    "Gray Heron": "The '''gray heron''' (''Ardea cinerea'') is a wading bird.\n\n== Appearance ==\nLong-necked and grey.",
    # A title outside any checklist; only the binomial identifies the species.
    "Hoopoe of the old world": "The '''hoopoe of the old world''' (''Upupa epops'') has a crest like a fan.",
    # The genus has moved since the page was written.
    "Northern goshawk": "{{Taxobox\n| name = Northern goshawk\n| binomial = ''Accipiter gentilis''\n| classis = [[Bird|Aves]]\n}}\n"
    "The '''northern goshawk''' is a raptor.",
    # A genus and its species; a subspecies; a redirect to a redirect.
    "Struthio": "{{Automatic taxobox|taxon=Struthio}}\n'''''Struthio''''' is the genus of the ostriches, "
    "such as ''Struthio camelus''.",
    "Common ostrich": "{{Speciesbox|taxon=Struthio camelus}}\nThe largest bird.",
    "Struthio camelus": "#REDIRECT Ostrich",
    "Ostrich": "#REDIRECT Common ostrich",
    "Florida cardinal": "{{Subspeciesbox|genus=Cardinalis|species=cardinalis|subspecies=floridanus}}\nA subspecies.",
    # Not birds.
    "Common toad": "{{Taxobox|binomial = ''Bufo bufo''|classis=[[Amphibia]]}}\nThe '''common toad''' is a toad.",
    "Bird bath": "A '''bird bath''' is a basin in which birds bathe.",
    "Bird & Co. 50% (brand)": "A brand of seeds.",
    "List of odd birds": "The birds of the oddity.",
}  # fmt: skip
CATEGORIES = {
    "Category:Odd birds": ["Gray Heron", "Kea (parrot)"],
    "Category:Animals": ["Common toad", "Category:Odd birds"],
}
LIST = """<p>The birds of the oddity.</p><h2>Birds</h2><ul>
<li><a href="/wiki/Merlin_(bird)">Merlin</a>, <a href="/wiki/Falcon">falcon</a></li><li><a href="/wiki/Kea">Kea</a></li></ul>
<table><tr><td><a href="/wiki/Gray_Heron">gray Heron</a></td><td><i>Ardea cinerea</i></td></tr>
<tr><td><a href="/wiki/NORTHERN_CARDINAL">NORTHERN CARDINAL</a></td><td>x</td></tr></table><ul>
<li><a href="/wiki/Struthio_camelus">Struthio camelus</a></li><li><a href="./Common_ostrich">Common ostrich</a></li>
<li><a href="/wiki/Common_toad#Looks">Common toad</a>, <a href="#Birds">above</a></li>
<li><a href="/w/index.php?title=Dodo_of_nowhere&amp;action=edit&amp;redlink=1">Dodo of nowhere</a></li>
<li><a href="/wiki/Bird_%26_Co._50%25_(brand)">Bird</a> <a href="http://other.example/wiki/Falcon">other</a></li></ul>
<h2>See also</h2><ul><li><a href="/wiki/Bird_bath">Bird bath</a></li><li><a href="/wiki/Help:Contents">Help</a></li></ul>"""


CHECKLIST = load_checklist()
QUICK = RetryPolicy(tries=3, tries_at_first=2, first_wait_s=0.01, longest_wait_s=1, total_s=5)


def bird(name: str) -> Taxon:
    taxon = CHECKLIST.find(name)
    assert taxon is not None
    return taxon


def birds() -> list[Taxon]:
    return CHECKLIST.species_of(bird("Aves"))


def titles_of(located: Sequence[tuple[Taxon, PageRef | LeftOut]]) -> dict[str, str]:
    return {taxon.scientific_name: place.title for taxon, place in located if isinstance(place, PageRef)}


def reasons_of(located: Sequence[tuple[Taxon, PageRef | LeftOut]]) -> Counter[str]:
    return Counter(place.reason for _, place in located if isinstance(place, LeftOut))


@pytest.fixture
def source(wiki: FaultyWiki) -> WikipediaSource:
    """A source from a wiki of three birds."""
    for name in ("Northern cardinal", "Eurasian hoopoe", "Merlin"):
        binomial = bird(name).scientific_name
        wiki.pages[name] = f"<p>The <b>{name}</b> ({binomial}) is a bird.</p><!-- rendered in 0.1 s -->"
        wiki.wikitext[name] = f"The '''{name}''' (''{binomial}'') is a bird."
    return wiki.source(retry=QUICK)


def test_one_species_takes_two_requests(wiki: FaultyWiki, source: WikipediaSource) -> None:
    wiki.n_pages = 60_000_000
    ((_, page),) = source.locate([bird("Merlin")])
    assert page == PageRef(subject_id="falco-columbarius", title="Merlin", revision=3)
    ((_, body),) = source.fetch([page])
    assert isinstance(body, FetchedPage) and source.n_requests == 2
    licence = "Creative Commons Attribution-Share Alike 4.0"
    assert body.source == Source(
        title="Merlin", url=f"{wiki.origin}/wiki/Merlin", revision=3, licence=licence, language="en"
    )
    assert "rendered" not in body.body
    assert source.parse(body).text == "The Merlin (Falco columbarius) is a bird."
    named = WikipediaSource(WikiClient("http://me:secret@127.0.0.1:9/w/api.php?key=hidden"))
    assert named.name == "wikipedia http://127.0.0.1:9/w/api.php"  # without secrets
    wiki.language = "sv"  # which decides, not the setting
    swedish = wiki.source(retry=QUICK, language="fr")
    ((_, body),) = swedish.fetch([page])
    assert isinstance(body, FetchedPage)
    assert (body.source.language, body.titles) == ("sv", {"sv": "Merlin"})


def test_a_large_wiki_is_queried_fifty_titles_at_a_time(wiki: FaultyWiki, source: WikipediaSource) -> None:
    wiki.n_pages = 60_000_000
    owls = [*CHECKLIST.species_of(bird("Strigidae"))[:100], bird("Northern Cardinal")]
    assert titles_of(list(source.locate(owls))) == {"Cardinalis cardinalis": "Northern cardinal"}
    asked = sum(len(request.get("titles", "").split("|")) for request in wiki.requests)
    searches = 2 * 5
    assert source.n_requests <= asked / 50 + 3 + searches + 1
    assert not any(request.get("generator") for request in wiki.requests)


def test_an_update_asks_for_revisions_and_matches_only_changed_pages(wiki: FaultyWiki, source: WikipediaSource) -> None:
    wiki.pages |= {"Bill": "<p>A beak.</p>", "Lore": "<p>A part.</p>"}
    taxa = [bird(name) for name in ("Northern Cardinal", "Eurasian Hoopoe", "Merlin")]
    places = [*source.locate(taxa), *source.locate_terms([("bill", None), ("lore", None)])]
    known: list[tuple[Taxon | str, PageRef]] = [(what, page) for what, page in places if isinstance(page, PageRef)]
    unchanged = {page.subject_id: page.revision for _, page in known}
    assert len(unchanged) == 5

    def newest() -> dict[str, int | str | None]:
        found = [page for _, page in source.newest(known)]
        pages = {page.subject_id: page.revision for page in found if isinstance(page, PageRef)}
        return {**pages, **{page.name: page.reason for page in found if isinstance(page, LeftOut)}}

    before = source.n_requests
    assert newest() == unchanged
    assert source.n_requests == before + 1
    wiki.revisions |= {"Merlin": 90, "Bill": 91}
    assert newest() == {**unchanged, "falco-columbarius": 90, "term:bill": 91}
    # moved, deleted, and made a disambiguation
    wiki.wikitext["Red bird"] = wiki.wikitext["Northern cardinal"]
    wiki.pages |= {"Red bird": "<p>-</p>", "Northern cardinal": "#REDIRECT Red bird", "Lore": "#REDIRECT Bill"}
    wiki.revisions["Red bird"] = 92
    del wiki.pages["Eurasian hoopoe"]
    wiki.wikitext["Merlin"] = "'''Merlin''' may refer to:\n* A bird"
    assert newest() == {
        "cardinalis-cardinalis": 92, "Upupa epops": "no page", "Falco columbarius": "disambiguation",
        "term:bill": 91, "term:lore": 91,
    }  # fmt: skip


def test_fetch_leaves_out_pages_that_changed_subject(wiki: FaultyWiki, source: WikipediaSource) -> None:
    rows = "<tr><td>Class:</td><td>Amphibia</td></tr><tr><td>Genus:</td><td>Bufo</td></tr>"
    box = f'<table class="infobox biota">{rows}</table>'
    wiki.pages["Merlin"] = box + "<p>A toad.</p>"
    wiki.pages["Northern cardinal"] = "<p><b>Northern cardinal</b> may refer to:</p><ul><li>a bird</li></ul>"
    wiki.pages["Eurasian hoopoe"] = box.replace("Amphibia", "Aves") + '<p><span class="binomial">x</span></p>'
    wiki.pages |= dict.fromkeys(("Ruff", "Rook", "Dunlin"), "<p>Birds.</p>") | {"Smew": box.replace("Amphibia", "Aves")}
    named = {"categories": [{"category": "Set_index_articles_on_animal_common_names"}]}
    wiki.marks = {"Ruff": {"properties": {"disambiguation": ""}}, "Rook": named, "Smew": named}
    wiki.marks["Dunlin"] = {"categories": [{"category": "Birds"}]}
    pages = [PageRef(subject_id=bird(title).taxon_id, title=title) for title in (*wiki.pages, "Kea")]
    results = {page.title: result for page, result in source.fetch(pages)}
    reasons = {title: result.reason for title, result in results.items() if isinstance(result, LeftOut)}
    assert reasons == {
        "Merlin": "about another subject", "Northern cardinal": "disambiguation", "Kea": "no page",
        "Ruff": "disambiguation", "Rook": "disambiguation",
    }  # fmt: skip
    assert all(isinstance(results[title], FetchedPage) for title in ("Eurasian hoopoe", "Smew", "Dunlin"))


def test_a_failed_page_does_not_affect_the_others(wiki: FaultyWiki, source: WikipediaSource) -> None:
    located = [page for _, page in source.locate(birds()) if isinstance(page, PageRef)]
    wiki.faults = [Fault(status=500, body=b"no")] * 3
    wiki.delay_s = 0.02
    [(_, failure)] = source.fetch(located[:1])
    assert isinstance(failure, Failure) and failure.reason.endswith("500 Internal Server Error (tried 3 times)")
    assert all(isinstance(result, FetchedPage) for _, result in source.fetch(located))
    assert wiki.most_at_once <= 3


def test_species_below_a_taxon_of_the_wiki_are_those_of_its_categories_and_lists(wiki: FaultyWiki) -> None:
    """A page in them whose taxobox states another classification is left out."""

    def box(*rows: str) -> str:
        cells = "".join(f"<tr><td>{row.replace(' ', ':</td><td>', 1)}</td></tr>" for row in rows)
        return f'<table class="infobox biota">{cells}</table>'

    wiki.wikitext = {
        "Butterflies": "{{Automatic taxobox|taxon=Lepidoptera}}", "Bird": "{{Automatic taxobox|taxon=Aves}}",
        "Red admiral": "{{Speciesbox|taxon=Vanessa atalanta}}",
    }  # fmt: skip
    wiki.pages = {
        "Butterflies": '<ul><li><a href="/wiki/Peacock">Peacock</a></li></ul>',
        "Red admiral": box("Order Lepidoptera", "Genus Vanessa", "Species V. atalanta"),
        "Honey bee": box("Order Hymenoptera", "Genus Apis"),
        "Bird": box("Class Aves", "Order Lepidoptera"),
    }
    wiki.categories = {"Category:Lepidoptera": ["Red admiral", "Honey bee"], "Category:Moths": ["Emperor moth"]}
    source = wiki.source()
    assert source.titles_below("Butterflies") == ["Red admiral", "Honey bee", "Peacock"]
    assert source.titles_below("Red admiral") == ["Red admiral"]
    assert source.titles_below("Moths") == ["Emperor moth"]  # a category without an article
    with pytest.raises(UnknownTaxon):
        source.titles_below("None such")
    source.leaves_out_birds = True
    pages = [PageRef(subject_id=title, title=title) for title in ("Red admiral", "Honey bee", "Bird")]
    found = {page.title: result for page, result in source.fetch(pages)}
    assert isinstance(found["Red admiral"], FetchedPage)
    below = "not below Lepidoptera, Moths, Vanessa"
    assert found["Honey bee"] == LeftOut(name="Honey bee", reason="about another subject", detail=below)
    assert found["Bird"] == LeftOut(name="Bird", reason="not in the checklist", detail="Aves")


@pytest.fixture
def odd(wiki: FaultyWiki) -> WikipediaSource:
    wiki.wikitext = dict(PAGES)
    wiki.pages = {title: text if text.startswith("#REDIRECT ") else "<p>A page.</p>" for title, text in PAGES.items()}
    wiki.pages["List of odd birds"] = LIST
    wiki.categories = CATEGORIES
    return wiki.source()


def test_birds_of_the_odd_wiki_are_matched_and_namesakes_excluded(wiki: FaultyWiki, odd: WikipediaSource) -> None:
    wiki.page_limit = 7  # continuation
    found = list(odd.locate(birds()))
    assert [taxon for taxon, _ in found] == birds() and odd.n_requests == 5
    assert titles_of(found) == {
        "Struthio camelus": "Common ostrich", "Ardea cinerea": "Gray Heron", "Gyps rueppelli": "Rüppell’s vulture",
        "Astur gentilis": "Northern goshawk", "Upupa epops": "Hoopoe of the old world",
        "Falco columbarius": "Merlin (bird)", "Nestor notabilis": "Kea (parrot)",
        "Cardinalis cardinalis": "NORTHERN CARDINAL",
    }  # fmt: skip
    assert reasons_of(found) == {"no page": 11131 - 9, "about another subject": 1}
    others = {item.name: item.reason for item in odd.unclaimed(CHECKLIST)}
    assert others == {
        "Merlin": "not a bird", "Ruff": "not a bird",
        "Bird bath": "not a bird", "Common toad": "not a bird", "Bird & Co. 50% (brand)": "not a bird",
        "Kea": "disambiguation", "Struthio": "not a species", "List of odd birds": "not a species",
        "Florida cardinal": "not in the checklist",
    }  # fmt: skip
    alone = list(wiki.source().locate([bird("Kea"), bird("Eurasian Goshawk")]))
    assert titles_of(alone) == {"Nestor notabilis": "Kea (parrot)", "Astur gentilis": "Northern goshawk"}


def test_a_list_page_gives_species_and_reasons_for_the_rest(odd: WikipediaSource) -> None:
    titles = odd.titles_in_list("List of odd birds")
    assert titles == [
        "Merlin (bird)", "Falcon", "Kea", "Gray Heron", "NORTHERN CARDINAL", "Struthio camelus", "Common ostrich",
        "Common toad", "Dodo of nowhere", "Bird & Co. 50% (brand)",
    ]  # fmt: skip
    bad = ["a|b", "a<b>", "x" * 300, "", "{{x}}"]
    found = dict(odd.match_titles([*titles, *bad], CHECKLIST))
    assert all(isinstance(found.pop(title), LeftOut) for title in bad)
    matched = {title: match[0].scientific_name for title, match in found.items() if isinstance(match, tuple)}
    assert matched == {
        "Merlin (bird)": "Falco columbarius", "Gray Heron": "Ardea cinerea",
        "NORTHERN CARDINAL": "Cardinalis cardinalis", "Struthio camelus": "Struthio camelus",
    }  # fmt: skip
    left_out = {title: match.reason for title, match in found.items() if isinstance(match, LeftOut)}
    assert left_out == {
        "Falcon": "no page", "Kea": "disambiguation", "Common ostrich": "duplicate page", "Common toad": "not a bird",
        "Dodo of nowhere": "no page", "Bird & Co. 50% (brand)": "not a bird",
    }  # fmt: skip
    assert odd.n_requests == 3


def test_terms_are_found_by_title_redirect_or_given_page(odd: WikipediaSource) -> None:
    terms = {"bird bath": None, "ostrich": None, "kea": None, "nothing": None, "heron": "gray_Heron", "x": "Nope"}
    found = dict(odd.locate_terms(list(terms.items())))
    assert {name: place.title if isinstance(place, PageRef) else place.reason for name, place in found.items()} == {
        "bird bath": "Bird bath", "ostrich": "Common ostrich", "heron": "Gray Heron",
        "kea": "disambiguation", "nothing": "no page", "x": "no page",
    }  # fmt: skip
