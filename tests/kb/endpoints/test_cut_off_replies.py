"""Replies that are cut off: asked for again with more tokens up to a bound, never passed on, and paid for once."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from data.errors import BadRequest, CutOff
from data.event_loop import wait_for
from data.records import ChatMessage, ChatRequest
from kb.endpoints.cache import Learnt, ReplyCache
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.form import Form
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Script, Status

HELLO = ChatRequest(messages=(ChatMessage(role="user", text="Hello"),), max_tokens=20)


def thinks(n: int, call: Call) -> Answer:
    """Answer after `n` tokens of reasoning, cut off at the limit of the request."""
    limit = call.payload.get("max_tokens", n + 1)
    is_cut = limit <= n
    return Answer(
        text=None if is_cut else "Yes", finish="length" if is_cut else "stop", output_tokens=min(n + 1, limit),
        message={"reasoning_content": "Hm. No?"},
    )  # fmt: skip


def with_context(n: int, script: Script) -> Script:
    """Return a script that refuses requests with more tokens than the context has."""

    def served(call: Call) -> Reaction:
        if call.payload["max_tokens"] + len(call.text.split()) > n:
            return Status(status=400, error={"message": f"This model's maximum context length is {n} tokens."})
        return script(call)

    return served


def say_hello(chat: Connection) -> str:
    return wait_for(chat.reply(HELLO)).text


def tokens_of(server: OpenAIServer) -> list[int]:
    return [call.payload["max_tokens"] for call in server.calls]


def test_the_tokens_grow_from_those_of_task_and_settings_up_to_a_bound() -> None:
    for n, first, tokens in (
        (600, 500, [500, 2_548]),
        (600, 4_096, [4_096]),
        (90_000, None, [20, 2_068, 8_212, 32_788]),
        (90_000, 8_192, [8_192, 16_384, 40_960]),
    ):
        with OpenAIServer(partial(thinks, n)) as server:
            endpoint = Endpoint(model="m", base_url=server.base_url, max_tokens=first)
            with Connection(endpoint) as chat:
                if n > tokens[-1]:
                    words = rf"m@127.0.0.1: the reply was cut off at {tokens[-1]:,} tokens, in its reasoning"
                    with pytest.raises(CutOff, match=words):
                        say_hello(chat)
                else:
                    assert say_hello(chat) == "Yes", n
                assert chat.budget.meter.cut_off == len(tokens) - (n < tokens[-1]), n
            assert tokens_of(server) == tokens, n


def test_after_one_reply_with_reasoning_the_others_get_enough_at_once(tmp_path: Path) -> None:
    other = ChatRequest(messages=(ChatMessage(role="user", text="Hi"),), max_tokens=1_500)
    with (
        OpenAIServer(partial(thinks, 3_000)) as server,
        ReplyCache(tmp_path / "replies") as cache,
        Connection(Endpoint(model="m", base_url=server.base_url), cache=cache) as chat,
    ):
        assert say_hello(chat) == "Yes"
        assert wait_for(chat.reply(other)).text == "Yes"
        assert say_hello(chat) == "Yes"
        assert tokens_of(server) == [20, 2_068, 8_212, 9_692], "the last from the cache, though it was for 20 tokens"
        with Connection(chat.endpoint, cache=ReplyCache(tmp_path / "replies")) as next_run:
            wait_for(next_run.reply(replace(HELLO, seed=1)))
        assert tokens_of(server)[4:] == [8_212]
        assert cache.learnt(chat.endpoint).room == 8_192


def test_learnt_tokens_are_given_up_where_the_context_is_too_small_for_them() -> None:
    served = with_context(9_000, partial(thinks, 3_000))
    long = ChatRequest(messages=(ChatMessage(role="user", text="word " * 3_000),), max_tokens=1_500)
    with OpenAIServer(served) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        assert say_hello(chat) == "Yes"
        assert wait_for(chat.reply(long)).text == "Yes"
        assert wait_for(chat.reply(long)).text == "Yes"
        assert tokens_of(server)[2:] == [8_212, 9_692, 4_846, 4_846]


def test_a_prompt_that_no_tokens_fit_is_an_error_with_the_fewest_tried() -> None:
    with (
        OpenAIServer(with_context(2, partial(thinks, 0))) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, max_tokens=64)) as chat,
    ):
        with pytest.raises(BadRequest, match="maximum context length is 2") as caught:
            say_hello(chat)
        assert tokens_of(server) == [64, 32, 20]
        assert caught.value.hint == "20 tokens for the reply are refused, too."


def test_a_form_is_remembered_while_fewer_tokens_are_of_this_run_alone(tmp_path: Path) -> None:
    def script(call: Call) -> Reaction:
        is_refused = call.payload["max_tokens"] > 64 or "seed" in call.payload
        return Status(status=400, error={"message": "no"}) if is_refused else "Yes"

    with OpenAIServer(script) as server, ReplyCache(tmp_path / "replies") as cache:
        endpoint = Endpoint(model="m", base_url=server.base_url, max_tokens=100)
        with Connection(endpoint, cache=cache) as chat:
            for seed in (None, 1):
                assert wait_for(chat.reply(replace(HELLO, seed=seed))).text == "Yes"
            assert cache.learnt(endpoint) == Learnt(form=Form(seed=False))


def test_a_reply_that_was_cut_off_tells_its_tokens_and_cost(tmp_path: Path) -> None:
    with OpenAIServer(partial(thinks, 80_000)) as server, ReplyCache(tmp_path / "replies") as cache:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=0, price_out=1_000_000)
        with Connection(endpoint, cache=cache) as chat:
            with pytest.raises(CutOff) as caught:
                say_hello(chat)
            assert (caught.value.output_tokens, caught.value.cost_usd) == (20 + 2_068 + 8_212 + 32_788, 43_088.0)
            assert chat.budget.meter.spent_usd == 43_088
        with Connection(endpoint, cache=ReplyCache(tmp_path / "replies")) as chat:
            with pytest.raises(CutOff, match="cut off at 32,788 tokens, in an earlier run"):
                say_hello(chat)
            assert (server.n_calls, chat.budget.meter.spent_usd) == (4, 0)
