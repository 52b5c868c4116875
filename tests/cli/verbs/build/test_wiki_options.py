"""`kb build` and `kb update` from a wiki: whose address it is told, which language, where the rows go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kb
from tests.cli.verbs.conftest import write_bird
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


def agents(wiki: FaultyWiki) -> set[bool]:
    """Return whether requests name the address, in the cases that there are."""
    return {"me@example.org" in headers["User-Agent"] for headers in wiki.headers}


def test_the_wiki_is_told_the_given_address_by_build_and_update(cli: Any, wiki: FaultyWiki) -> None:
    build(cli, wiki)
    assert agents(wiki) == {False}
    wiki.headers.clear()
    cli.call("update", "--kb", "a.kb", "--contact", "me@example.org", check=True)
    assert agents(wiki) == {True}
    wiki.headers.clear()
    cli.call(
        "build", "--taxon", "Tyto alba", "--kb", "b.kb", "--api-url", wiki.api_url, "--contact", "me@example.org",
        check=True,
    )  # fmt: skip
    assert agents(wiki) == {True}


def test_the_source_is_the_wikipedia_of_the_given_language(cli: Any, wiki: FaultyWiki) -> None:
    build(cli, wiki, "--set", "language=de")
    with kb.open("a.kb") as store:
        assert [origin["language"] for origin in store.origins().values()] == ["de"]


@pytest.mark.parametrize("chosen", [("--list", "List of owls"), ("--category", "Owls")])
def test_the_species_of_a_list_page_or_a_category_are_taken(
    cli: Any, wiki: FaultyWiki, chosen: tuple[str, str]
) -> None:
    wiki.pages["Snowy Owl"] = OWL.replace("barn owl", "snowy owl").replace("Tyto alba", "Bubo scandiacus")
    wiki.pages["List of owls"] = '<ul><li><a href="/wiki/Western_Barn_Owl">Western barn owl</a></li></ul>'
    wiki.categories["Category:Owls"] = ["Western Barn Owl"]
    cli.call("build", *chosen, "--kb", "a.kb", "--api-url", wiki.api_url, check=True)
    with kb.open("a.kb") as store:
        assert store.taxon_ids == ("tyto-alba",)


def test_user_name_and_password_of_a_wiki_are_given_to_every_update_and_not_recorded(
    cli: Any, wiki: FaultyWiki
) -> None:
    private = wiki.api_url.replace("://", "://ann:secret@")
    cli.call("build", "--taxon", "Tyto alba", "--kb", "a.kb", "--api-url", private, check=True)
    for more, is_named in (((), False), (("--api-url", private), True)):
        wiki.headers.clear()
        cli.call("update", "--kb", "a.kb", *more, check=True)
        assert {"Authorization" in headers for headers in wiki.headers} == {is_named}


def test_an_update_asks_the_given_kind_of_source_alone(cli: Any, wiki: FaultyWiki, tmp_path: Path) -> None:
    build(cli, wiki)
    write_bird(tmp_path / "birds", "Blue Jay", "It has a blue crest and white underparts.")
    cli.call("build", "--source", f"folder:{tmp_path / 'birds'}", "--kb", "a.kb", check=True)
    wiki.requests.clear()
    update = ("update", "--kb", "a.kb", "--format", "json")
    assert json.loads(cli.call(*update, "--source", "folder", check=True).stdout)["checked"] == 1
    assert wiki.requests == []
    assert json.loads(cli.call(*update, check=True).stdout)["checked"] == 2


def test_the_rows_go_to_the_server_that_is_named(cli: Any, wiki: FaultyWiki, tmp_path: Path) -> None:
    server = ChromaServer(tmp_path / "server")
    server.start()
    try:
        build(cli, wiki, "--set", f"chroma={server.address}")
        with kb.open("a.kb") as store:
            assert store.info.chroma == server.address
        assert json.loads(cli.call("status", "--kb", "a.kb", "--format", "json", check=True).stdout)["species"] == 1
    finally:
        server.stop()
