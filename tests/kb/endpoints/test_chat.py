"""Requests, replies and errors over a real HTTP server."""

import asyncio
import json
import os
import signal
import socket
import traceback
from contextlib import ExitStack
from typing import Any

import pytest

from data.errors import (
    ConfigError,
    ConnectionRefused,
    KeyRejected,
    MalformedAnswer,
    MissingRequirement,
    RateLimited,
    Refused,
    ReplyLost,
    SourceError,
    SourceUnavailable,
    TooManyTokens,
)
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Budget, Endpoint
from kb.http import RetryPolicy
from tests.servers.openai_server import Answer, Call, Cut, OpenAIServer, Raw, Reaction, Status, Trickle

KEY = "sk-test-0123456789"
PNG = b"\x89PNG\r\n\x1a\n made up"
JPEG = b"\xff\xd8\xff made up"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def request(text: str = "Is it red?", **more: Any) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=text),), **more)


def ask(server: OpenAIServer, asked: ChatRequest | None = None, *, key: str = "", **more: Any) -> ChatReply:
    endpoint = Endpoint(**{"model": "m", "base_url": server.base_url, "max_wait": 0.0, **more})
    with Connection(endpoint, key) as chat:
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
        ask(server, asked, key=f"{KEY}\n")
        (call,) = server.calls
    assert call.images == [PNG, JPEG] and call.headers["accept"] == "application/json"
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
        "stream": False,
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


def test_a_byte_order_mark_and_signs_of_life_before_an_answer_are_passed_over() -> None:
    choice = {"index": 0, "message": {"content": "red"}, "finish_reason": "stop"}
    answer = json.dumps({"choices": [choice]}).encode()
    for body, kind in (
        (b"\xef\xbb\xbf" + answer, "application/json"),
        (b"\n \n" + answer, "application/json"),
        (b": working\n\ndata: " + answer + b"\n\ndata: [DONE]\n\n", "application/json"),
        (b": working\r\n\r\n: working\r\n\r\n" + answer, "application/json"),
        (b": working\r\rdata: " + answer + b"\r\r", "text/event-stream"),
        (b"event: message\ndata: " + answer + b"\n\n", "text/plain"),
        (answer + b"\n\ndata: [DONE]\n\n", "text/event-stream"),
    ):
        with OpenAIServer(Raw(body=body, media_type=kind)) as server:
            assert ask(server).text == "red"


def test_keys_of_other_providers_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret-of-openai")
    with OpenAIServer() as server:
        ask(server)
        assert "secret-of-openai" not in str(server.calls[0].headers)


def test_proxies_are_for_other_machines_and_unusable_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:9")
    with OpenAIServer() as server:
        ask(server)
    for words in ("gopher", "No such file"):
        with pytest.raises(MissingRequirement, match=words), Connection(Endpoint(model="m")) as chat:
            wait_for(chat.reply(request()))
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")


def test_the_password_of_an_invalid_proxy_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret#1@proxy:8080")
    with pytest.raises(MissingRequirement) as caught, Connection(Endpoint(model="m")) as chat:
        wait_for(chat.reply(request()))
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_a_stream_that_fails_midway_counts_as_paid_and_is_no_matter_of_the_form() -> None:
    piece = {"choices": [{"index": 0, "delta": {"content": "It is"}}]}
    body = "".join(f"data: {json.dumps(part)}\n\n" for part in (piece, {"error": {"message": "the engine is dead"}}))
    with OpenAIServer(Raw(body=body.encode(), media_type="text/event-stream")) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=1, price_out=1)
        with Connection(endpoint, budget=Budget(1.0), retry=QUICK) as chat:
            with pytest.raises(ReplyLost, match="the engine is dead"):
                wait_for(chat.reply(request()))
            assert len({json.dumps(call.payload) for call in server.calls}) == 1
            assert chat.budget.meter.unsure_usd >= server.n_calls * request().max_tokens * 1e-6


def test_a_forked_process_is_told_to_open_a_connection_of_its_own() -> None:
    with OpenAIServer() as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        wait_for(chat.reply(request()))
        if (child := os.fork()) == 0:
            signal.alarm(20)
            try:
                asyncio.run(chat.reply(request()))
            except RuntimeError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


QUICK = RetryPolicy(first_wait_s=0.01)


def test_a_host_that_accepts_no_connection_is_given_up_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.endpoints.client.CONNECT_S", 0.2)
    with ExitStack() as opened:
        host = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # the queue of the host is full
            opened.enter_context(waiting := socket.socket()).setblocking(False)
            waiting.connect_ex(host.getsockname())
        url = f"http://127.0.0.1:{host.getsockname()[1]}/v1"
        endpoint = Endpoint(model="m", base_url=url, price_in=1.0, price_out=1.0)
        with Connection(endpoint, retry=QUICK) as chat, pytest.raises(ConnectionRefused, match=r"0\.2 s.* 2 times"):
            wait_for(chat.reply(request()))
        assert chat.budget.meter.unsure_usd == 0


def test_a_refused_connection_is_tried_twice() -> None:
    with socket.socket() as taken:  # a port without a listener
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with Connection(Endpoint(model="m", base_url=url), retry=QUICK) as chat:
            for _ in range(2):
                with pytest.raises(ConnectionRefused, match=r"no connection .*\(tried 2 times\)") as caught:
                    wait_for(chat.reply(request()))
                assert "base_url" in (caught.value.hint or "")
            assert chat.n_retries == 2


def test_all_requests_obey_retry_after() -> None:
    """After a 429, other requests wait as well until the time is over."""

    def script(call: Call) -> Reaction:
        return Status(status=429, headers={"retry-after": "0.6"}) if call.number == 1 else "ok"

    async def two(chat: Connection) -> None:
        first = asyncio.create_task(chat.reply(request("a")))
        while not chat.n_retries:  # until the client has read the 429
            await asyncio.sleep(0.01)
        await asyncio.gather(first, chat.reply(request("b")))

    with OpenAIServer(script) as server, Connection(Endpoint(model="m", base_url=server.base_url), retry=QUICK) as chat:
        asyncio.run(two(chat))
        began, *later = [call.at_s for call in server.calls]
    assert len(later) == 2
    assert min(later) - began >= 0.6


ERRORS: tuple[tuple[Reaction, type[Exception], str], ...] = (
    (Answer(text=None, refusal="I cannot help with that."), Refused, "declined: I cannot help"),
    (Status(status=400, error={"message": "no", "code": "content_policy_violation"}), Refused, "400: no"),
    (Answer(text=""), MalformedAnswer, "an empty reply"),
    (Raw(body=b"<html>Bad gateway</html>"), MalformedAnswer, "expected JSON, got '<html>Bad"),
    (Raw(body=b"[" * 100_000, media_type="application/json"), MalformedAnswer, "expected JSON"),
    (Raw(body=b'{"hello": 1}', media_type="application/json"), MalformedAnswer, "expected a chat completion"),
    (Raw(body=b'{"error": {"message": "busy", "code": 503}}'), SourceUnavailable, "busy"),
    (Raw(body=b'{"error": {"message": "no", "code": "content_filter"}}'), Refused, "no"),
    (Raw(body=b'{"error": {"message": "wait", "code": 429}}'), RateLimited, "wait"),
    (Raw(body=b'{"error": {"message": "odd"}}'), SourceUnavailable, "odd"),
    (Raw(body=b'{"code": 401, "msg": "token expired", "success": false}'), KeyRejected, "401: API key in TEST_KEY"),
    (Raw(body=b'{"object": "error", "message": "the maximum is 9 tokens", "code": 400}'), TooManyTokens, "the maximum"),
    (Raw(body=b'{"base_resp": {"status_code": 1, "status_msg": "odd"}, "choices": null}'), SourceUnavailable, ": odd"),
    (Status(status=500, error="oops"), SourceUnavailable, "500: oops"),
    (Status(status=302, headers={"location": "http://127.0.0.1:9/"}), SourceError, "302"),
    (Status(status=429, headers={"retry-after": "7"}), RateLimited, "429"),
    (Status(status=429, error={"message": "pay", "code": "insufficient_quota"}), SourceError, "429: pay"),
    (Status(status=403, error={"message": KEY}), KeyRejected, "403: API key in TEST_KEY rejected"),
    (Cut(), ReplyLost, "the connection was cut"),
    (Cut(after_bytes=0), ReplyLost, "the connection was cut"),
    (Trickle(), ReplyLost, "no reply within 0.4 s"),
    (Answer(text="late", after_s=30), ReplyLost, "no reply within 0.4 s"),
)


def test_errors_of_servers_are_those_of_the_project_and_without_waiting_there_is_one_try() -> None:
    for reaction, expected, words in ERRORS:
        with OpenAIServer(reaction) as server:
            with pytest.raises(expected, match=words) as caught:
                ask(server, key=KEY, api_key_env="TEST_KEY", timeout=0.4 if "within" in words else 30.0)
            # A key that may not ask for a part of a request is told apart by a bare request.
            assert (type(caught.value), server.n_calls) == (expected, 2 if "403" in words else 1), words


def test_errors_tracebacks_and_logs_never_contain_the_api_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for reaction in (
        Status(status=401, error={"message": f"Incorrect API key provided: {KEY}"}),
        Status(status=400, error={"message": f"bad request by {KEY}"}),
        Status(status=500, error=f"dump: Authorization: Bearer {KEY}"),
        Status(status=400, error={"message": "x" * 190 + KEY}),
        Raw(body=f"<html>{KEY}</html>".encode()),
        Raw(body=json.dumps({"headers": {"authorization": f"Bearer {KEY}"}}).encode(), media_type="application/json"),
    ):
        with OpenAIServer(reaction) as server, pytest.raises(Exception, match=r"127\.0\.0\.1") as caught:
            ask(server, key=KEY, api_key_env="TEST_KEY")
        assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__context__)
        assert KEY not in shown and KEY[:8] not in shown, reaction
    assert caplog.text != "" and KEY not in caplog.text


def test_an_api_key_echoed_in_a_reply_is_masked_also_in_escapes() -> None:
    with OpenAIServer(lambda call: f"you sent {call.headers['authorization']}") as server:
        assert ask(server, key=KEY).text == "you sent Bearer ***"
        assert ask(server, key="none").text == "you sent Bearer none"  # a placeholder is not masked
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    body = f'{{"choices": [{{"message": {{"content": "you sent {escaped}"}}}}]}}'
    with OpenAIServer(Raw(body=body.encode(), media_type="application/json")) as server:
        assert ask(server, key=KEY).text == "you sent ***"


def test_the_number_of_tries_depends_on_the_error() -> None:
    retry = RetryPolicy(first_wait_s=0.01, tries=4, total_s=0.05)
    for reaction, least, most in (
        (Answer(text=None, refusal="No."), 1, 1),
        (Status(status=413, error={"message": "bad"}), 1, 1),
        (Status(status=429, headers={"retry-after": "400"}), 1, 1),
        (Status(status=402, error={"message": "pay"}), 1, 1),
        (Status(status=500, error={"message": "image input is not supported"}), 1, 1),
        (Raw(body=b"<html>"), 2, 2),
        (Answer(text="half", finish="abort"), 2, 2),
        (Status(status=502), 4, 4),
        (Status(status=429), 2, 9),
        (Cut(), 4, 4),
    ):
        with OpenAIServer(reaction) as server:
            endpoint = Endpoint(model="m", base_url=server.base_url)
            with Connection(endpoint, retry=retry) as chat, pytest.raises(SourceError):
                wait_for(chat.reply(request(temperature=None)))
            assert least <= server.n_calls <= most, reaction


def test_a_passing_failure_is_retried_and_an_endpoint_that_answered_before_is_retried_longer() -> None:
    last = Status(status=413, headers={"connection": "close"})
    with OpenAIServer(lambda call: ("", Cut(), Cut(), "at last", last)[call.number]) as server:
        retry = RetryPolicy(first_wait_s=0.01, tries=4)
        chat = Connection(Endpoint(model="m", base_url=server.base_url), retry=retry)
        assert (wait_for(chat.reply(request())).text, chat.n_retries) == ("at last", 2)
        with pytest.raises(SourceError):
            wait_for(chat.reply(request()))
    with chat, pytest.raises(ConnectionRefused, match="tried 4 times"):
        wait_for(chat.reply(request()))


def test_a_server_that_loads_its_model_is_waited_for_and_said_to_do_so(caplog: pytest.LogCaptureFixture) -> None:
    loading = Status(status=503, error={"message": "Loading model", "type": "unavailable_error"})
    retry = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.002, tries=2)
    with OpenAIServer(lambda call: loading if call.number < 20 else "at last") as server:
        with Connection(Endpoint(model="m", base_url=server.base_url), retry=retry) as chat:
            assert wait_for(chat.reply(request())).text == "at last"
        server.script = lambda _: loading
        with pytest.raises(SourceUnavailable):
            ask(server)
        assert server.n_calls == 21, "max_wait ends the tries"
    assert caplog.text.count("loads its model; waiting up to 300 s") == 1


def test_a_prompt_of_which_the_server_counts_few_tokens_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with OpenAIServer(Answer(text="ok", input_tokens=380)) as server:
        ask(server, request("word " * 500))
        assert "cut the prompt off" not in caplog.text
        ask(server, request("word " * 1_000))
    assert "counts 380 tokens for a prompt of 5,000 characters" in caplog.text
    assert "OLLAMA_CONTEXT_LENGTH" in caplog.text


def test_an_invalid_endpoint_is_refused_without_showing_secrets() -> None:
    wrongs: tuple[dict[str, Any], ...] = (
        {"base_url": "ftp://x/v1"}, {"base_url": "http://user:secret@x/v1"}, {"base_url": "http://x/v1?key=secret"},
        {"base_url": " http://x/v1"}, {"base_url": "http://x:99999/v1"}, {"model": ""},
        {"api_key_env": "sk-secret"}, {"api_key_env": "AIzaSyD4secret9fG7hJkL0"},
        {"api_key_env": "hf_secretsecretABCDEF"}, {"api_key_env": "sk_live_secret_0123456"},
        {"extra_body": {"messages": []}}, {"extra_body": {"max_tokens": 9, "top_k": 1}},
    )  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(ConfigError) as caught:
            Endpoint(**{"model": "m", **wrong})
        assert "secret" not in f"{caught.value} {caught.value.hint}", wrong
