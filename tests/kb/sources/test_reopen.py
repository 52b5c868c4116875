"""Sources reopened from their record."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from data.errors import PrivateAddress
from kb.sources.article_source import ArticleSource
from kb.sources.folder import FolderSource
from kb.sources.mediawiki.wiki_source import WikipediaSource
from kb.sources.reopen import FROM_BUNDLE, reopened
from kb.sources.starter import StarterSource
from kb.sources.web.web_source import WebSource
from tests.servers.faulty_wiki import FaultyWiki


def test_each_kind_of_source_reopens_with_its_name_and_record_and_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    for kind in (WikipediaSource, WebSource):
        monkeypatch.setattr(kind, "close", lambda self: closed.append(self.name))
    (tmp_path / "Merlin").mkdir()
    with FaultyWiki().running() as wiki:
        wikipedia = WikipediaSource(wiki.api_url, contact=None, language="sv", allow_any_licence=True, thumbnail_px=500)
        sources: list[ArticleSource] = [FolderSource(tmp_path), StarterSource(), wikipedia]
        for source in sources:
            with reopened(source.origin) as again:
                assert type(again) is type(source)
                assert (again.name, again.origin) == (source.name, source.origin)
        with reopened({"kind": "web"}) as again:
            assert isinstance(again, WebSource)
        with reopened({"kind": "starter"}, spaces=["another/1"]) as again:
            assert again.name == StarterSource(spaces=["another/1"]).name != StarterSource().name
        with pytest.raises(RuntimeError), reopened(wikipedia.origin):
            raise RuntimeError
    assert closed == [wikipedia.name, "web pages", wikipedia.name]


def test_a_wiki_that_a_bundle_named_is_not_asked_if_its_name_leads_to_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = socket.getaddrinfo

    def to_loopback(host: str, port: int, *rest: int, **more: int) -> object:
        return real("127.0.0.1" if host == "birds.example" else host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", to_loopback)
    with FaultyWiki().running() as wiki:
        wiki.pages["Merlin"] = "<p>A falcon.</p>"
        address = wiki.api_url.replace("127.0.0.1", "birds.example")
        record = WikipediaSource(address, contact=None).origin
        with reopened({**record, FROM_BUNDLE: "yes"}) as source:
            assert isinstance(source, WikipediaSource)
            with pytest.raises(PrivateAddress, match="on this machine or its network") as caught:
                source.client.parse_page("Merlin")
            assert caught.value.hint is not None and "--api-url" in caught.value.hint
        assert wiki.requests == []
        for origin, api_url in ((record, None), ({**record, FROM_BUNDLE: "yes"}, address)):
            with reopened(origin, api_url=api_url, contact="me@example.org") as source:
                assert isinstance(source, WikipediaSource)
                assert source.client.parse_page("Merlin")["title"] == "Merlin"
        assert "me@example.org" in wiki.headers[-1]["User-Agent"]
