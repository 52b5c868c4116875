"""Page look-ups and category members."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kb.sources.mediawiki.client.wiki_client import WikiClient
from kb.sources.mediawiki.pages.wiki_pages import WikiPages
from tests.servers.faulty_wiki import FaultyWiki


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        wiki.categories = {
            "Category:Owls": ["Barn owl", "Category:Eared owls", "Category:Extinct owls"],
            "Category:Eared owls": ["Long-eared owl", "Category:Scops owls"],
            "Category:Extinct owls": ["Laughing owl", "Category:Eared owls", "Category:Owls"],
            "Category:Scops owls": ["Oriental scops owl"],
        }
        yield wiki


@pytest.mark.parametrize(
    ("depth", "titles"),
    [
        (0, ["Barn owl"]),
        (1, ["Barn owl", "Long-eared owl", "Laughing owl"]),
        (2, ["Barn owl", "Long-eared owl", "Laughing owl", "Oriental scops owl"]),
        (9, ["Barn owl", "Long-eared owl", "Laughing owl", "Oriental scops owl"]),
    ],
)
def test_each_subcategory_is_read_once_down_to_the_depth(wiki: FaultyWiki, depth: int, titles: list[str]) -> None:
    """Categories can form cycles, and one category can have several parents."""
    client = WikiClient(wiki.api_url)
    assert WikiPages(client).members("Owls", depth=depth) == titles
    client.close()
    asked = [request["cmtitle"] for request in wiki.requests if "cmtitle" in request]
    assert len(asked) == len(set(asked)) == {0: 1, 1: 3}.get(depth, 4)
