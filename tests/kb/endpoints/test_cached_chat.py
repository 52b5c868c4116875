"""Identical concurrent requests are sent once, share the reply and are paid once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from data.errors import Refused, SourceUnavailable
from data.event_loop import background_loop, wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.budget import Budget, Meter
from kb.endpoints.cached_chat import CachedChat
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from kb.endpoints.retry import RetryPolicy
from tests.servers.openai_server import Answer, OpenAIServer, Status

ASKED = ChatRequest(messages=(ChatMessage(role="user", text="Is it red?"),))
OTHER = ChatRequest(messages=(ChatMessage(role="user", text="Is it blue?"),))


class HeldChat:
    """A chat that holds its replies until the gate opens."""

    name = "held"

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []
        self.n_cancelled = 0
        self.gate = asyncio.Event()
        self.outcome: Callable[[ChatRequest], ChatReply] = lambda request: ChatReply(
            text=request.messages[0].text, model="m", cost_usd=0.5
        )

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.n_cancelled += 1
            raise
        return self.outcome(request)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition never became true")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Any]:
    with closing(ReplyCache(tmp_path / "r.sqlite")) as made:
        yield made


def test_identical_concurrent_requests_share_one_paid_reply(cache: ReplyCache) -> None:
    inner, meter = HeldChat(), Meter()
    chat = CachedChat(inner, cache, max_in_flight=8, meter=meter)

    async def main() -> list[ChatReply]:
        same = [asyncio.create_task(chat.reply(ASKED)) for _ in range(3)]
        other = asyncio.create_task(chat.reply(OTHER))
        await until(lambda: len(inner.asked) == 2)
        inner.gate.set()
        return list(await asyncio.gather(*same, other))

    first, second, third, other = wait_for(main())
    assert inner.asked == [ASKED, OTHER]
    assert [reply.text for reply in (first, second, third, other)] == ["Is it red?"] * 3 + ["Is it blue?"]
    assert [(reply.cost_usd, reply.cached) for reply in (first, second, third)] == [(0.5, False), *[(0.0, True)] * 2]
    assert meter.cached == 2


def test_cancelling_one_caller_does_not_affect_the_others(cache: ReplyCache) -> None:
    inner = HeldChat()
    chat = CachedChat(inner, cache, max_in_flight=8)

    async def main() -> ChatReply:
        first, second = (asyncio.create_task(chat.reply(ASKED)) for _ in range(2))
        await until(lambda: len(inner.asked) == 1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        inner.gate.set()
        return await second

    assert wait_for(main()).text == "Is it red?"
    assert (inner.n_cancelled, len(inner.asked)) == (0, 1)


def test_a_request_without_callers_is_cancelled_and_can_be_repeated(cache: ReplyCache) -> None:
    inner = HeldChat()
    chat = CachedChat(inner, cache, max_in_flight=1)

    async def main() -> ChatReply:
        both = [asyncio.create_task(chat.reply(ASKED)) for _ in range(2)]
        await until(lambda: len(inner.asked) == 1)
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        assert inner.n_cancelled == 1  # before the callers are notified
        inner.gate.set()
        return await chat.reply(ASKED)

    assert wait_for(main()).cost_usd == 0.5
    assert len(inner.asked) == 2


@pytest.mark.parametrize("error", [Refused("no", cost_usd=0.5), SourceUnavailable("down")])
def test_all_callers_get_a_failure_and_only_refusals_are_cached(cache: ReplyCache, error: Exception) -> None:
    inner = HeldChat()
    chat = CachedChat(inner, cache, max_in_flight=8)

    def fail(_: ChatRequest) -> ChatReply:
        raise error

    async def main() -> list[ChatReply | BaseException]:
        inner.outcome = fail
        both = [asyncio.create_task(chat.reply(ASKED)) for _ in range(2)]
        await until(lambda: len(inner.asked) == 1)
        inner.gate.set()
        return list(await asyncio.gather(*both, return_exceptions=True))

    found = wait_for(main())
    assert [(type(each), str(each)) for each in found] == [(type(error), str(error))] * 2
    if isinstance(error, Refused):
        assert [each.cost_usd for each in found if isinstance(each, Refused)] == [0.5, 0.0], "paid by the first"
    with pytest.raises(type(error)):
        wait_for(chat.reply(ASKED))
    assert len(inner.asked) == (1 if isinstance(error, Refused) else 2)


def test_concurrent_identical_requests_on_a_connection_are_charged_once(tmp_path: Path) -> None:
    all_asked = threading.Event()

    def script(_: object) -> Answer:
        all_asked.wait(60)
        return Answer(text="Yes", input_tokens=10, output_tokens=1)

    budget = Budget()
    with OpenAIServer(script) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=1.0, price_out=1.0)
        with Connection(endpoint, cache=ReplyCache(tmp_path / "r.sqlite"), budget=budget) as chat:
            futures = [asyncio.run_coroutine_threadsafe(chat.reply(ASKED), background_loop()) for _ in range(4)]
            all_asked.set()
            replies = [future.result(60) for future in futures]
        assert server.n_calls == 1
    assert sum(reply.cost_usd or 0 for reply in replies) == budget.meter.spent_usd == 11e-6
    assert (budget.meter.calls, budget.meter.cached) == (1, 3)


def test_a_shared_failure_states_the_number_of_tries_once(tmp_path: Path) -> None:
    with OpenAIServer(Status(status=503, error={"message": "busy"})) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url)
        retry = RetryPolicy(tries=2, first_wait_s=0.01)
        with Connection(endpoint, cache=ReplyCache(tmp_path / "r.sqlite"), retry=retry) as chat:

            async def main() -> list[ChatReply | BaseException]:
                return list(await asyncio.gather(*(chat.reply(ASKED) for _ in range(3)), return_exceptions=True))

            failures = wait_for(main())
    assert [str(failure).count("(tried 2 times)") for failure in failures] == [1, 1, 1]
