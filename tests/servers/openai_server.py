"""A real HTTP server on loopback that speaks the OpenAI protocol, with a scripted model.

The replies are scripted, so tests with it prove mechanics, cost and latency, never the quality of a model.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar


@dataclass(kw_only=True)
class Call:
    """One received request."""

    number: int
    """From 1 on, in the order of arrival."""
    path: str
    payload: dict[str, Any]
    headers: dict[str, str]
    """Names in lower case."""
    at_s: float
    """Arrival time by `time.monotonic()`."""
    is_answered: bool = False
    """Whether the whole answer was handed to the operating system."""

    @property
    def text(self) -> str:
        """The texts of all messages, one under the other."""
        return "\n".join(text_of(message) for message in self.payload.get("messages", ()))

    @property
    def images(self) -> list[bytes]:
        """The pictures of all messages, out of their data URLs."""
        found = []
        for message in self.payload.get("messages", ()):
            parts = message["content"] if isinstance(message["content"], list) else ()
            for part in parts:
                if part["type"] == "image_url":
                    found.append(base64.b64decode(part["image_url"]["url"].split(",", 1)[1]))
        return found


def text_of(message: dict[str, Any]) -> str:
    """Return the text of one message."""
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
    """Fields beside the usual ones, such as `citations`."""
    message: dict[str, Any] = field(default_factory=dict)
    """Fields of the message beside the usual ones, such as `reasoning_content`."""
    after_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Status:
    """An answer with another status than 200."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | str = field(default_factory=dict)
    """The error object, or a text that is no JSON."""


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


class OpenAIServer:
    """A server that reacts to each call as `script` says; use it in a `with` block.

    Args:
        script: call -> reaction; a text is short for an `Answer` with it. A constant is used for all calls.
        key: if given, other keys get 401 with the sent key in the message, as from some providers.
        gives_logprobs: whether log-probabilities are sent on request.
        knows_json_schema: whether `response_format` is accepted; if not, 400.
        port: 0 for any free port.
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
        self.script: Script = script if callable(script) else (lambda _: script)
        self.key = key
        self.gives_logprobs, self.knows_json_schema = gives_logprobs, knows_json_schema
        self.calls: list[Call] = []
        self.now = 0
        self.most_at_once = 0
        """Maximum number of simultaneous calls."""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def base_url(self) -> str:
        """Base URL for clients."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def n_calls(self) -> int:
        """Number of requests, failed ones included."""
        return len(self.calls)

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def begin(self, path: str, payload: dict[str, Any], headers: dict[str, str]) -> Call:
        """Record a request."""
        with self._lock:
            call = Call(number=len(self.calls) + 1, path=path, payload=payload, headers=headers, at_s=time.monotonic())
            self.calls.append(call)
            self.now += 1
            self.most_at_once = max(self.most_at_once, self.now)
            return call

    def end(self) -> None:
        """Record the end of a request."""
        with self._lock:
            self.now -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients: some tests kill them."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm: ClassVar[bool] = True  # otherwise every answer waits 40 ms for an acknowledgement

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        else:
            self._send(404, {"error": {"message": f"no {self.path}"}})

    def do_POST(self) -> None:
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = owner.begin(self.path, json.loads(body), headers)
        try:
            self._react(owner, call)
        finally:
            owner.end()

    def _react(self, owner: OpenAIServer, call: Call) -> None:
        sent = call.headers.get("authorization", "").removeprefix("Bearer ")
        if owner.key is not None and sent != owner.key:
            message = f"Incorrect API key provided: {sent}."
            self._send(401, {"error": {"message": message, "code": "invalid_api_key"}})
            return
        if "response_format" in call.payload and not owner.knows_json_schema:
            self._send(400, {"error": {"message": "response_format is not supported", "param": "response_format"}})
            return
        reaction = owner.script(call)
        if isinstance(reaction, str):
            reaction = Answer(text=reaction)
        if isinstance(reaction, Answer):
            time.sleep(reaction.after_s)
            body = images(call) if call.path.endswith("/images/generations") else completion(owner, call, reaction)
            self._send(200, body)
            call.is_answered = True
        elif isinstance(reaction, Status):
            error = reaction.error if isinstance(reaction.error, str) else {"error": reaction.error}
            self._send(reaction.status, error, reaction.headers)
        elif isinstance(reaction, Raw):
            self._send_bytes(200, reaction.body, {"content-type": reaction.media_type})
        elif isinstance(reaction, Cut):
            self._cut(reaction.after_bytes)
        else:
            self._trickle(reaction)

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        media_type = "text/plain" if isinstance(body, str) else "application/json"
        self._send_bytes(status, content, {"content-type": media_type, **(headers or {})})

    def _send_bytes(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _cut(self, after_bytes: int) -> None:
        if after_bytes:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "100000")
            self.end_headers()
            self.wfile.write(b'{"choices": [{"message": {"content": "'[:after_bytes])
            self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _trickle(self, reaction: Trickle) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(reaction.n_bytes))
        self.end_headers()
        for _ in range(reaction.n_bytes):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(reaction.every_s)


def completion(owner: OpenAIServer, call: Call, answer: Answer) -> dict[str, Any]:
    """Return a chat completion as OpenAI's API has it."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    message |= answer.message
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
    if call.payload.get("logprobs") and owner.gives_logprobs and answer.logprobs:
        n = call.payload.get("top_logprobs", 0)
        choice["logprobs"] = {
            "content": [
                {
                    "token": token,
                    "logprob": logprob,
                    "bytes": list(token.encode()),
                    "top_logprobs": [{"token": t, "logprob": p, "bytes": None} for t, p in top[:n]],
                }
                for token, logprob, top in answer.logprobs
            ]
        }
    body: dict[str, Any] = {
        "id": f"chatcmpl-{call.number}",
        "object": "chat.completion",
        "created": 0,
        "model": call.payload["model"],
        "choices": [choice],
    }
    if answer.has_usage:
        tokens_in = len(call.text.split()) if answer.input_tokens is None else answer.input_tokens
        tokens_out = len((answer.text or "").split()) if answer.output_tokens is None else answer.output_tokens
        body["usage"] = {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        }
    return body | answer.more


def images(call: Call) -> dict[str, Any]:
    """Return the requested number of drawings, each of one colour derived from the prompt."""
    from io import BytesIO

    from PIL import Image

    found = []
    for i in range(call.payload.get("n") or 1):
        number = sum(map(ord, call.payload.get("prompt", ""))) + i
        out = BytesIO()
        Image.new("RGB", (64, 64), ((number * 37) % 256, (number * 91) % 256, (number * 53) % 256)).save(out, "PNG")
        found.append({"b64_json": base64.b64encode(out.getvalue()).decode()})
    return {"created": 0, "data": found}
