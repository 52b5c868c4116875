"""Walks through the categories of a wiki: order, depth, progress, and the limit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from data.errors import BadInput
from kb.sources.mediawiki.client.journal import LookupJournal
from kb.sources.mediawiki.client.wiki_client import N_CONCURRENT
from kb.sources.mediawiki.pages import categories
from kb.sources.mediawiki.source import WikipediaSource
from tests.servers.faulty_wiki import FaultyWiki


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        subcategories = [f"Category:Family {i}" for i in range(30)]
        wiki.categories["Category:Insects"] = ["Insect", *subcategories]
        for i, name in enumerate(subcategories):
            wiki.categories[name] = [f"Species {i}", "Category:Insects"]  # a loop
        for title in ["Insect", *(f"Species {i}" for i in range(30))]:
            wiki.pages[title] = wiki.wikitext[title] = "Text."
        yield wiki


def test_a_walk_keeps_the_wikis_order_and_asks_three_categories_at_a_time(wiki: FaultyWiki) -> None:
    shown: list[tuple[str, int, int]] = []
    source = WikipediaSource(wiki.api_url, contact=None)
    source.keep_look_ups(LookupJournal(), lambda *counts: shown.append(counts))
    wiki.delay_s = 0.02
    assert source.titles_in_category("Insects") == ["Insect", *(f"Species {i}" for i in range(30))]
    asked = [request["cmtitle"] for request in wiki.requests if "cmtitle" in request]
    assert len(asked) == len(set(asked)) == 31
    assert 1 < wiki.most_at_once <= N_CONCURRENT
    assert shown[-1] == ("categories", 31, 31)


def test_too_many_categories_are_refused_before_they_are_asked_for(
    wiki: FaultyWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(categories, "MOST_CATEGORIES", 20)
    with pytest.raises(BadInput, match=r"Category:Insects on .* has more than 20 subcategories") as caught:
        WikipediaSource(wiki.api_url, contact=None).titles_in_category("Insects")
    assert caught.value.hint is not None and "--checklist FILE" in caught.value.hint
    assert sum("cmtitle" in request for request in wiki.requests) == 1
