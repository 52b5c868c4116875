"""The preset `authors`: the first ten in one call, three tries, replies read as in the published code."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest

from data.errors import MalformedAnswer
from rerank import RerankResources, make_reranker, preset_settings, run_jobs
from rerank.cotrr.authors import parse_ranking_as_authors
from tests.rerank.cotrr.test_reranker import Script, by_level, connected, folder, ids, job_of, levels
from tests.servers.openai_server import Answer, OpenAIServer

__all__ = ["folder"]


def order_of_theirs(text: str, n: int) -> list[int] | None:
    """Return the order that the published rules give to photos 0 to n - 1, written anew; None for an unusable reply."""
    braces = re.search(r"\{.*\}", text, re.DOTALL)
    if braces is None:
        return None
    try:
        listed = json.loads(braces[0]).get("ranking", [])
    except (json.JSONDecodeError, AttributeError):
        return None
    if not isinstance(listed, list) or not listed or any(not isinstance(number, int) for number in listed):
        return None
    named = [number - 1 for number in listed if 0 < number <= n]
    return list(dict.fromkeys(named + list(range(n))))  # they keep repeats; the first place counts


def test_replies_are_read_as_in_the_published_code() -> None:
    random, entries = Random(1), [*range(-2, 14), "3", 2.0, None, "x"]
    n_usable = 0
    for _ in range(3000):
        listed = random.choices(entries, weights=[20] * 16 + [1] * 4, k=random.randint(0, 12))
        text = random.choice(["{}", '{{"ranking": {}}}', 'Final: {{"ranking": {}}} done', "{{{}"]).format(
            json.dumps(listed)
        )
        expected = order_of_theirs(text, 10)
        try:
            found = parse_ranking_as_authors(text, 10).positions
        except MalformedAnswer:
            assert expected is None, text
        else:
            n_usable += 1
            assert [*found, *(i for i in range(10) if i not in found)] == expected, text
    assert n_usable > 500


def ranked(script: Any, job: Any, folder: Any) -> Any:
    with OpenAIServer(script) as server, connected(server) as chat:
        settings = preset_settings("authors", "cotrr")
        reranker = make_reranker("cotrr", RerankResources(vision=chat, settings=settings, root=folder))
        return run_jobs([job], reranker), server


def test_the_first_ten_go_into_one_call_and_the_others_stay_below(folder: Any) -> None:
    result, server = ranked(Script(), job_of(12), folder)
    (call,) = server.calls
    first, rest = levels(12)[:10], levels(12)[10:]
    assert len(call.images) == 10 and "the numbers of all 10 photos" in call.text
    assert ids(result.rows["q1"]) == [str(x) for x in [*sorted(first, reverse=True), *rest]]
    (message,) = call.payload["messages"]
    assert [part["type"] for part in message["content"]] == ["text", *["text", "image_url"] * 10]
    assert "temperature" not in call.payload


def test_an_unusable_reply_is_requested_three_times_without_a_correction(folder: Any) -> None:
    replies = iter(["no list", json.dumps({"ranking": ["1"]}), None])

    def script(call: Any) -> Any:
        reply = next(replies)
        return Script()(call) if reply is None else reply

    result, server = ranked(script, job_of(4), folder)
    assert ids(result.rows["q1"]) == by_level(4)
    assert server.n_calls == 3
    assert len({json.dumps(call.payload["messages"]) for call in server.calls}) == 1  # the same request
    assert [call.payload.get("seed") for call in server.calls] == [None, 1, 2]
    assert result.is_complete and "2 replies retried" in result.tally.lines()


@pytest.mark.parametrize("reply", ["no list", '{"ranking": []}', Answer(text=None, refusal="No.")])
def test_after_three_tries_the_order_is_that_of_the_first_stage_and_marked(folder: Any, reply: Any) -> None:
    result, server = ranked(lambda _: reply, job_of(12), folder)
    rows = result.rows["q1"]
    assert server.n_calls == 3
    assert ids(rows) == [str(x) for x in levels(12)]
    assert {row.status for row in rows} == {"error"}


def test_numbers_out_of_range_alone_leave_the_order(folder: Any) -> None:
    result, server = ranked(lambda _: '{"ranking": [77]}', job_of(4), folder)
    assert (ids(result.rows["q1"]), server.n_calls) == ([str(x) for x in levels(4)], 1)
    assert {row.status for row in result.rows["q1"]} == {"ok"}
    assert "1 ranking named none of its photos and stayed in first-stage order" in result.tally.warnings()
    assert not result.is_complete  # exit code 7
