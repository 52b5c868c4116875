"""Equal requests at once are sent once, share the reply and are paid once; replies are kept by address and model."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from data.errors import Refused, SourceUnavailable
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.cache import ReplyCache
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Budget, Endpoint
from kb.http import RetryPolicy
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Status

ASKED, OTHER = (ChatRequest(messages=(ChatMessage(role="user", text=text),)) for text in ("Is it red?", "Blue?"))


class Held:
    """A server that answers each request with its text, once the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.reaction: Reaction | None = None
        self.server = OpenAIServer(self._react)

    def _react(self, call: Call) -> Reaction:
        self.gate.wait(60)
        return self.reaction or Answer(text=call.text, input_tokens=10, output_tokens=1)

    async def asked(self, n: int) -> None:
        """Wait until there were `n` requests."""
        for _ in range(6_000):
            if self.server.n_calls >= n:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"expected {n} requests, got {self.server.n_calls}")


@pytest.fixture
def held() -> Iterator[Held]:
    found = Held()
    with found.server:
        yield found
        found.gate.set()


@pytest.fixture
def chat(held: Held, tmp_path: Path) -> Iterator[Connection]:
    endpoint = Endpoint(model="m", base_url=held.server.base_url, price_in=1.0, price_out=1.0)
    retry = RetryPolicy(tries=2, first_wait_s=0.01)
    with Connection(endpoint, cache=ReplyCache(tmp_path / "r"), budget=Budget(), retry=retry) as made:
        yield made


def test_equal_requests_at_once_share_one_paid_reply(held: Held, chat: Connection) -> None:
    async def main() -> list[ChatReply]:
        tasks = [asyncio.create_task(chat.reply(each)) for each in (ASKED, ASKED, ASKED, OTHER)]
        await held.asked(2)
        held.gate.set()
        return list(await asyncio.gather(*tasks))

    replies = wait_for(main())
    assert [reply.text for reply in replies] == ["Is it red?"] * 3 + ["Blue?"]
    assert [(reply.cost_usd, reply.cached) for reply in replies[:3]] == [(11e-6, False), *[(0.0, True)] * 2]
    meter = chat.budget.meter
    assert (held.server.n_calls, meter.calls, meter.cached, meter.spent_usd) == (2, 2, 2, 22e-6)


def test_all_callers_get_a_failure_told_once_and_only_refusals_are_stored(held: Held, chat: Connection) -> None:
    async def twice(request: ChatRequest) -> list[ChatReply | BaseException]:
        held.gate.set()
        return list(await asyncio.gather(*(chat.reply(request) for _ in range(2)), return_exceptions=True))

    held.reaction = Answer(text=None, refusal="no", input_tokens=10, output_tokens=1)
    refused = wait_for(twice(ASKED))
    assert [each.cost_usd for each in refused if isinstance(each, Refused)] == [11e-6, 0.0], "paid by the first"
    held.reaction = Status(status=503)
    failed = wait_for(twice(OTHER))
    assert [(type(each), str(each).count("(tried 2 times)")) for each in failed] == [(SourceUnavailable, 1)] * 2
    held.reaction = None
    with pytest.raises(Refused, match="declined: no"):
        wait_for(chat.reply(ASKED))
    assert wait_for(chat.reply(OTHER)).text == "Blue?"


def test_what_a_caller_who_gave_up_asked_for_is_paid_for_once(held: Held, chat: Connection) -> None:
    async def outlived(request: ChatRequest) -> None:
        held.gate.clear()
        first = asyncio.create_task(chat.reply(request))
        await held.asked(held.server.n_calls + 1)
        first.cancel()
        threading.Timer(0.2, held.gate.set).start()  # time for another request, if one were sent
        await asyncio.gather(chat.reply(request), return_exceptions=True)

    for seed, reaction in enumerate((None, Answer(text=None, refusal="no"), Answer(text="and", finish="length"))):
        held.reaction = reaction
        wait_for(outlived(replace(ASKED, seed=seed)))
        limits = [call.payload["max_tokens"] for call in held.server.calls if call.payload["seed"] == seed]
        assert limits == sorted(set(limits)), reaction


def test_replies_of_one_server_are_not_those_of_another_port_or_path(tmp_path: Path) -> None:
    with OpenAIServer("one") as one, OpenAIServer("two") as two:
        for url, text, is_cached in (
            (one.base_url, "one", False), (two.base_url, "two", False), (f"{one.base_url}/other", "one", False),
            (f"{one.base_url}/", "one", True),
        ):  # fmt: skip
            with Connection(Endpoint(model="m", base_url=url), cache=ReplyCache(tmp_path / "r")) as chat:
                reply = wait_for(chat.reply(ASKED))
            assert (reply.text, reply.cached) == (text, is_cached), url


def test_a_reply_that_the_method_cannot_use_is_passed_on_but_not_remembered(tmp_path: Path) -> None:
    with OpenAIServer(lambda call: "perhaps" if call.number < 3 else "Yes") as server:
        endpoint = Endpoint(model="m", base_url=server.base_url)
        with Connection(endpoint, cache=ReplyCache(tmp_path / "r")) as chat:
            said = [wait_for(chat.reply(replace(ASKED, usable=lambda reply: reply.text == "Yes"))) for _ in range(4)]
            assert [(reply.text, reply.cached) for reply in said] == [
                ("perhaps", False), ("perhaps", False), ("Yes", False), ("Yes", True),
            ]  # fmt: skip
            other = replace(ASKED, usable=lambda reply: reply.text != "Yes")
            server.script = lambda _: "No"
            assert [wait_for(chat.reply(other)).cached for _ in range(2)] == [False, True], "of use to this request"


def test_a_fresh_connection_asks_again_once_and_replaces_what_is_stored(tmp_path: Path) -> None:
    def ask(*, fresh: bool = False) -> list[tuple[str, bool]]:
        with Connection(endpoint, cache=ReplyCache(tmp_path / "r", fresh=fresh)) as chat:
            said = [wait_for(chat.reply(ASKED)) for _ in range(2)]
        return [(reply.text, reply.cached) for reply in said]

    with OpenAIServer(lambda call: f"reply {call.number}") as server:
        endpoint = Endpoint(model="m", base_url=server.base_url)
        assert ask() == [("reply 1", False), ("reply 1", True)]
        assert ask(fresh=True) == [("reply 2", False), ("reply 2", True)]
        assert ask() == [("reply 2", True)] * 2
