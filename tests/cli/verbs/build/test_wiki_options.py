"""`kb build` and `kb update` from a wiki: contact, language, page selection, credentials and Chroma server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kb
from tests.servers.chroma_server import ChromaServer
from tests.servers.faulty_wiki import FaultyWiki

OWL = (
    "<p>The <b>barn owl</b> (<i>Tyto alba</i>) is an owl.</p><h2>Description</h2>"
    "<p>It has a white face and a golden back.</p>"
)


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as served:
        served.pages["Western Barn Owl"] = served.wikitext["Western Barn Owl"] = OWL
        served.pages["Tyto alba"] = served.wikitext["Tyto alba"] = OWL
        yield served


def build(cli: Any, wiki: FaultyWiki, *more: str) -> Any:
    return cli.call("build", "--taxon", "Tyto alba", "--kb", "a.kb", "--api-url", wiki.api_url, *more, check=True)


def contact_is_sent(wiki: FaultyWiki) -> set[bool]:
    """Return the set of answers to: does a request name the contact?"""
    return {"me@example.org" in headers["User-Agent"] for headers in wiki.headers}


def test_build_and_update_send_the_given_contact_and_record_the_language(cli: Any, wiki: FaultyWiki) -> None:
    build(cli, wiki, "--language", "de")
    with kb.open("a.kb") as store:
        assert [origin["language"] for origin in store.origins().values()] == ["de"]
    assert contact_is_sent(wiki) == {False}
    contact = ("--contact", "me@example.org")
    for command in (
        ("update", "--kb", "a.kb"),
        ("build", "--taxon", "Tyto alba", "--kb", "b.kb", "--api-url", wiki.api_url),
    ):
        wiki.headers.clear()
        cli.call(*command, *contact, check=True)
        assert contact_is_sent(wiki) == {True}


def test_a_list_page_or_category_selects_species(cli: Any, wiki: FaultyWiki) -> None:
    wiki.pages["Snowy Owl"] = OWL.replace("barn owl", "snowy owl").replace("Tyto alba", "Bubo scandiacus")
    wiki.pages["List of owls"] = '<ul><li><a href="/wiki/Western_Barn_Owl">Western barn owl</a></li></ul>'
    wiki.categories["Category:Owls"] = ["Western Barn Owl"]
    for chosen in (("--list", "List of owls"), ("--category", "Owls")):
        cli.call("build", *chosen, "--api-url", wiki.api_url, check=True)
        with kb.open("list-of-owls.kb" if chosen[0] == "--list" else "owls.kb") as store:
            assert store.taxon_ids == ("tyto-alba",)


def test_wiki_credentials_are_sent_but_not_recorded(cli: Any, wiki: FaultyWiki) -> None:
    private = wiki.api_url.replace("://", "://ann:secret@")
    cli.call("build", "--taxon", "Tyto alba", "--kb", "a.kb", "--api-url", private, check=True)
    for more, is_named in (((), False), (("--api-url", private), True)):
        wiki.headers.clear()
        cli.call("update", "--kb", "a.kb", *more, check=True)
        assert {"Authorization" in headers for headers in wiki.headers} == {is_named}


@pytest.mark.integration
def test_the_chroma_setting_selects_the_server(cli: Any, wiki: FaultyWiki, tmp_path: Path) -> None:
    server = ChromaServer(tmp_path / "server")
    server.start()
    try:
        build(cli, wiki, "--set", f"chroma={server.address}")
        with kb.open("a.kb") as store:
            assert store.info.chroma == server.address
        assert json.loads(cli.call("status", "--kb", "a.kb", "--format", "json", check=True).stdout)["species"] == 1
    finally:
        server.stop()
