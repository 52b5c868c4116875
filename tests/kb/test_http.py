"""Packed answers of wikis, pages and model servers: unpacked in pieces, within limits."""

import gzip
import json
import time
import tracemalloc
import zlib
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from data.errors import MalformedAnswer, TooLarge
from data.event_loop import wait_for
from kb.addresses import PageSettings
from kb.endpoints.chat import Connection
from kb.endpoints.client import MAX_ANSWER_BYTES
from kb.endpoints.endpoint import Endpoint
from kb.http import RetryPolicy
from kb.sources.mediawiki.wiki_client import MAX_ANSWER_BYTES as MAX_WIKI_BYTES
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.web_pages import PageClient
from tests.servers.loopback import LoopbackServer

ONCE = RetryPolicy(tries=1)


class Packed(LoopbackServer):
    """Sends one body for every request, with any Content-Encoding."""

    def __init__(self, body: bytes, coding: str | None, *, repeat: int = 1, kind: str = "application/json") -> None:
        self.body, self.coding, self.repeat, self.kind = body, coding, repeat, kind
        super().__init__()

    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", self.kind)
        handler.send_header("Content-Length", str(len(self.body) * self.repeat))
        if self.coding is not None:
            handler.send_header("Content-Encoding", self.coding)
        handler.end_headers()
        try:
            for _ in range(self.repeat):
                handler.wfile.write(self.body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused by the client, as intended


def peak_of(work: Any) -> tuple[int, BaseException | None]:
    """Return the most bytes that Python held during a call, and its error."""
    error: BaseException | None = None
    tracemalloc.start()
    try:
        work()
    except Exception as caught:
        error = caught
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, error


@cache
def bomb() -> bytes:
    """Return 80 MiB, packed twice into a few hundred bytes."""
    return gzip.compress(gzip.compress(bytes(80 * 2**20)))


@cache
def large() -> bytes:
    return gzip.compress(b" " * (MAX_ANSWER_BYTES + 2**20))


def ask_wiki(origin: str) -> Any:
    return WikiClient(f"{origin}/api.php", retry=ONCE).request({"action": "query"})


def ask_page(origin: str) -> Any:
    return PageClient(settings=PageSettings(private_addresses=True, pause_s=0), retry=ONCE).fetch(f"{origin}/page")


def ask_model(origin: str) -> Any:
    with Connection(Endpoint(model="any", base_url=f"{origin}/v1")) as client:
        return wait_for(client.answer({"model": "any", "messages": []}))


def test_answers_beyond_the_limits_are_refused_without_being_unpacked() -> None:
    """A doubly packed answer, one that unfolds beyond the limit, and one without an end."""
    assert len(bomb()) < 20_000
    for ask in (ask_wiki, ask_page, ask_model):
        with Packed(bomb(), "gzip, gzip").running() as server:
            peak, error = peak_of(lambda: ask(server.origin))  # noqa: B023
        assert isinstance(error, MalformedAnswer)
        assert 'gzip, deflate or not at all, got "gzip, gzip"' in str(error)
        assert peak < 60 * 2**20
        with Packed(large(), "gzip", kind="image/jpeg").running() as server:
            peak, error = peak_of(lambda: ask(server.origin))  # noqa: B023
        assert isinstance(error, TooLarge | MalformedAnswer)
        assert "more than" in str(error)
        assert peak < 3 * max(MAX_ANSWER_BYTES, MAX_WIKI_BYTES)
    with Packed(b" " * 2**20, None, repeat=10_000).running() as server:
        peak, error = peak_of(lambda: ask_model(server.origin))
    assert isinstance(error, MalformedAnswer)
    assert f"an answer of more than {MAX_ANSWER_BYTES:,} bytes" in str(error)
    assert peak < 3 * MAX_ANSWER_BYTES


def members(content: bytes) -> bytes:
    """Return a gzip file of two members."""
    return gzip.compress(content[:99]) + gzip.compress(content[99:])


def test_a_plain_or_once_packed_answer_is_read_and_a_damaged_one_refused() -> None:
    content = json.dumps({"query": {"pages": ["å" * 2**20]}}).encode()
    for coding in (None, "identity", "gzip", "x-gzip", "deflate"):
        pack = {"gzip": members, "x-gzip": gzip.compress, "deflate": zlib.compress}.get(coding or "", bytes)
        with Packed(pack(content), coding).running() as server:
            assert ask_wiki(server.origin) == json.loads(content), coding
            assert ask_model(server.origin) == json.loads(content), coding
    with Packed(gzip.compress(b"") * 100_000 + gzip.compress(b"{}"), "gzip").running() as server:
        started = time.process_time()
        assert ask_wiki(server.origin) == {}
        assert time.process_time() - started < 3
    stored = gzip.compress(b" " * MAX_WIKI_BYTES, 0)  # longer than the limit, and its content is not
    with Packed(stored, "gzip").running() as server, pytest.raises(TooLarge):
        ask_wiki(server.origin)
    for ask in (ask_wiki, ask_model):
        damaged = Packed(b"\x1f\x8b\x08 no gzip at all", "gzip")
        with damaged.running(), pytest.raises(MalformedAnswer, match="the packed answer is damaged"):
            ask(damaged.origin)
