from collections.abc import Iterator

import pytest

from kb.http import RetryPolicy
from kb.lookup.wiki_terms import WikiTerms, phrases_of
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
    return WikiTerms(wiki.source(retry=QUICK))


def explained(terms: WikiTerms, query: str, known: tuple[str, ...] = ()) -> list[str]:
    return [term.name for term in terms.explain(query, known=known)]


def test_titles_in_the_query_explain_its_words_the_longest_first_in_few_requests(
    terms: WikiTerms, wiki: FaultyWiki
) -> None:
    [fox, mange] = terms.explain("two Red foxes with mange", known=())
    assert (fox.name, fox.aliases, mange.name) == ("Red fox", ("red foxes",), "Mange")
    assert fox.definition == "The red fox is a mammal with an orange-red coat. It has a bushy tail with a white tip."
    assert fox.source is not None and (fox.source.title, fox.source.revision) == ("Red fox", 2)
    about_pages = [request["action"] for request in wiki.requests if "titles" in request or "page" in request]
    assert about_pages == ["query", "parse", "parse"]
    assert explained(terms, "amplexus, mange, red fox, fox, rut") == ["Amplexus", "Mange", "Red fox"], "at most three"
    wiki.requests.clear()
    explained(terms, " ".join(f"word{chr(97 + i)}" for i in range(20)))
    asked = [request["titles"].split("|") for request in wiki.requests if "titles" in request]
    assert [len(titles) for titles in asked] == [50]


def test_without_a_title_hits_of_the_search_count_whose_bare_title_is_in_the_query(
    terms: WikiTerms, wiki: FaultyWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    del wiki.pages["Rut"]
    hits = [("Rut (nowhere)", None), ("Rut (mammals)", None), ("Mange", "Rut"), ("Fox", None)]
    monkeypatch.setattr(terms._pages, "search", lambda query, n: hits[:n])
    assert explained(terms, "deer in the rut") == ["Rut"]


def test_pages_on_other_things_disambiguations_and_known_terms_explain_nothing(
    terms: WikiTerms, wiki: FaultyWiki
) -> None:
    assert explained(terms, "all of them, and 3 more!") == []
    assert explained(terms, "the red fox and mange", known=("red fox", "mange")) == []
    assert wiki.requests == []
    assert explained(terms, "an elephant at the fence") == []
    wiki.pages["Robin"] = "<p><b>Robin</b> may refer to a bird or to other animals:</p>"
    wiki.wikitext["Robin"] = "'''Robin''' may refer to: {{disambiguation}}"
    assert explained(terms, "robin on a post") == []
    texts = [phrase.text for phrase in phrases_of("a red fox, mange of the 3 foxes", known=["mange"])]
    assert texts == ["red fox", "red", "fox", "foxes"], "not across stop words or commas"
