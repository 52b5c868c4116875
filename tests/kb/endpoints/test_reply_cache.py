"""The reply cache: keyed by the whole request, shared between processes, safe against kills."""

import asyncio
import multiprocessing
import os
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.errors import NotCached
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest, TokenLogprobs
from kb.endpoints.cache import ReplyCache, request_key
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from tests.servers.openai_server import Answer, OpenAIServer

KEY = "sk-test-0123456789"
ASKED = ChatRequest(
    messages=(ChatMessage(role="user", text="Is it red?", images=(b"\x89PNG 1",)),),
    json_schema={"type": "object"},
    max_tokens=5,
    top_logprobs=2,
    seed=1,
)
REPLY = ChatReply(
    text="Yes",
    model="m-2026",
    input_tokens=9,
    output_tokens=1,
    cost_usd=0.25,
    logprobs=(TokenLogprobs(token="Yes", logprob=-0.5, top=(("Yes", -0.5),)),),
)


def connection(server: OpenAIServer, path: Path, **more: Any) -> Connection:
    endpoint = Endpoint(model="m", base_url=server.base_url, price_in=1.0, price_out=1.0)
    return Connection(endpoint, KEY, cache=ReplyCache(path), **more)


def test_a_cached_reply_is_unchanged_but_free(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "r.sqlite")
    assert cache.find("a") is None
    cache.store("a", REPLY)
    assert cache.find("a") == replace(REPLY, cost_usd=0.0, cached=True)
    cache.close()


def test_offline_mode_replays_cached_replies_only(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with OpenAIServer("Yes") as server:
        with connection(server, path) as chat:
            wait_for(chat.reply(ASKED))
        with connection(server, path, offline=True) as chat:
            assert wait_for(chat.reply(ASKED)).cached
            with pytest.raises(NotCached, match="No cached reply of m@"):
                wait_for(chat.reply(replace(ASKED, seed=2)))
        assert server.n_calls == 1


def test_a_file_that_is_not_a_cache_is_kept_under_another_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "r.sqlite"
    notes = b"these are my notes, not a database" * 100
    path.write_bytes(notes)
    with ReplyCache(path) as cache:
        assert cache.find("a") is None
    assert (tmp_path / "r.sqlite.damaged-1").read_bytes() == notes
    assert [record.getMessage().partition(" is damaged")[0] for record in caplog.records] == [str(path)]


def test_a_reply_is_stored_although_its_caller_gives_up_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with ReplyCache(path) as cache:
        cache.store("another", REPLY)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")

    async def give_up(chat: Connection, server: OpenAIServer) -> None:
        task = asyncio.create_task(chat.reply(ASKED))
        while not any(call.is_answered for call in server.calls):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)  # the reply waits for the disk
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        blocker.execute("ROLLBACK")
        while len(cache) < 2:
            await asyncio.sleep(0.01)

    with OpenAIServer("Yes") as server, connection(server, path) as chat:
        asyncio.run(give_up(chat, server))
        assert wait_for(chat.reply(ASKED)).cached
    blocker.close()


def test_unstored_replies_never_exceed_the_concurrency_limit(tmp_path: Path) -> None:
    """While another process locks the file, no reply can be stored, so only two requests are sent."""
    path = tmp_path / "replies.sqlite"
    requests = [replace(ASKED, seed=seed) for seed in range(6)]

    async def ask_all(chat: Connection, server: OpenAIServer, blocker: sqlite3.Connection) -> int:
        tasks = [asyncio.create_task(chat.reply(request)) for request in requests]
        while sum(call.is_answered for call in server.calls) < 2:
            await asyncio.sleep(0.01)
        # Time for a third request to arrive, if one were sent; a slow machine may miss such a fault.
        await asyncio.sleep(0.3)
        n_asked = server.n_calls
        blocker.execute("ROLLBACK")
        await asyncio.gather(*tasks)
        return n_asked

    with ReplyCache(path) as cache:
        cache.store("another", REPLY)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with OpenAIServer(Answer(text="Yes")) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, max_concurrent=2)
        with Connection(endpoint, KEY, cache=ReplyCache(path)) as chat:
            assert asyncio.run(ask_all(chat, server, blocker)) == 2
        assert server.n_calls == 6
    blocker.close()


def test_the_cache_key_depends_on_request_and_model() -> None:
    image = b"\x89PNG 1"
    others = (
        replace(ASKED, messages=(ChatMessage(role="user", text="Is it blue?", images=(image,)),)),
        replace(ASKED, messages=(ChatMessage(role="system", text="Is it red?", images=(image,)),)),
        replace(ASKED, messages=(ChatMessage(role="user", text="Is it red?", images=(b"\x89PNG 2",)),)),
        replace(ASKED, messages=(*ASKED.messages, ChatMessage(role="user", text=""))),
        replace(ASKED, json_schema=None), replace(ASKED, max_tokens=6), replace(ASKED, temperature=0.5),
        replace(ASKED, temperature=None), replace(ASKED, in_one=True), replace(ASKED, top_logprobs=None),
        replace(ASKED, seed=None), replace(ASKED, first_words=("yes",)),
    )  # fmt: skip
    keys = {request_key("m", other) for other in (ASKED, *others)} | {request_key("n", ASKED)}
    assert len(keys) == len(others) + 2


def put_all(path: Path, name: str) -> None:
    """Store replies, then die."""
    cache = ReplyCache(path)
    for i in range(40):
        cache.store(f"{name}{i}", ChatReply(text=str(i), model="m"))
    os.kill(os.getpid(), signal.SIGKILL)


def test_concurrent_and_killed_processes_lose_no_reply(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    writers = [multiprocessing.get_context("fork").Process(target=put_all, args=(path, name)) for name in "abc"]
    for each in writers:
        each.start()
    for each in writers:
        each.join(300)
    assert [each.exitcode for each in writers] == [-signal.SIGKILL] * 3
    with ReplyCache(path) as cache:
        assert len(cache) == 120
        cache.close()  # opens again to store
        cache.store("a", REPLY)
        assert len(cache) == 121
