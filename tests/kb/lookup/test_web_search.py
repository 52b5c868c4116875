"""Web search over a chat endpoint: passages by cited source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data.records import WebPassage
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from kb.lookup.web_search import ChatWebSearch
from tests.servers.openai_server import Answer, OpenAIServer

FROGS, TOADS = "https://a.example/frogs", "https://b.example/toads"


def found(answer: Answer, *, n: int = 3) -> list[tuple[str, str | None]]:
    with OpenAIServer(answer) as server, Connection(Endpoint(model="sonar", base_url=server.base_url)) as chat:
        return [(passage.text, passage.source.url) for passage in ChatWebSearch(chat).search("amplexus", n=n)]


def test_sentences_are_grouped_by_cited_source() -> None:
    text = "The male holds the female [1]. Toads do too.[2] It lasts for days [1][2]. Everybody knows that."
    results = [{"title": "Frogs", "url": FROGS, "snippet": "A snippet."}, {"title": "Toads", "url": TOADS}]
    assert found(Answer(text=text, more={"search_results": results})) == [
        ("The male holds the female. It lasts for days.", FROGS),
        ("Toads do too.", TOADS),
        ("A snippet.", FROGS),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"citations": [FROGS]},
        {"citations": [{"url": FROGS, "title": "Frogs"}]},
        {"search_results": [{"url": FROGS}]},
    ],
)
def test_sources_are_read_in_all_server_formats(more: dict[str, Any]) -> None:
    assert found(Answer(text="The male holds on [1].", more=more)) == [("The male holds on.", FROGS)]


def test_an_answer_without_marks_goes_to_the_first_source() -> None:
    assert found(Answer(text="He holds on. She swims.", more={"citations": [FROGS, TOADS]})) == [
        ("He holds on. She swims.", FROGS)
    ]


@pytest.mark.parametrize(
    "more", [{}, {"citations": []}, {"citations": ["javascript:alert(1)"]}, {"citations": "x"}, {"search_results": [3]}]
)
def test_an_answer_without_a_source_is_dropped(more: dict[str, Any]) -> None:
    assert found(Answer(text="Trust me [1].", more=more)) == []


def test_an_invalid_source_url_does_not_shift_numbers() -> None:
    more = {"citations": ["file:///etc/passwd", TOADS]}
    assert found(Answer(text="Not this [1]. But this [2].", more=more)) == [("But this.", TOADS)]


def test_an_out_of_range_citation_is_dropped() -> None:
    more = {"citations": [FROGS, TOADS]}
    assert found(Answer(text="Nobody says this [0]. Nor this [3]. But this [1].", more=more)) == [("But this.", FROGS)]


def test_passages_are_limited_to_n() -> None:
    more = {"citations": [FROGS, TOADS]}
    assert len(found(Answer(text="One [1]. Two [2].", more=more), n=1)) == 1


def test_a_cached_answer_keeps_its_sources(tmp_path: Path) -> None:
    answer = Answer(text="He holds on [1].", more={"citations": [FROGS]})
    with (
        OpenAIServer(answer) as server,
        Connection(Endpoint(model="sonar", base_url=server.base_url), cache=ReplyCache(tmp_path / "r.sqlite")) as chat,
    ):
        search = ChatWebSearch(chat)
        first: list[WebPassage] = search.search("amplexus")
        assert search.search("amplexus") == first != []
        assert server.n_calls == 1
