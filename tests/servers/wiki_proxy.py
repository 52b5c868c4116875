"""A reverse proxy on loopback before a real wiki: it counts how politely it is asked, and can be told to misbehave.

Addresses of the wiki in what it sends become the proxy's, so that photos pass through it too. What is counted is what
Wikimedia asks of its clients: requests at a time, User-Agent, gzip, maxlag, titles a call, widths of thumbnails, and
that nobody comes back before the time that a Retry-After told.
"""

from __future__ import annotations

import gzip
import http.client
import json
import random
import re
import select
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests.servers.loopback import LoopbackServer

Kind = Literal["api", "photo"]
REACTION_S = 0.5  # a request on its way when a Retry-After is sent cannot know of it
_WIDTH = re.compile(r"/(\d+)px-[^/]+$")
_KEPT_BACK = frozenset({"host", "connection", "accept-encoding"})
_PASSED_ON = frozenset({"content-type", "retry-after", "location"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as the proxy saw it; times in seconds of `time.monotonic`."""

    kind: Kind
    path: str
    fields: dict[str, str]
    headers: dict[str, str]
    at: float
    n_running: int
    """Requests in hand when this one came, itself included."""
    fault: str | None = None

    @property
    def what(self) -> str:
        """Key of the request, the same for each repetition."""
        return self.path if self.kind == "photo" else json.dumps(self.fields, sort_keys=True)

    @property
    def body_of(self) -> str | None:
        """The page or photo whose body it is to bring; None for look-ups."""
        if self.kind == "photo":
            return unquote(self.path)
        return self.fields.get("page") if self.fields.get("action") == "parse" else None

    @property
    def n_titles(self) -> int:
        """Number of titles in the call; 0 without any."""
        return len(self.fields["titles"].split("|")) if "titles" in self.fields else 0

    @property
    def width_px(self) -> int | None:
        """The width of the thumbnail that is asked for, by the address of a photo or in a look-up."""
        if self.kind == "photo":
            found = _WIDTH.search(self.path)
            return int(found[1]) if found else None
        return int(self.fields["iiurlwidth"]) if "iiurlwidth" in self.fields else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Faults as shares of all requests; times in seconds."""

    busy: float = 0.0
    """503 or 429 in turn, some with Retry-After."""
    cut: float = 0.0
    """Bodies cut short, half of them under an honest Content-Length."""
    stall: float = 0.0
    html: float = 0.0
    """A page of HTML under status 200 in the place of the API's JSON."""
    retry_after_s: tuple[int, ...] = (0, 1)
    stall_s: float = 30.0


@dataclass(slots=True)
class _Fault:
    name: str
    status: int = 200
    retry_after_s: int | None = None
    share: float = 1.0
    is_honest: bool = False


@dataclass(slots=True)
class _State:
    requests: list[Asked] = field(default_factory=list)
    n_running: int = 0
    told_at: float = 0.0
    not_before: float = 0.0
    too_early: list[Asked] = field(default_factory=list)


class WikiProxy(LoopbackServer):
    """The proxy before the wiki at `api_url`; use `running()`.

    Args:
        api_url: the wiki's own address.
        rates: which faults to make; none by default.
        seed: of the faults. Which request meets which is a matter of its own number, so threads do not matter much.
        busy_at: numbers of requests (from 0) that are answered 429 with a Retry-After of one second.
    """

    def __init__(
        self, api_url: str, *, rates: Rates | None = None, seed: int = 0, busy_at: frozenset[int] = frozenset()
    ) -> None:
        parts = urlsplit(api_url)
        self._upstream = parts.netloc
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self.rates = rates or Rates()
        self.seed = seed
        self.busy_at = busy_at
        self._state = _State()
        self._lock = threading.Lock()
        super().__init__()
        self.api_url = f"{self.origin}{parts.path}"

    def begin(self, *, rates: Rates | None = None, seed: int = 0, busy_at: frozenset[int] = frozenset()) -> None:
        """Reset the counts, and make other faults from here on."""
        with self._lock:
            self.rates, self.seed, self.busy_at, self._state = rates or Rates(), seed, busy_at, _State()

    # --- counts -----------------------------------------------------------------------------------------------

    @property
    def requests(self) -> list[Asked]:
        return self._state.requests

    @property
    def too_early(self) -> list[Asked]:
        """Requests that came before the time that a Retry-After had told."""
        return self._state.too_early

    @property
    def most_at_once(self) -> int:
        return max(asked.n_running for asked in self.requests)

    def bodies(self) -> Counter[str]:
        """Return how often the body of each page and photo was asked for and sent whole."""
        return Counter(a.body_of for a in self.requests if a.body_of is not None and a.fault is None)

    def faults(self) -> Counter[str]:
        """Return how often each fault was made."""
        return Counter(asked.fault for asked in self.requests if asked.fault is not None)

    # --- one request -------------------------------------------------------------------------------------------

    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        with self._lock:
            state = self._state
            number = len(state.requests)
            fault = self._fault(number, is_photo=not urlsplit(handler.path).path.endswith("/api.php"))
            state.n_running += 1
            asked = self._asked(handler, form, n_running=state.n_running, fault=fault)
            state.requests.append(asked)
            if state.told_at + REACTION_S < asked.at < state.not_before:
                state.too_early.append(asked)
        done = threading.Event()

        def finish() -> None:
            """Count the request as done; before its last byte leaves, after which the client may send the next one."""
            with self._lock:
                if not done.is_set():
                    done.set()
                    state.n_running -= 1
                    if fault is not None and fault.retry_after_s is not None:
                        state.told_at = time.monotonic()
                        state.not_before = max(state.not_before, state.told_at + fault.retry_after_s)

        try:
            self._send(handler, asked, form, fault, finish)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # the client gave up
        finally:
            finish()

    def _asked(self, handler: BaseHTTPRequestHandler, form: str, *, n_running: int, fault: _Fault | None) -> Asked:
        parts = urlsplit(handler.path)
        fields = parse_qs(parts.query or form, keep_blank_values=True)
        is_api = parts.path.endswith("/api.php")
        return Asked(
            kind="api" if is_api else "photo",
            path=parts.path,
            fields={key: values[0] for key, values in fields.items()} if is_api else {},
            headers=dict(handler.headers.items()),
            at=time.monotonic(),
            n_running=n_running,
            fault=fault.name if fault is not None else None,
        )

    def _fault(self, number: int, *, is_photo: bool) -> _Fault | None:
        if number in self.busy_at:
            return _Fault(name="busy", status=429, retry_after_s=1)
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

    def _send(
        self, handler: BaseHTTPRequestHandler, asked: Asked, form: str, fault: _Fault | None, finish: Any
    ) -> None:
        if fault is not None and fault.name == "stall":
            # Until the client has had enough: it closes the connection, which makes it readable.
            select.select([handler.connection], [], [], self.rates.stall_s)
            handler.close_connection = True
            return
        if fault is not None and fault.name == "busy":
            status, headers, body = fault.status, {"Content-Type": "text/plain"}, b"slow down"
            if fault.retry_after_s is not None:
                headers["Retry-After"] = str(fault.retry_after_s)
        elif fault is not None and fault.name == "html":
            status, headers, body = (
                200,
                {"Content-Type": "text/html"},
                b"<!DOCTYPE html><html><p>Maintenance</p></html>",
            )
        else:
            status, headers, body = self._forward(handler, form)
        kept = body
        if fault is not None and fault.name == "cut":
            kept = body[: max(1, int(len(body) * fault.share))]
        promised = kept if fault is not None and fault.is_honest else body
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
        connection = http.client.HTTPConnection(self._upstream, timeout=60)
        try:
            sent = {name: value for name, value in handler.headers.items() if name.lower() not in _KEPT_BACK}
            connection.request(handler.command, handler.path, body=form or None, headers=sent)
            answer = connection.getresponse()
            body = answer.read()
            headers = {name: value for name, value in answer.getheaders() if name.lower() in _PASSED_ON}
            status = answer.status
        finally:
            connection.close()
        if not headers.get("Content-Type", "").startswith("image/"):
            for ours, theirs in ((self.origin, self._origin), (_escaped(self.origin), _escaped(self._origin))):
                body = body.replace(theirs.encode(), ours.encode())
            if "gzip" in handler.headers.get("Accept-Encoding", ""):  # as Wikimedia does, and PHP's own server does not
                body, headers["Content-Encoding"] = gzip.compress(body, 1, mtime=0), "gzip"
        return status, headers, body


def _escaped(address: str) -> str:
    """Return an address as PHP writes it in JSON."""
    return address.replace("/", "\\/")
