"""A real HTTP server on loopback that speaks the OpenAI protocol, with a scripted model.

The replies are scripted: tests with it prove mechanics, cost and latency, never the quality of a model.
"""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from types import MappingProxyType
from typing import Any, Self

from PIL import Image

from tests.servers.loopback import LoopbackServer, send


@dataclass(kw_only=True)
class Call:
    """One received request."""

    number: int
    path: str
    payload: dict[str, Any]
    headers: dict[str, str]
    at_s: float
    is_answered: bool = False

    @property
    def text(self) -> str:
        return "\n".join(text_of(message) for message in self.payload.get("messages", ()))

    @property
    def images(self) -> list[bytes]:
        contents = [message["content"] for message in self.payload.get("messages", ())]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [base64.b64decode(url.split(",", 1)[1]) for url in urls]


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A reply of the model; tokens are words unless given."""

    text: str | None = ""
    refusal: str | None = None
    finish: str = "stop"
    logprobs: tuple[tuple[str, float, tuple[tuple[str, float], ...]], ...] = ()
    """(token, log-probability, alternatives); sent only on request."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    has_usage: bool = True
    more: dict[str, Any] = field(default_factory=dict)
    """Fields beside the usual ones, such as `citations`; those of the message, such as `reasoning_content`."""
    message: dict[str, Any] = field(default_factory=dict)
    after_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Status:
    """An answer with another status than 200."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Raw:
    """Any bytes with status 200, such as HTML."""

    body: bytes
    media_type: str = "text/html"


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The connection ends in the middle of the body, or before any of it."""

    after_bytes: int = 40


@dataclass(frozen=True, kw_only=True)
class Trickle:
    """A slow trickle of bytes: no pause is long, but the answer does not end in time."""

    every_s: float = 0.05
    n_bytes: int = 400


Reaction = Answer | Status | Raw | Cut | Trickle | str
Script = Callable[[Call], Reaction]


class OpenAIServer(LoopbackServer):
    """A server that reacts to each call as `script` (or a constant) says; use it in a `with` block.

    Keys other than `key` get 401 with the sent key in the message, as from some providers.
    """

    def __init__(
        self,
        script: Script | Reaction = "ok",
        *,
        key: str | None = None,
        gives_logprobs: bool = True,
        knows_json_schema: bool = True,
        port: int = 0,
    ) -> None:
        super().__init__(port=port)
        self.script: Script = script if callable(script) else (lambda _: script)
        self.key = key
        self.gives_logprobs, self.knows_json_schema = gives_logprobs, knows_json_schema
        self.base_url = f"{self.origin}/v1"
        self.calls: list[Call] = []
        self.now = 0
        self.most_at_once = 0
        self._lock = threading.Lock()
        self._running = ExitStack()

    @property
    def n_calls(self) -> int:
        return len(self.calls)

    def __enter__(self) -> Self:
        return self._running.enter_context(self.running())

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        if handler.command == "GET":
            is_known = handler.path.endswith("/models")
            models = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            _send(handler, 200 if is_known else 404, models if is_known else {"error": {"message": "not found"}})
            return
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            call = Call(
                number=len(self.calls) + 1, path=handler.path, payload=json.loads(form), headers=headers,
                at_s=time.monotonic(),
            )  # fmt: skip
            self.calls.append(call)
            self.now += 1
            self.most_at_once = max(self.most_at_once, self.now)
        try:
            self._react(handler, call)
        finally:
            with self._lock:
                self.now -= 1

    def _react(self, handler: BaseHTTPRequestHandler, call: Call) -> None:
        sent = call.headers.get("authorization", "").removeprefix("Bearer ")
        if self.key is not None and sent != self.key:
            message = f"Incorrect API key provided: {sent}."
            _send(handler, 401, {"error": {"message": message, "code": "invalid_api_key"}})
            return
        if "response_format" in call.payload and not self.knows_json_schema:
            _send(handler, 400, {"error": {"message": "response_format is not supported", "param": "response_format"}})
            return
        reaction = self.script(call)
        if isinstance(reaction, str):
            reaction = Answer(text=reaction)
        if isinstance(reaction, Answer):
            time.sleep(reaction.after_s)
            is_drawing = call.path.endswith("/images/generations")
            _send(handler, 200, images(call) if is_drawing else completion(self, call, reaction))
            call.is_answered = True
        elif isinstance(reaction, Status):
            error = reaction.error if isinstance(reaction.error, str) else {"error": reaction.error}
            _send(handler, reaction.status, error, reaction.headers)
        elif isinstance(reaction, Raw):
            send(handler, 200, {"content-type": reaction.media_type}, reaction.body)
        elif isinstance(reaction, Trickle):
            send(handler, 200, {"content-type": "application/json"}, b"", length=reaction.n_bytes)
            for _ in range(reaction.n_bytes):
                handler.wfile.write(b" ")
                time.sleep(reaction.every_s)
        else:
            if reaction.after_bytes:
                begun = b'{"choices": [{"message": {"content": "'[: reaction.after_bytes]
                send(handler, 200, {"content-type": "application/json"}, begun, length=100_000)
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: object, headers: Mapping[str, str] = MappingProxyType({})
) -> None:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    media_type = "text/plain" if isinstance(body, str) else "application/json"
    send(handler, status, {"content-type": media_type, **headers}, content)


def completion(owner: OpenAIServer, call: Call, answer: Answer) -> dict[str, Any]:
    """Return a chat completion as OpenAI's API has it."""
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal} | answer.message
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
    if call.payload.get("logprobs") and owner.gives_logprobs and answer.logprobs:
        n = call.payload.get("top_logprobs", 0)
        rows = []
        for token, logprob, top in answer.logprobs:
            others = [{"token": other, "logprob": p, "bytes": None} for other, p in top[:n]]
            rows.append({"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": others})
        choice["logprobs"] = {"content": rows}
    body: dict[str, Any] = {"id": f"chatcmpl-{call.number}", "object": "chat.completion", "created": 0}
    body |= {"model": call.payload["model"], "choices": [choice]}
    if answer.has_usage:
        tokens_in = len(call.text.split()) if answer.input_tokens is None else answer.input_tokens
        tokens_out = len((answer.text or "").split()) if answer.output_tokens is None else answer.output_tokens
        counts = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        body["usage"] = counts | {"total_tokens": tokens_in + tokens_out}
    return body | answer.more


def images(call: Call) -> dict[str, Any]:
    """Return the requested number of drawings, each of one colour derived from the prompt."""
    found = []
    for i in range(call.payload.get("n") or 1):
        number = sum(map(ord, call.payload.get("prompt", ""))) + i
        out = BytesIO()
        Image.new("RGB", (64, 64), ((number * 37) % 256, (number * 91) % 256, (number * 53) % 256)).save(out, "PNG")
        found.append({"b64_json": base64.b64encode(out.getvalue()).decode()})
    return {"created": 0, "data": found}
