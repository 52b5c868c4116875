"""Requests, replies and errors of the real SDK against a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from data.errors import (
    ConfigError,
    ConnectionRefused,
    MalformedAnswer,
    MissingRequirement,
    RateLimited,
    Refused,
    ReplyLost,
    SourceError,
    SourceUnavailable,
)
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_client import OpenAIChat
from kb.endpoints.retry import RetryingChat, RetryPolicy
from tests.servers.openai_server import Answer, Call, Cut, OpenAIServer, Raw, Reaction, Status, Trickle

KEY = "sk-test-0123456789"
PNG = b"\x89PNG\r\n\x1a\n made up"
JPEG = b"\xff\xd8\xff made up"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def request(text: str = "Is it red?", **more: Any) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=text),), **more)


def ask(server: OpenAIServer, asked: ChatRequest | None = None, *, key: str = "", **more: Any) -> ChatReply:
    with OpenAIChat(Endpoint(model="m", base_url=server.base_url, **more), key) as chat:
        return wait_for(chat.reply(asked or request()))


def test_the_request_payload_follows_the_protocol() -> None:
    asked = ChatRequest(
        messages=(
            ChatMessage(role="system", text="Be short."),
            ChatMessage(role="user", text="What is it?", images=(PNG, JPEG)),
        ),
        json_schema=SCHEMA,
        max_tokens=7,
        top_logprobs=3,
        seed=11,
    )
    with OpenAIServer('{"a": 1}', key=KEY) as server:
        ask(server, asked, key=KEY)
        (call,) = server.calls
    assert call.images == [PNG, JPEG]
    for part in call.payload["messages"][1]["content"][1:]:
        part["image_url"]["url"] = part["image_url"]["url"].split(",")[0]
    assert call.payload == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be short."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64"}},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64"}},
                ],
            },
        ],
        "temperature": 0.0,
        "max_tokens": 7,
        "seed": 11,
        "logprobs": True,
        "top_logprobs": 3,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
        },
    }


def test_a_reply_has_text_tokens_cost_and_logprobs() -> None:
    tokens = (("Yes", math.log(0.9), (("Yes", math.log(0.9)), ("No", math.log(0.1)))),)
    with OpenAIServer(Answer(text="Yes", logprobs=tokens, input_tokens=1000, output_tokens=10)) as server:
        reply = ask(server, request(top_logprobs=2), price_in=2.0, price_out=5.0)
    assert (reply.text, reply.model, reply.finish, reply.cached) == ("Yes", "m", "stop", False)
    assert (reply.input_tokens, reply.output_tokens) == (1000, 10)
    assert reply.cost_usd == pytest.approx(1000 * 2e-6 + 10 * 5e-6)
    assert reply.logprobs is not None
    assert [(token.token, token.logprob) for token in reply.logprobs] == [("Yes", math.log(0.9))]
    assert reply.logprobs[0].top == (("Yes", math.log(0.9)), ("No", math.log(0.1)))


def test_logprobs_are_none_if_the_server_ignores_them() -> None:
    tokens = (("Yes", -0.1, ()),)
    with OpenAIServer(Answer(text="Yes", logprobs=tokens), gives_logprobs=False) as server:
        assert ask(server, request(top_logprobs=2)).logprobs is None


def test_cost_is_none_without_prices_and_maximal_without_usage() -> None:
    with OpenAIServer(Answer(text="red", has_usage=False)) as server:
        assert ask(server).cost_usd is None
        cost = ask(server, request("abc", max_tokens=50), price_in=1.0, price_out=1.0).cost_usd
    assert cost is not None
    assert cost >= (3 + 50) * 1e-6


@pytest.mark.parametrize(
    ("reaction", "expected", "words"),
    [
        (Answer(text=None, refusal="I cannot help with that."), Refused, "declined: I cannot help"),
        (Answer(text="", finish="content_filter"), Refused, "filter blocked the reply"),
        (Status(status=400, error={"message": "no", "code": "content_policy_violation"}), Refused, "400: no"),
        (Answer(text=""), MalformedAnswer, "an empty reply"),
        (Raw(body=b"<html>Bad gateway</html>"), MalformedAnswer, "expected JSON, got '<html>Bad"),
        (Raw(body=b'{"hello": 1}', media_type="application/json"), MalformedAnswer, "expected a chat completion"),
        (Raw(body=b'{"error": {"message": "busy", "code": 503}}'), SourceUnavailable, "busy"),
        (Status(status=500, error="oops"), SourceUnavailable, "500"),
        (Status(status=404, error={"message": "no such model"}), SourceError, "404: no such model"),
        (Status(status=302, headers={"location": "http://127.0.0.1:9/"}), SourceError, "302"),
        (Status(status=429, headers={"retry-after": "7"}), RateLimited, "429"),
        (Status(status=429, error={"message": "pay", "code": "insufficient_quota"}), SourceError, "429: pay"),
        (Status(status=403, error={"message": KEY}), MissingRequirement, "403: API key in TEST_KEY rejected"),
        (Cut(), ReplyLost, "the connection was cut"),
        (Cut(after_bytes=0), ReplyLost, "the connection was cut"),
        (Trickle(), ReplyLost, "no reply within 2 s"),
        (Answer(text="late", after_s=30), ReplyLost, "no reply within 2 s"),
    ],
)
def test_server_errors_map_to_project_errors_without_retry(
    reaction: Reaction, expected: type[Exception], words: str
) -> None:
    timeout = 2.0 if "within 2 s" in words else 30.0
    with OpenAIServer(reaction) as server:
        with pytest.raises(expected, match=words) as caught:
            ask(server, key=KEY, api_key_env="TEST_KEY", timeout=timeout)
        assert type(caught.value) is expected
        assert server.n_calls == 1


def test_an_unreachable_server_is_unavailable_but_not_reply_lost() -> None:
    with OpenAIServer() as server:
        gone = server.base_url
    with OpenAIChat(Endpoint(model="m", base_url=gone)) as chat, pytest.raises(SourceUnavailable) as caught:
        wait_for(chat.reply(request()))
    assert not isinstance(caught.value, ReplyLost)


@pytest.mark.parametrize(
    "reaction",
    [
        Status(status=401, error={"message": f"Incorrect API key provided: {KEY}"}),
        Status(status=400, error={"message": f"bad request by {KEY}"}),
        Status(status=500, error=f"dump: Authorization: Bearer {KEY}"),
        Status(status=400, error={"message": "x" * 190 + KEY}),
        Raw(body=f"<html>{KEY}</html>".encode()),
        Raw(body=json.dumps({"headers": {"authorization": f"Bearer {KEY}"}}).encode(), media_type="application/json"),
    ],
)
def test_errors_and_tracebacks_never_contain_the_api_key(reaction: Reaction) -> None:
    with OpenAIServer(reaction) as server, pytest.raises(Exception, match=r"127\.0\.0\.1") as caught:
        ask(server, key=KEY, api_key_env="TEST_KEY")
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__context__)
    assert KEY not in shown
    assert KEY[:8] not in shown


def test_an_api_key_echoed_in_a_reply_is_masked() -> None:
    with OpenAIServer(lambda call: f"you sent {call.headers['authorization']}") as server:
        assert ask(server, key=KEY).text == "you sent Bearer ***"
        assert ask(server, key="none").text == "you sent Bearer none"  # a placeholder is not masked


def escaped(text: str) -> str:
    """Return a text as a JSON string of escapes alone."""
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def completion(content: str, more: str = "") -> Raw:
    """Return a chat completion whose content is JSON as given."""
    message = f'{{"message": {{"role": "assistant", "content": "{content}"}}, "finish_reason": "stop"{more}}}'
    return Raw(body=f'{{"choices": [{message}]}}'.encode(), media_type="application/json")


def test_an_api_key_echoed_in_escapes_is_masked() -> None:
    with OpenAIServer(completion(f"you sent {escaped(KEY)}")) as server:
        assert ask(server, key=KEY).text == "you sent ***"


def test_half_of_a_surrogate_pair_in_a_reply_can_be_written() -> None:
    with OpenAIServer(completion(r"a bird \ud83d here")) as server:
        assert ask(server).text.encode() == "a bird \ufffd here".encode()


@pytest.mark.parametrize(
    "answer",
    [
        Raw(body=b"[" * 100_000, media_type="application/json"),
        completion("yes", ', "logprobs": {"content": [{"token": "yes", "logprob": -1e400, "top_logprobs": []}]}'),
        completion("yes", f', "logprobs": {{"content": [{{"token": "yes", "logprob": -{"9" * 400}}}]}}'),
    ],
    ids=["deeply nested", "exponent of 400", "400 digits"],
)
def test_an_answer_that_no_parser_should_read_is_a_malformed_answer(answer: Raw) -> None:
    with OpenAIServer(answer) as server, pytest.raises(MalformedAnswer, match="expected JSON"):
        ask(server, request(top_logprobs=2))


def test_a_retry_after_of_400_digits_is_ignored() -> None:
    refusal = Status(status=429, headers={"retry-after-ms": "9" * 400})
    with OpenAIServer(refusal) as server, pytest.raises(RateLimited) as caught:
        ask(server)
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize(
    ("url", "name", "address"),
    [
        ("https://api.example.org/v1", "m@api.example.org", "m@api.example.org"),
        ("https://models.example.org:8443/v1", "m@models.example.org:8443", "m@models.example.org:8443"),
        ("http://127.0.0.1:8000/v1", "m@127.0.0.1", "m@127.0.0.1:8000"),
        ("http://localhost:8000/v1", "m@localhost", "m@localhost:8000"),
        ("http://[::1]:8000/v1", "m@::1", "m@[::1]:8000"),
    ],
)
def test_local_endpoint_names_ignore_the_port(url: str, name: str, address: str) -> None:
    endpoint = Endpoint(model="m", base_url=url)
    assert (endpoint.name, endpoint.address) == (name, address)


def test_logs_never_contain_the_api_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with OpenAIServer(key=KEY) as server:
        ask(server, key=KEY)
        assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert caplog.text != ""
    assert KEY not in caplog.text


def test_keys_of_other_providers_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret-of-openai")
    with OpenAIServer() as server:
        ask(server)
        assert "secret-of-openai" not in str(server.calls[0].headers)


@pytest.mark.parametrize(
    ("parameter", "gone", "instead"),
    [
        ("temperature", "temperature", None),
        ("max_tokens", "max_tokens", "max_completion_tokens"),
        ("seed", "seed", None),
        ("logprobs", "top_logprobs", None),
    ],
)
def test_an_unsupported_parameter_is_dropped_from_later_requests(
    parameter: str, gone: str, instead: str | None
) -> None:
    def script(call: Call) -> Reaction:
        if parameter in call.payload:
            error = {"message": f"Unsupported parameter: '{parameter}'", "param": parameter}
            return Status(status=400, error=error)
        return "ok"

    asked = request(max_tokens=5, seed=1, top_logprobs=2)
    with OpenAIServer(script) as server, OpenAIChat(Endpoint(model="m", base_url=server.base_url)) as chat:
        assert wait_for(chat.reply(asked)).text == "ok"
        assert wait_for(chat.reply(asked)).text == "ok"
        assert server.n_calls == 3
        assert gone not in server.calls[-1].payload
        assert instead is None or server.calls[-1].payload[instead] == 5
        assert chat.unsupported == {parameter}


@pytest.mark.parametrize(
    "message",
    [
        "`temperature` is deprecated for this model.",
        "invalid temperature: only 1 is allowed for this model",
        "`temperature` may only be set to 1 when thinking is enabled.",
    ],
)
def test_a_temperature_that_a_model_refuses_is_left_out(message: str) -> None:
    def script(call: Call) -> Reaction:
        return Status(status=400, error={"message": message}) if "temperature" in call.payload else "ok"

    with OpenAIServer(script) as server:
        ask(server)
        assert "temperature" not in server.calls[-1].payload


def test_a_too_large_parameter_is_not_treated_as_unsupported() -> None:
    """Without it, the cost of a reply would be unbounded."""
    error = {"message": "max_tokens is too large: 9000", "param": "max_tokens", "code": "invalid_value"}
    with (
        OpenAIServer(Status(status=400, error=error)) as server,
        OpenAIChat(Endpoint(model="m", base_url=server.base_url)) as chat,
    ):
        with pytest.raises(SourceError, match="too large"):
            wait_for(chat.reply(request(max_tokens=9000)))
        assert (server.n_calls, chat.unsupported) == (1, frozenset())


def test_a_schema_moves_into_the_prompt_if_unsupported() -> None:
    with OpenAIServer("{}", knows_json_schema=False) as server:
        ask(server, request(json_schema=SCHEMA))
        assert server.n_calls == 2
        assert json.dumps(SCHEMA) in server.calls[1].text


def test_concurrency_is_limited_across_tasks_and_event_loops() -> None:
    def slow(call: Call) -> Reaction:
        return Answer(text=call.text, after_s=0.03)

    async def many(chat: OpenAIChat, n: int) -> list[str]:
        return [reply.text for reply in await asyncio.gather(*(chat.reply(request(str(i))) for i in range(n)))]

    with (
        OpenAIServer(slow) as server,
        OpenAIChat(Endpoint(model="m", base_url=server.base_url, max_concurrent=4)) as chat,
    ):
        assert asyncio.run(many(chat, 20)) == [str(i) for i in range(20)]
        assert asyncio.run(many(chat, 20)) == [str(i) for i in range(20)]
        assert 1 < server.most_at_once <= 4


def retried(script: Callable[[Call], Reaction], retry: RetryPolicy) -> tuple[str, OpenAIServer]:
    with OpenAIServer(script) as server, OpenAIChat(Endpoint(model="m", base_url=server.base_url)) as chat:
        return wait_for(RetryingChat(chat, retry).reply(request())).text, server


QUICK = RetryPolicy(first_wait_s=0.01)


@pytest.mark.parametrize("bad", [Cut(), Status(status=503), Status(status=429), Raw(body=b"<html>")])
def test_transient_errors_are_retried(bad: Reaction) -> None:
    text, server = retried(lambda call: bad if call.number < 3 else "at last", QUICK)
    assert (text, server.n_calls) == ("at last", 3)


@pytest.mark.parametrize(
    ("reaction", "n"),
    [
        (Answer(text=None, refusal="No."), 1),
        (Status(status=400, error={"message": "bad"}), 1),
        (Status(status=429, headers={"retry-after": "100"}), 1),
        (Raw(body=b"<html>"), 3),
        (Status(status=500), 4),
    ],
)
def test_the_number_of_tries_depends_on_the_error(reaction: Reaction, n: int) -> None:
    with OpenAIServer(reaction) as server, OpenAIChat(Endpoint(model="m", base_url=server.base_url)) as chat:
        with pytest.raises(SourceError):
            wait_for(RetryingChat(chat, RetryPolicy(first_wait_s=0.01, tries=4)).reply(request()))
        assert server.n_calls == n


@pytest.fixture
def silent_url() -> Iterator[str]:
    """An address with a reserved port and no listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_a_refused_connection_is_tried_twice(silent_url: str) -> None:
    with OpenAIChat(Endpoint(model="m", base_url=silent_url)) as chat:
        retrying = RetryingChat(chat, QUICK)
        for _ in range(2):
            with pytest.raises(ConnectionRefused, match=r"connection refused \(tried 2 times\)") as caught:
                wait_for(retrying.reply(request()))
            assert "base_url" in (caught.value.hint or "")
        assert retrying.n_retries == 2


@pytest.mark.parametrize("first", [Status(status=400, headers={"connection": "close"}), Cut()])
def test_an_endpoint_that_answered_before_is_retried_longer(first: Reaction) -> None:
    with OpenAIServer(first) as server:
        chat = OpenAIChat(Endpoint(model="m", base_url=server.base_url))
        retrying = RetryingChat(chat, QUICK)
        with pytest.raises(SourceError):
            wait_for(retrying.reply(request()))
    with chat, pytest.raises(ConnectionRefused, match="tried 6 times"):
        wait_for(retrying.reply(request()))


def test_all_requests_obey_retry_after() -> None:
    """After a 429, other requests wait as well until the time is over."""

    def script(call: Call) -> Reaction:
        return Status(status=429, headers={"retry-after": "0.6"}) if call.number == 1 else "ok"

    async def two(chat: RetryingChat) -> None:
        first = asyncio.create_task(chat.reply(request("a")))
        while not chat.n_retries:  # until the client has read the 429
            await asyncio.sleep(0.01)
        await asyncio.gather(first, chat.reply(request("b")))

    with OpenAIServer(script) as server, OpenAIChat(Endpoint(model="m", base_url=server.base_url)) as chat:
        asyncio.run(two(RetryingChat(chat, QUICK)))
        began, *later = [call.at_s for call in server.calls]
    assert len(later) == 2
    assert min(later) - began >= 0.6


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "ftp://x/v1"},
        {"base_url": "http://user:secret@x/v1"},
        {"base_url": "http://x/v1?key=secret"},
        {"model": ""},
        {"price_in": -1.0},
        {"max_concurrent": 0},
    ],
)
def test_an_invalid_endpoint_is_refused_without_showing_secrets(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        Endpoint(**{"model": "m", **wrong})
    assert "secret" not in f"{caught.value} {caught.value.hint}"
