"""A reverse proxy on loopback before a real wiki: it measures the politeness of a client and can inject faults.

Addresses of the wiki in its answers become the proxy's, so that photos pass through it too.
"""

import gzip
import http.client
import json
import random
import re
import select
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests.servers.loopback import LoopbackServer

BUSY_S = 4  # the Retry-After of a refusal at a chosen request
REACTION_S = 2.0  # a request already on its way cannot know of a Retry-After
STALL_S = 30.0
_WIDTH = re.compile(r"/(\d+)px-[^/]+$")
_KEPT_BACK = frozenset({"host", "connection", "accept-encoding"})
_PASSED_ON = frozenset({"content-type", "retry-after", "location"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """One request as received by the proxy."""

    kind: Literal["api", "photo"]
    path: str
    fields: dict[str, str]
    headers: dict[str, str]
    at: float
    n_running: int
    fault: str | None = None

    @property
    def what(self) -> str:
        """Key of the request, the same for each repetition."""
        return self.path if self.kind == "photo" else json.dumps(self.fields, sort_keys=True)

    @property
    def body_of(self) -> str | None:
        """The page or photo of a request for a body; None for look-ups."""
        if self.kind == "photo":
            return unquote(self.path)
        return self.fields.get("page") if self.fields.get("action") == "parse" else None

    @property
    def n_titles(self) -> int:
        """Number of titles in the call; 0 without any."""
        return len(self.fields["titles"].split("|")) if "titles" in self.fields else 0

    @property
    def width_px(self) -> int | None:
        """The requested width of a thumbnail, from the address of a photo or a look-up."""
        found = _WIDTH.search(self.path) if self.kind == "photo" else None
        width = found[1] if found else self.fields.get("iiurlwidth")
        return int(width) if width else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Faults as shares of all requests: 503 or 429, truncated bodies, silence, and HTML instead of the API's JSON."""

    busy: float = 0.0
    cut: float = 0.0
    stall: float = 0.0
    html: float = 0.0
    retry_after_s: tuple[int, ...] = (0, 1)


@dataclass(slots=True)
class _Fault:
    name: str
    status: int = 200
    retry_after_s: int | None = None
    share: float = 1.0
    is_honest: bool = False


class WikiProxy(LoopbackServer):
    """The proxy before the wiki at `api_url`; use `running()`."""

    def __init__(self, api_url: str) -> None:
        parts = urlsplit(api_url)
        self._upstream = parts.netloc
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._lock = threading.Lock()
        self.begin()
        super().__init__()
        self.api_url = f"{self.origin}{parts.path}"

    def begin(self, *, rates: Rates | None = None, seed: int = 0, busy_at: frozenset[int] = frozenset()) -> None:
        """Reset the counts and change the faults; requests with the numbers `busy_at` get 429 and `BUSY_S`."""
        with self._lock:
            self.rates, self.seed, self.busy_at = rates or Rates(), seed, busy_at
            self.requests: list[ProxyRequest] = []
            self.too_early: list[ProxyRequest] = []
            self._n_running, self._retry_sent_at, self._not_before = 0, 0.0, 0.0

    @property
    def most_at_once(self) -> int:
        return max(request.n_running for request in self.requests)

    def bodies(self) -> Counter[str]:
        """Count the complete answers with the body of each page and photo."""
        return Counter(a.body_of for a in self.requests if a.body_of is not None and a.fault is None)

    def faults(self) -> Counter[str]:
        """Return how often each fault was injected."""
        return Counter(request.fault for request in self.requests if request.fault is not None)

    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        parts = urlsplit(handler.path)
        is_api = parts.path.endswith("/api.php")
        fields = parse_qs(parts.query or form, keep_blank_values=True) if is_api else {}
        with self._lock:
            fault = self._fault(len(self.requests), is_photo=not is_api)
            self._n_running += 1
            request = ProxyRequest(
                kind="api" if is_api else "photo", path=parts.path, headers=dict(handler.headers.items()),
                fields={key: values[0] for key, values in fields.items()}, at=time.monotonic(),
                n_running=self._n_running, fault=fault.name if fault is not None else None,
            )  # fmt: skip
            self.requests.append(request)
            if self._retry_sent_at + REACTION_S < request.at < self._not_before:
                self.too_early.append(request)
        done, requests = threading.Event(), self.requests

        def finish() -> None:
            # Before the last byte leaves and the client may send its next request.
            with self._lock:
                if not done.is_set() and requests is self.requests:
                    done.set()
                    self._n_running -= 1
                    if fault is not None and fault.retry_after_s is not None:
                        self._retry_sent_at = time.monotonic()
                        self._not_before = max(self._not_before, self._retry_sent_at + fault.retry_after_s)

        try:
            self._send(handler, form, fault or _Fault(name=""), finish)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # the client gave up
        finally:
            finish()

    def _fault(self, number: int, *, is_photo: bool) -> _Fault | None:
        if number in self.busy_at:
            return _Fault(name="busy", status=429, retry_after_s=BUSY_S)
        rates, dice = self.rates, random.Random(f"{self.seed}/{number}")
        point = dice.random()
        for name, share in (("busy", rates.busy), ("cut", rates.cut), ("stall", rates.stall), ("html", rates.html)):
            if point >= share:
                point -= share
            elif name == "busy":
                wish = dice.choice((None, *rates.retry_after_s))
                return _Fault(name=name, status=dice.choice((429, 503)), retry_after_s=wish)
            elif name == "html" and is_photo:
                return None
            else:
                return _Fault(name=name, share=dice.uniform(0.05, 0.95), is_honest=dice.random() < 0.5)
        return None

    def _send(self, handler: BaseHTTPRequestHandler, form: str, fault: _Fault, finish: Any) -> None:
        if fault.name == "stall":
            # Wait until the client closes the connection, which makes it readable.
            select.select([handler.connection], [], [], STALL_S)
            handler.close_connection = True
            return
        status, headers = fault.status, {"Content-Type": "text/html"}
        if fault.name == "busy":
            headers, body = {"Content-Type": "text/plain"}, b"slow down"
            headers |= {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
        elif fault.name == "html":
            body = b"<!DOCTYPE html><html><p>Maintenance</p></html>"
        else:
            status, headers, body = self._forward(handler, form)
        kept = body[: max(1, int(len(body) * fault.share))] if fault.name == "cut" else body
        promised = kept if fault.is_honest else body
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(promised))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(kept[:-1])
        handler.wfile.flush()
        finish()
        handler.wfile.write(kept[-1:])
        if len(kept) < len(promised):
            handler.close_connection = True

    def _forward(self, handler: BaseHTTPRequestHandler, form: str) -> tuple[int, dict[str, str], bytes]:
        with closing(http.client.HTTPConnection(self._upstream, timeout=60)) as connection:
            sent = {name: value for name, value in handler.headers.items() if name.lower() not in _KEPT_BACK}
            connection.request(handler.command, handler.path, body=form or None, headers=sent)
            answer = connection.getresponse()
            body = answer.read()
            headers = {name: value for name, value in answer.getheaders() if name.lower() in _PASSED_ON}
        if not headers.get("Content-Type", "").startswith("image/"):
            for slash in ("/", "\\/"):  # PHP escapes it in JSON
                theirs, ours = (address.replace("/", slash).encode() for address in (self._origin, self.origin))
                body = body.replace(theirs, ours)
            if "gzip" in handler.headers.get("Accept-Encoding", ""):  # like Wikimedia, but unlike PHP's own server
                body, headers["Content-Encoding"] = gzip.compress(body, 1, mtime=0), "gzip"
        return answer.status, headers, body
