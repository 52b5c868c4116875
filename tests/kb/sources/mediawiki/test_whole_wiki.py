"""Builds of the whole test wiki through a proxy, which counts requests and injects faults."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kb
from data.contracts import Encoders
from data.records import Status
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from kb.http import RetryPolicy, Timeouts
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.wiki_proxy import ProxyRequest, Rates, WikiProxy

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


def built(path: Path, proxy: WikiProxy, encoders: Encoders, **given: Any) -> Status:
    client = WikiClient(proxy.api_url, contact=CONTACT, **given)
    source = WikipediaSource(client)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb.sources.mediawiki.photos.THUMBNAIL_PX", WIDTH_PX)
        status = kb.build(path, BIRDS, source, encoders, terms=[("Amplexus", None)])
    source.close()
    return status


@pytest.fixture(scope="module")
def whole(wiki_api_url: str, encoders: Encoders, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    path = tmp_path_factory.mktemp("whole") / "a.kb"
    with WikiProxy(wiki_api_url).running() as proxy:
        proxy.begin(busy_at=frozenset({30, 200, 240}))  # while pages are fetched, and among the photos
        status = built(path, proxy, encoders)
        found = kb.verify(path)
        assert found.ok
        yield Whole(
            proxy, path, status, found.digest, proxy.requests, proxy.too_early, proxy.bodies(), proxy.most_at_once
        )


def test_the_whole_wiki_is_built_with_each_body_fetched_once(whole: Whole) -> None:
    assert (whole.status.species, whole.status.failures, whole.status.anchors > 150) == (184, (), True)
    assert sum(asked.fault is not None for asked in whole.requests) == 3
    assert (len(whole.bodies), set(whole.bodies.values())) == (184 + 1 + whole.status.anchors, {1})
    answered = Counter(asked.what for asked in whole.requests if asked.fault is None)
    assert set(answered.values()) == {1}
    api = [asked for asked in whole.requests if asked.kind == "api"]
    assert len(api) <= 1.3 * 184 + 191 / 50 and all(asked.fields["maxlag"] == "5" for asked in api)
    assert {asked.width_px for asked in whole.requests} == {WIDTH_PX, None}
    assert all(CONTACT in asked.headers["User-Agent"] for asked in whole.requests)
    # Each of the three 429 answers asked for some seconds, of all threads, pages and photos.
    assert (whole.most_at_once, whole.too_early) == (3, [])


def test_a_second_build_fetches_no_body(whole: Whole, encoders: Encoders) -> None:
    whole.proxy.begin()
    built(whole.path, whole.proxy, encoders)
    assert whole.proxy.bodies() == Counter()
    assert len(whole.proxy.requests) <= 8
    assert kb.verify(whole.path).digest == whole.digest


def test_faults_do_not_change_the_digest(whole: Whole, encoders: Encoders, tmp_path: Path) -> None:
    whole.proxy.begin(rates=FAULTS, seed=SEED)
    timeouts = Timeouts(read_s=5, total_s=60)  # generous enough for a slow machine
    retry = RetryPolicy(first_wait_s=0.02, tries=8)  # with five tries one build in ten fails
    status = built(tmp_path / "a.kb", whole.proxy, encoders, timeouts=timeouts, retry=retry)
    injected = whole.proxy.faults()
    assert set(injected) == {"busy", "cut", "stall", "html"}
    assert injected["busy"] > 25 and injected["cut"] > 10
    assert (status.failures, kb.verify(tmp_path / "a.kb").digest) == ((), whole.digest)
