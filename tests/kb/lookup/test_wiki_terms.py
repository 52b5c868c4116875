"""Terms from a wiki: only pages with a title in the query explain its words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kb.lookup.wiki_terms import MAX_PAGES, WikiTerms, phrases_of
from kb.sources.http_client import RetryPolicy
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.faulty_wiki import FaultyWiki

PAGES = {
    "Amplexus": "<p><b>Amplexus</b> is a mating embrace of frogs.</p><h2>Looks</h2><p>The male is on her back.</p>",
    "Red fox": "<p>The <b>red fox</b> is a mammal with an orange-red coat. It has a bushy tail with a white tip.</p>",
    "Fox": "<p>A <b>fox</b> is a small mammal of the dog family that lives in many parts of the world.</p>",
    "Mange": "<p><b>Mange</b> is a skin disease of animals caused by mites that live in the skin.</p>",
    "Fence": "<p>A <b>fence</b> is a structure of posts and wire that encloses an outdoor area.</p>",
    "Rut": "#REDIRECT Rut (mammals)",
    "Rut (mammals)": "<p>The <b>rut</b> is the mating season of deer and other hoofed mammals each year.</p>",
}
QUICK = RetryPolicy(tries=2, first_wait_s=0.01, longest_wait_s=0.1, total_s=1.0)


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        wiki.pages = dict(PAGES)
        wiki.wikitext = {title: text for title, text in PAGES.items() if not text.startswith("#")}
        yield wiki


@pytest.fixture
def terms(wiki: FaultyWiki) -> WikiTerms:
    return WikiTerms(WikipediaSource(wiki.api_url, contact=None, retry=QUICK))


def explained(terms: WikiTerms, query: str, known: tuple[str, ...] = ()) -> list[str]:
    return [term.name for term in terms.explain(query, known=known)]


def test_the_longest_title_wins_and_sources_name_the_revision(terms: WikiTerms) -> None:
    [fox, mange] = terms.explain("a Red Fox with mange", known=())
    assert (fox.name, mange.name) == ("Red fox", "Mange")
    assert fox.definition.startswith("The red fox is a mammal with an orange-red coat.")
    assert fox.source is not None
    assert (fox.source.title, fox.source.revision is not None) == ("Red fox", True)


def test_plurals_are_found_under_their_singular(terms: WikiTerms) -> None:
    [fox] = terms.explain("two red foxes", known=())
    assert (fox.name, "red foxes" in fox.aliases) == ("Red fox", True)


def test_pages_not_about_living_things_are_ignored(terms: WikiTerms) -> None:
    assert explained(terms, "an elephant at the fence") == []


def test_disambiguation_pages_are_ignored(terms: WikiTerms, wiki: FaultyWiki) -> None:
    wiki.pages["Robin"] = "<p><b>Robin</b> may refer to a bird or to other animals:</p>"
    wiki.wikitext["Robin"] = "'''Robin''' may refer to: {{disambiguation}}"
    assert explained(terms, "robin on a post") == []


def test_known_terms_are_not_requested(terms: WikiTerms, wiki: FaultyWiki) -> None:
    assert explained(terms, "the red fox and mange", known=("red fox", "mange")) == []
    assert wiki.requests == []


def test_a_query_without_names_sends_no_request(terms: WikiTerms, wiki: FaultyWiki) -> None:
    assert explained(terms, "all of them, and 3 more!") == []
    assert wiki.requests == []


def test_titles_share_one_request_and_each_page_takes_one(terms: WikiTerms, wiki: FaultyWiki) -> None:
    assert explained(terms, "amplexus") == ["Amplexus"]
    about_pages = [request["action"] for request in wiki.requests if "titles" in request or "page" in request]
    assert about_pages == ["query", "parse"]
    assert max(len(request.get("titles", "").split("|")) for request in wiki.requests) <= 50


def test_a_long_query_requests_limited_titles_and_pages(terms: WikiTerms, wiki: FaultyWiki) -> None:
    long = "amplexus mange red fox fox rut " + " ".join(f"word{chr(97 + i)}" for i in range(20))
    assert len(explained(terms, long)) <= MAX_PAGES
    assert max(len(request.get("titles", "").split("|")) for request in wiki.requests) <= 50


def test_phrases_do_not_cross_stop_words_or_commas() -> None:
    texts = [phrase.text for phrase in phrases_of("a red fox, mange of the 3 foxes", known=[])]
    assert texts == ["red fox", "red", "fox", "mange", "foxes"]


@pytest.mark.integration
def test_the_local_wiki_explains_amplexus_and_birds(wiki_api_url: str) -> None:
    source = WikipediaSource(wiki_api_url, contact=None)
    terms = WikiTerms(source)
    try:
        [amplexus] = terms.explain("Two frogs in amplexus", known=())
        assert amplexus.name == "Amplexus"
        assert "male clasps the female from behind" in amplexus.definition
        assert amplexus.source is not None
        assert amplexus.source.revision is not None
        [kite] = terms.explain("black-winged kite carrying prey", known=())
        assert kite.source is not None
        assert kite.source.title == "Black-winged kite"
    finally:
        source.close()
