"""Pages of the web and local files as a source, and sources opened again."""

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from data.errors import PrivateAddress
from data.records import Failure, FetchedPage, LeftOut, PageRef
from kb.addresses import PageSettings
from kb.http import RetryPolicy
from kb.sources.article_source import ArticleSource, owner_of
from kb.sources.folder import FolderSource
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from kb.sources.reopen import FROM_BUNDLE, reopened
from kb.sources.starter import StarterSource
from kb.sources.web_pages import PageClient, WebSource, page_of
from tests.servers.faulty_wiki import FaultyWiki
from tests.servers.ugly_site import HEN, LOOKS, Reply, UglySite, page


@pytest.fixture
def source() -> Iterator[WebSource]:
    settings = PageSettings(pause_s=0, private_addresses=True)
    with closing(WebSource(PageClient(settings=settings, retry=RetryPolicy(tries=1)))) as source:
        yield source


def outcome(found: FetchedPage | LeftOut | Failure | PageRef) -> str:
    return f"{type(found).__name__} {getattr(found, 'reason', '')}".strip()


def test_pages_and_files_are_fetched_or_left_out_with_the_reason(
    site: UglySite, source: WebSource, tmp_path: Path
) -> None:
    for name in ("notes.txt", "secret.txt"):
        (tmp_path / name).write_text(f"{LOOKS} {HEN}")
    site.robots = "User-agent: *\nDisallow: /private\n"
    site.pages["/unchanged"] = Reply(status=304)
    host = site.origin.removeprefix("http://")
    outcomes = {
        site.url("/mallard#looks"): "FetchedPage",
        str(tmp_path / "notes.txt"): "FetchedPage",
        str(tmp_path / "none.txt"): "LeftOut no page",
        site.url("/nowhere"): "LeftOut no page",
        site.url("/login"): "LeftOut no usable text",
        site.url("/private"): "LeftOut disallowed by robots.txt",
        site.url("/forbidden"): f"Failure {host} answered 403 Forbidden",
        site.url("/unchanged"): f"Failure {host} answered 304 Not Modified for a page that it has not sent before",
    }
    pages = [page_of("anas-platyrhynchos", address) for address in outcomes]
    assert {owner_of(each.subject_id) for each in pages} == {"anas-platyrhynchos"}
    assert len({each.subject_id for each in pages}) == len(pages)
    pages.append(replace(pages[0], subject_id="anas-crecca#1"))  # the same page for another species
    pages.append(PageRef(subject_id="no-page", title=str(tmp_path / "secret.txt")))  # in a bundle of a stranger
    found = dict(source.fetch(pages))
    assert [outcome(found[each]) for each in pages] == [*outcomes.values(), "FetchedPage", "LeftOut no page"]
    assert site.asked.count("/mallard") == 1
    first, file = found[pages[0]], found[pages[1]]
    assert isinstance(first, FetchedPage) and isinstance(file, FetchedPage)
    assert (first.source.title, first.source.url) == ("Mallard", site.url("/mallard"))
    assert first.properties.keys() == {"If-None-Match", "version"}
    assert (file.source.title, file.source.url) == ("notes.txt", "file:notes.txt")  # paths are private
    article = source.parse(first)
    assert [section.title for section in article.sections] == ["", "Description"]
    assert source.n_requests == len(site.requests)


def test_an_update_asks_whether_pages_have_changed(site: UglySite, source: WebSource) -> None:
    paths = ("/mallard", "/no-title", "/moved", "/gzip")
    pages = {path: page_of("a-b", site.url(path)) for path in paths}
    fetched = {ref: body for ref, body in source.fetch(list(pages.values())) if isinstance(body, FetchedPage)}
    source.reuse_pages({ref.subject_id: body.properties for ref, body in fetched.items()})
    site.requests.clear()
    site.pages |= {
        "/no-title": Reply(body=page("<p>New words on a very grey bird with a long red bill.</p>")),
        "/moved": Reply(status=410), "/gzip": Reply(body=""),
    }  # fmt: skip
    newest = dict(source.newest([(path, pages[path]) for path in paths]))
    assert newest["/mallard"] == pages["/mallard"]
    changed = newest["/no-title"]
    assert isinstance(changed, PageRef) and changed.revision is not None
    assert changed == replace(pages["/no-title"], revision=changed.revision)
    assert outcome(newest["/moved"]) == "LeftOut no page"
    assert outcome(newest["/gzip"]).startswith("Failure no usable text")  # a site may ask for a login for a day
    assert len(site.asked) == 4
    [(_, body)] = source.fetch([changed])
    assert isinstance(body, FetchedPage) and "New words" in body.body
    assert len(site.asked) == 4  # what `newest` has read is not fetched again


def test_each_kind_of_source_reopens_with_its_name_and_record_and_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wiki: FaultyWiki
) -> None:
    closed: list[str] = []
    for kind in (WikipediaSource, WebSource):
        monkeypatch.setattr(kind, "close", lambda self: closed.append(self.name))
    (tmp_path / "Merlin").mkdir()
    wikipedia = WikipediaSource(WikiClient(wiki.api_url, language="sv"), allow_any_licence=True)
    sources: list[ArticleSource] = [FolderSource(tmp_path), StarterSource(), wikipedia]
    for source in sources:
        with closing(reopened(source.origin)) as again:
            assert (type(again), again.name, again.origin) == (type(source), source.name, source.origin)
    with closing(reopened({"kind": "web"})) as again:
        assert isinstance(again, WebSource)
    again = reopened({"kind": "starter"}, spaces=["another/1"])
    assert again.name == StarterSource(spaces=["another/1"]).name != StarterSource().name
    assert closed == [wikipedia.name, "web pages"]


def test_a_wiki_that_a_bundle_named_is_not_asked_if_its_name_leads_to_this_machine(
    monkeypatch: pytest.MonkeyPatch, wiki: FaultyWiki
) -> None:
    real = socket.getaddrinfo

    def to_loopback(host: str, port: int, *rest: int, **more: int) -> object:
        return real("127.0.0.1" if host == "birds.example" else host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", to_loopback)
    wiki.pages["Merlin"] = "<p>A falcon.</p>"
    address = wiki.api_url.replace("127.0.0.1", "birds.example")
    record = WikipediaSource(WikiClient(address)).origin
    with closing(reopened({**record, FROM_BUNDLE: "yes"})) as source:
        assert isinstance(source, WikipediaSource)
        with pytest.raises(PrivateAddress, match="on this machine or its network") as caught:
            source.client.parse_page("Merlin")
        assert caught.value.hint is not None and "--api-url" in caught.value.hint
    assert wiki.requests == []
    with closing(reopened({**record, FROM_BUNDLE: "yes"}, api_url=address, contact="me@example.org")) as source:
        assert isinstance(source, WikipediaSource)
        assert source.client.parse_page("Merlin")["title"] == "Merlin"
    assert "me@example.org" in wiki.headers[-1]["User-Agent"]
