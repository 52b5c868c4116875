"""A server that refuses parts of requests is asked in the form nearest to the full one, found once and remembered."""

import asyncio
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import BadRequest, KeyRejected, SourceError, SourceUnavailable
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.cache import Learnt, ReplyCache
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.form import Form, least_change, rungs
from kb.http import RetryPolicy
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Status

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "additionalProperties": False}
ASKED = ChatRequest(
    messages=(ChatMessage(role="system", text="Be brief."), ChatMessage(role="user", text="Is it red?")),
    max_tokens=5, seed=1, top_logprobs=20, json_schema=SCHEMA,
)  # fmt: skip
QUICK = RetryPolicy(first_wait_s=0.001)
FULL = Form()
LADDER = list(rungs(FULL, ASKED, Endpoint(model="m", reasoning_effort="low")))
NAMES = [field.name for field in fields(Form)]


def test_the_parts_go_in_a_fixed_order() -> None:
    assert list(dict.fromkeys(name for name, _ in LADDER)) == NAMES
    levels = [value for name, value in LADDER if name in ("json", "logprobs", "roles")]
    assert levels == ["plain schema", "object", "text", 5, 0, "user"]
    bare = ChatRequest(messages=(ChatMessage(role="user", text="Is it red?"),), temperature=None)
    assert [name for name, _ in rungs(FULL, bare, Endpoint(model="m"))] == ["tokens", "stream", "stream_usage"]


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2)))
def test_no_part_is_given_up_that_the_server_takes(refused: dict[str, int]) -> None:
    """A server that refuses the first values of some parts, whatever the others are, is asked for the best of each."""
    values: dict[str, list[object]] = {name: [getattr(FULL, name)] for name in NAMES}
    for name, value in LADDER:
        values[name].append(value)
    level = {name: min(refused.get(name, -1) + 1, len(values[name]) - 1) for name in NAMES}
    asked: list[Form] = []

    async def attempt(form: Form) -> ChatReply | None:
        asked.append(form)
        is_refused = any(values[name].index(getattr(form, name)) < level[name] for name in NAMES)
        return None if is_refused else ChatReply(text=repr(form), model="m")

    found = asyncio.run(least_change(FULL, LADDER, attempt))
    assert found is not None
    form, reply = found
    assert {name: getattr(form, name) for name in NAMES} == {name: values[name][level[name]] for name in NAMES}
    assert reply.text == repr(form)
    assert len(asked) <= 3 * len(LADDER)


def refusing(status: int = 422, /, **values: object) -> Callable[[Call], Reaction]:
    """Return a script that refuses some values of some fields, in words that nobody knows."""

    def script(call: Call) -> Reaction:
        bad = [name for name, value in values.items() if call.payload.get(name) == value]
        return Status(status=status, error={"message": f"{bad[0]}!"}) if bad else "Yes"

    return script


def test_the_ladder_is_climbed_once_for_all_requests_and_runs(tmp_path: Path) -> None:
    async def several(chat: Connection) -> None:
        messages = [(ChatMessage(role="user", text=str(i)),) for i in range(8)]
        await asyncio.gather(*(chat.reply(ChatRequest(messages=each, seed=1, top_logprobs=20)) for each in messages))

    with OpenAIServer(refusing(temperature=0.0, top_logprobs=20)) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url)
        with (
            Connection(endpoint, cache=ReplyCache(tmp_path / "r"), retry=QUICK) as chat,
            Connection(endpoint, cache=ReplyCache(tmp_path / "r"), retry=QUICK) as opened_before,
        ):
            asyncio.run(several(chat))
            assert chat.form == Form(temperature=False, logprobs=5)
            climbed = server.n_calls
            assert climbed <= 8 + 9 + 7, "eight at once are refused, one climbs, seven are asked again"
            wait_for(opened_before.reply(replace(ASKED, seed=2)))
            assert server.n_calls == climbed + 2, "the form is read again before it is looked for"
        climbed = server.n_calls
        with Connection(endpoint, cache=ReplyCache(tmp_path / "r"), retry=QUICK) as chat:
            wait_for(chat.reply(ASKED))
            assert server.n_calls == climbed + 1
            assert server.calls[-1].payload["top_logprobs"] == 5 and "temperature" not in server.calls[-1].payload
    with ReplyCache(tmp_path / "r") as cache:
        cache.learn(endpoint, room=9)  # by another connection
        assert cache.learnt(endpoint) == Learnt(form=Form(temperature=False, logprobs=5), room=9)
        cache.forget(endpoint)
        assert cache.learnt(endpoint) == Learnt()


def test_a_refusal_by_accident_teaches_nothing() -> None:
    faults = {1: 400, 2: 500, 3: 500}
    with (
        OpenAIServer(lambda call: Status(status=faults[call.number]) if call.number in faults else "ok") as server,
        Connection(Endpoint(model="m", base_url=server.base_url), retry=QUICK) as chat,
    ):
        assert (wait_for(chat.reply(ASKED)).text, chat.form) == ("ok", FULL)


def test_a_request_that_is_refused_in_all_forms_is_not_tried_in_all_again() -> None:
    with (
        OpenAIServer(Status(status=400, error={"message": "bad photo 17"})) as server,
        Connection(Endpoint(model="m", base_url=server.base_url), retry=QUICK) as chat,
    ):
        for calls in (1 + len(LADDER) - 1, 1):  # effort is not set here
            before = server.n_calls
            with pytest.raises(BadRequest, match="400: bad photo"):
                wait_for(chat.reply(ASKED))
            assert server.n_calls - before == calls


def test_a_request_whose_parts_the_server_has_taken_before_is_refused_for_its_contents() -> None:
    def script(call: Call) -> Reaction:
        return Status(status=400, error={"message": f"bad photo {call.text}"}) if "bad" in call.text else "ok"

    with (
        OpenAIServer(script) as server,
        Connection(Endpoint(model="m", base_url=server.base_url), retry=QUICK) as chat,
    ):
        wait_for(chat.reply(ASKED))
        for name in ("bad one", "bad two"):
            with pytest.raises(BadRequest, match=name):
                wait_for(chat.reply(replace(ASKED, messages=(ASKED.messages[0], ChatMessage(role="user", text=name)))))
        assert (server.n_calls, chat.form) == (3, FULL)


def test_a_part_that_no_provider_takes_is_told_from_a_bad_key_or_address_by_a_bare_request() -> None:
    for status, error in ((403, KeyRejected), (404, SourceError)):
        served = refusing(status, seed=1)
        with OpenAIServer(served) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
            assert wait_for(chat.reply(ASKED)).text == "Yes"
            assert chat.form == Form(seed=False)
        refused = OpenAIServer(Status(status=status))
        with refused as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
            for n_calls in (2, 3):
                with pytest.raises(error):
                    wait_for(chat.reply(ASKED))
                assert server.n_calls == n_calls
            assert not {"seed", "logprobs", "response_format", "temperature"} & set(server.calls[1].payload)


def test_a_fault_of_the_server_is_first_repeated_unchanged() -> None:
    def script(call: Call) -> Reaction:
        return Status(status=500) if "response_format" in call.payload else '{"a": 1}'

    with OpenAIServer(script) as server, Connection(Endpoint(model="m", base_url=server.base_url), retry=QUICK) as chat:
        assert wait_for(chat.reply(ASKED)).text == '{"a": 1}'
        assert server.calls[0].payload == server.calls[1].payload
        assert chat.form == Form(json="text")
    retry = RetryPolicy(first_wait_s=0.001, tries=3)
    with (
        OpenAIServer(Status(status=500)) as server,
        Connection(Endpoint(model="m", base_url=server.base_url), retry=retry) as chat,
        pytest.raises(SourceUnavailable, match="tried 3 times"),
    ):
        wait_for(chat.reply(ASKED))


def test_a_busy_server_is_waited_for_on_each_rung_and_a_form_that_is_not_confirmed_serves_one_reply() -> None:
    refused = refusing(seed=1)
    for busy, max_wait, form, n_calls in (
        (range(2, 99, 2), 300.0, Form(seed=False), 17),  # every other request
        ((9,), 0.0, FULL, 9),  # the last, which is to confirm that the full request is refused
    ):
        script = lambda call: Status(status=429) if call.number in busy else refused(call)  # noqa: B023, E731
        with (
            OpenAIServer(script) as server,
            Connection(Endpoint(model="m", base_url=server.base_url, max_wait=max_wait), retry=QUICK) as chat,
        ):
            assert (wait_for(chat.reply(ASKED)).text, chat.form, server.n_calls) == ("Yes", form, n_calls)


def test_a_number_of_tokens_that_the_server_refuses_is_no_reason_to_send_no_limit() -> None:
    """The other name of the limit may mean nothing to a server, and a reply without a limit has no bound of cost."""

    def script(call: Call) -> Reaction:
        if call.payload.get("max_tokens", 0) > 8192:
            return Status(status=400, error={"message": "max_tokens (16384) must not be larger than 8192"})
        return Answer(text="Yes", input_tokens=9, output_tokens=1 if "max_tokens" in call.payload else 20_000)

    with (
        OpenAIServer(script) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, max_tokens=16_384), retry=QUICK) as chat,
    ):
        assert [wait_for(chat.reply(ASKED)).text for _ in range(2)] == ["Yes", "Yes"]
        assert chat.form == FULL
        assert all("max_tokens" in call.payload for call in server.calls)
        assert server.calls[-1].payload["max_tokens"] == 8192
    with OpenAIServer(script) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        with pytest.raises(BadRequest):
            wait_for(chat.reply(replace(ASKED, max_tokens=9_000)))
        assert chat.form == FULL
