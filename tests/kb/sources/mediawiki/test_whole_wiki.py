"""Builds of the whole test wiki through a proxy, which counts requests and injects faults.

Source:
    Wikimedia's User-Agent policy, API etiquette and thumbnail widths, as docs/howto/build.md lists them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kb
from data.contracts import Encoders
from data.records import Status
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from kb.sources.http_client import RetryPolicy, Timeouts
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.wiki_proxy import BUSY_S, ProxyRequest, Rates, WikiProxy
from tests.toy.encoders import toy_encoders

pytestmark = pytest.mark.integration

CONTACT = "tests@example.org"
WIDTH_PX = 250  # many photos of the test wiki are wider, so the wiki makes real thumbnails
FAULTS = Rates(busy=0.10, cut=0.05, stall=0.02, html=0.03, retry_after_s=(0, 0, 0, 0, 0, 1))
SEED = 1
BIRDS = select(load_checklist(), "Aves")


class Whole(NamedTuple):
    """A build of the whole wiki with three 429 answers, and the requests that the proxy recorded."""

    proxy: WikiProxy
    path: Path
    status: Status
    digest: str
    requests: list[ProxyRequest]
    too_early: list[ProxyRequest]
    bodies: Counter[str]
    most_at_once: int


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


@pytest.fixture(scope="module")
def whole(wiki_api_url: str, encoders: Encoders, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    path = tmp_path_factory.mktemp("whole") / "a.kb"
    with WikiProxy(wiki_api_url).running() as proxy:
        proxy.begin(busy_at=frozenset({30, 200, 240}))  # while pages are fetched, and among the photos
        source = WikipediaSource(proxy.api_url, contact=CONTACT, thumbnail_px=WIDTH_PX)
        status = kb.build(path, BIRDS, source, encoders, terms=[("Amplexus", None)])
        source.close()
        found = kb.verify(path)
        assert found.ok
        yield Whole(
            proxy, path, status, found.digest, proxy.requests, proxy.too_early, proxy.bodies(), proxy.most_at_once
        )


def test_the_whole_wiki_is_built_with_each_body_fetched_once(whole: Whole) -> None:
    """Each page and each photo width is fetched once, and no look-up is repeated."""
    assert (whole.status.species, whole.status.failures) == (184, ())
    assert whole.status.anchors > 150
    assert sum(asked.fault is not None for asked in whole.requests) == 3
    assert len(whole.bodies) == 184 + 1 + whole.status.anchors
    assert set(whole.bodies.values()) == {1}
    answered = Counter(asked.what for asked in whole.requests if asked.fault is None)
    assert set(answered.values()) == {1}
    # Each of the three 429 answers asked for some seconds, of all threads, pages and photos.
    assert whole.most_at_once == 3
    assert whole.too_early == []
    for refused in (asked for asked in whole.requests if asked.fault is not None):
        assert any(asked.what == refused.what and asked.at > refused.at + BUSY_S for asked in whole.requests)


def test_each_request_is_polite(whole: Whole) -> None:
    """With contact, gzip and maxlag, for thumbnails of a width that Wikimedia serves."""
    assert {asked.kind for asked in whole.requests} == {"api", "photo"}
    for asked in whole.requests:
        agent = asked.headers["User-Agent"]
        assert agent.startswith("fieldmark/") and CONTACT in agent and "Mozilla" not in agent
        assert "gzip" in asked.headers["Accept-Encoding"]
        if asked.kind == "api":
            assert asked.fields["maxlag"] == "5"
            assert (asked.fields["format"], asked.fields["formatversion"]) == ("json", "2")
    widths = Counter(asked.width_px for asked in whole.requests if asked.width_px is not None)
    assert set(widths) == {WIDTH_PX}
    assert sum(1 for asked in whole.requests if asked.kind == "photo" and asked.width_px) > 30
    # Page look-ups request 50 titles each, except the last; file descriptions are batched per group of articles.
    pages = [asked for asked in whole.requests if "revisions" in asked.fields.get("prop", "") and asked.fault is None]
    files = [asked for asked in whole.requests if asked.fields.get("prop") == "imageinfo" and asked.fault is None]
    by_size = sorted((asked.n_titles for asked in pages), reverse=True)
    assert by_size[:3] == [50, 50, 50]
    assert max(asked.n_titles for asked in files) <= 50
    assert len(files) <= 2 * -(-sum(asked.n_titles for asked in files) // 50)
    assert sum(asked.kind == "api" for asked in whole.requests) <= 1.3 * 184 + 191 / 50


def test_a_second_build_fetches_no_body(whole: Whole, encoders: Encoders) -> None:
    """It makes a few look-ups and changes nothing."""
    whole.proxy.begin()
    source = WikipediaSource(whole.proxy.api_url, contact=CONTACT, thumbnail_px=WIDTH_PX)
    kb.build(whole.path, BIRDS, source, encoders, terms=[("Amplexus", None)])
    source.close()
    assert whole.proxy.bodies() == Counter()
    assert len(whole.proxy.requests) <= 8
    assert kb.verify(whole.path).digest == whole.digest


def test_faults_do_not_change_the_digest(whole: Whole, encoders: Encoders, tmp_path: Path) -> None:
    """With busy, truncated, stalled and HTML answers, the build is still complete and has the same digest."""
    whole.proxy.begin(rates=FAULTS, seed=SEED)
    source = WikipediaSource(
        whole.proxy.api_url,
        contact=CONTACT,
        thumbnail_px=WIDTH_PX,
        timeouts=Timeouts(read_s=5, total_s=60),  # generous enough for a slow machine
        retry=RetryPolicy(first_wait_s=0.02, tries=8),  # with five tries one build in ten fails
    )
    path = tmp_path / "a.kb"
    status = kb.build(path, BIRDS, source, encoders, terms=[("Amplexus", None)])
    source.close()
    injected = whole.proxy.faults()
    assert set(injected) == {"busy", "cut", "stall", "html"}
    assert injected["busy"] > 25
    assert injected["cut"] > 10
    assert status.failures == ()
    assert kb.verify(path).digest == whole.digest
