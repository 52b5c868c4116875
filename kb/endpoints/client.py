"""The connections to an endpoint: requests over HTTP, paid for within the cost limit and tried again where that helps.

`chat.Connection` and `images.ImageConnection` add their requests, replies and caches.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cache, partial
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import httpx

from data.codec import parse_json
from data.errors import (
    ConnectionRefused,
    FieldmarkError,
    MalformedAnswer,
    MissingRequirement,
    RateLimited,
    ReplyLost,
    SourceError,
    SourceUnavailable,
    StillLoading,
    UsageError,
)
from data.event_loop import wait_for
from data.files import Closing
from data.words import plural
from kb.addresses import is_loopback
from kb.endpoints.answer import chat_of_events
from kb.endpoints.cache import DrawingCache, ReplyCache
from kb.endpoints.endpoint import Budget, Endpoint
from kb.endpoints.failures import ERRORS, error_of, shortened, without_key
from kb.http import ACCEPTED, RetryPolicy, at_most, user_agent

ResultT = TypeVar("ResultT")
MAX_ANSWER_BYTES: Final = 64 * 2**20
CONNECT_S: Final = 30.0  # a host that is cut off keeps silent; no request has been sent then, and none is paid
RETRY: Final = RetryPolicy(tries=6, longest_wait_s=15.0, total_s=60.0)
_TOLD_FROM_S: Final = 5.0  # shorter waits are not worth a line
_SHORTEST_SECRET: Final = 12  # characters of a key; placeholders ("none", "EMPTY") may be words of a reply
_PRICE_HINT: Final = (
    "Set price_in and price_out (US dollars per million tokens; 0 for your own server); for [llm.image], "
    "price_per_request (US dollars per drawing) is enough."
)
_CERTIFICATE_HINT: Final = "Set SSL_CERT_FILE to a file with the certificate of the authority that signed the server's."
_ALIVE: Final = re.compile(r"\A(?:[\ufeff\s]|:[^\r\n]*[\r\n])+")  # a byte order mark, blank lines and comments
_EVENTS: Final = re.compile(r"(?:data|event|id|retry):")
_LAST_EVENT: Final = re.compile(r"\s*data:\s*\[DONE\]\s*\Z")  # of a stream, behind whole JSON
_log: Final = logging.getLogger(__name__)


class Client(Closing):
    """The connections to one endpoint; a context manager, to be closed. A wait that the server asks for holds for all.

    Args:
        endpoint: address, model, prices and limits.
        key: the API key; empty for a server without one. It appears in no name, error or log.
        cache: the stored replies or drawings, closed with the connections; without one, nothing is stored.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        retry: number and spacing of tries. A malformed answer (HTML for JSON, an empty reply) is tried half as many
            times: a proxy may have sent it. A busy server that states no time gets `total_s`, and one that states it,
            or loads its model, as long as it asks, within `max_wait` of the endpoint.

    Raises:
        UsageError: if the budget has a limit and the price is unknown.
    """

    path: ClassVar[str]
    """Path of requests under the address of the endpoint."""
    _drawings: ClassVar[int] = 0
    """Drawings of the smallest request."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str = "",
        *,
        cache: ReplyCache | DrawingCache | None = None,
        budget: Budget | None = None,
        offline: bool = False,
        retry: RetryPolicy = RETRY,
    ) -> None:
        self.endpoint, self.name, self.budget = endpoint, endpoint.name, budget or Budget()
        self.n_retries = 0
        """Number of retries so far."""
        if self.budget.limit_usd is not None and endpoint.cost_usd(0, 0, drawings=self._drawings) is None:
            raise UsageError(
                f"The price of {self.name} is unknown, so a cost limit cannot be enforced.", hint=_PRICE_HINT
            )
        self._key, self._is_offline, self._policy = key.strip(), offline, retry
        self._cache: Any = cache
        self._slots = asyncio.Semaphore(endpoint.max_concurrent)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """One for each request in flight, by its key."""
        self._http: httpx.AsyncClient | None = None
        self._in_flight: set[asyncio.Task[Any]] = set()
        """Requests that the server has, until their answers are stored."""
        self._not_before = 0.0
        self._has_answered = False
        self._told: set[str] = set()
        self._process = os.getpid()
        self._begin()

    def _begin(self) -> None:
        """Set the state of a kind of client."""

    def check_process(self) -> None:
        """Raise RuntimeError in a forked child: it has copies of the sockets, files and locks, but not the thread."""
        if self._process != os.getpid():
            raise RuntimeError(f"{self.name} was opened before this process was forked; open another connection in it")

    def close(self) -> None:
        """Close the connections and the cache, once all answers to requests that were sent are stored.

        These are paid for, also where nobody waits for them any more, as after Ctrl-C; a second Ctrl-C ends the wait.
        """
        try:
            if self._http is not None:
                wait_for(self._ended(self._http))
        finally:
            if isinstance(self._cache, Closing):
                self._cache.close()

    async def _ended(self, http: httpx.AsyncClient) -> None:
        """Wait for the replies in flight: in the event loop, where requests that are given up have ended before."""
        try:
            if self._in_flight:
                n = plural(len(self._in_flight), "reply", "replies")
                _log.warning("%s: waiting for %s in flight; Ctrl-C stops at once", self.name, n)
                await asyncio.gather(*self._in_flight, return_exceptions=True)
        finally:
            self._http = None
            await http.aclose()

    async def paid(self, work: Coroutine[Any, Any, ResultT], key: str) -> ResultT:
        """Return the result of sending the request of a key and storing its answer, when the server is free.

        A caller that gives up ends `work` before it has sent the request, but not later: the answer is paid for. Only
        in the shared event loop.
        """
        task = asyncio.create_task(work, name=key)
        task.add_done_callback(self._end)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task not in self._in_flight:
                task.cancel()
            raise

    async def settled(self, key: str) -> None:
        """Wait until no request of a key is in flight, as one is whose caller has given up; nothing is cancelled."""
        if sent := [task for task in self._in_flight if task.get_name() == key]:
            await asyncio.wait(sent)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # which asyncio would complain of otherwise, where nobody waits any more

    async def answer(self, body: Mapping[str, Any]) -> object:
        """Return the answer to a request, put together if it is streamed; only within `paid`.

        Raises:
            ConnectionRefused: if nothing was sent.
            ReplyLost: if the request was sent and no complete answer came back within the timeout of the endpoint.
            MalformedAnswer: if the answer is too large or not JSON.
            FieldmarkError: the server's error, as `failures.error_of` returns it.
        """
        endpoint = self.endpoint
        response = await self._response(body)
        if not response.is_success:
            headers = {name.lower(): value for name, value in response.headers.items()}
            raise error_of(endpoint, self._key, response.status_code, headers, response.text)
        # A server that echoes requests would put the key into messages, cache and ledger.
        secret, content = self._key if len(self._key) >= _SHORTEST_SECRET else "", _ALIVE.sub("", response.text)
        try:
            if _EVENTS.match(content):  # whatever type the server states: some send JSON as events, and events as text
                content = json.dumps(chat_of_events(content, endpoint.address))
            content = _LAST_EVENT.sub("", content)
            answer = parse_json(content, text=lambda text: without_key(text, secret))
        except ValueError:
            said = shortened(without_key(content, self._key)[:400], 80)
            raise MalformedAnswer(f"{endpoint.address}: expected JSON, got {said!r}") from None
        fields = answer if isinstance(answer, Mapping) else {}
        if not (fields.get("choices") or fields.get("data")) and any(map(fields.get, ERRORS)):
            failure = error_of(endpoint, self._key, 200, {}, answer)
            if fields.get("is_begun") and type(failure) is SourceUnavailable:  # paid for, and not for its form
                failure = ReplyLost(str(failure))
            raise failure
        return answer

    async def _response(self, body: Mapping[str, Any]) -> httpx.Response:
        """Return the response, of whatever status; no redirects."""
        if self._http is None:
            self._http = _http(self.endpoint)
        headers = {"Authorization": f"Bearer {self._key or 'none'}", "Accept": "application/json"}  # some want any key
        where, began, status = self.endpoint.address, time.monotonic(), "no answer"
        request = self._http.build_request("POST", self.path, json=body, headers=headers)
        request.extensions["trace"] = partial(self._trace, asyncio.current_task())
        failure: FieldmarkError
        try:
            async with asyncio.timeout(self.endpoint.timeout):
                response = await self._http.send(request)
            self._has_answered, status = True, f"{response.status_code}"
            return response
        # The errors of httpx hold the request with its key: they end here.
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            why = str(error) or f"within {CONNECT_S:g} s"
            is_of_certificate = "CERTIFICATE_VERIFY_FAILED" in why
            hint = _CERTIFICATE_HINT if is_of_certificate else "Start the server, or correct base_url."
            failure = ConnectionRefused(f"{where}: no connection ({why})", hint=hint)
        except TimeoutError:
            failure = ReplyLost(f"{where}: no reply within {self.endpoint.timeout:g} s")
        except httpx.RequestError as error:
            failure = ReplyLost(f"{where}: the connection was cut ({type(error).__name__})")
        finally:
            _log.info("POST %s %s %s, %.2f s", where, request.url.path, status, time.monotonic() - began)
        raise failure

    async def _trace(self, task: asyncio.Task[Any] | None, event: str, _info: object) -> None:
        if task is not None and event.endswith("send_request_headers.started"):
            self._in_flight.add(task)

    async def free(self) -> None:
        """Wait until the time that the server asked for is over, not all requests at once."""
        while (left_s := self._not_before - time.monotonic()) > 0:
            await asyncio.sleep(left_s + random.uniform(0, min(0.5, left_s / 4)))

    async def tried(self, attempt: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Return the result of an attempt, repeated while its failures may pass.

        The waits are as long as the server asks, else twice as long each time.

        Raises:
            FieldmarkError: the failure, where another try is in vain or one too many.
        """
        policy, n_failed, waited_s = self._policy, 0, 0.0
        while True:
            try:
                return await attempt()
            except FieldmarkError as error:
                failure = error
            n_failed += 1
            asked_s = float(getattr(failure, "retry_after_s", None) or 0)  # 0 is as good as no time
            longest_s = min(policy.first_wait_s * 2.0 ** min(n_failed - 1, 30), policy.longest_wait_s)
            wait_s = asked_s or longest_s * random.uniform(0.5, 1.0)
            most, most_s = self._patience(failure, is_asked=asked_s > 0)
            if n_failed >= most or waited_s + wait_s > most_s:
                if asked_s and not failure.hint:
                    failure.hint = f"The server asks to wait {asked_s:.0f} s; max_wait of the model allows more."
                if n_failed > 1 and isinstance(failure, SourceError):
                    failure.args = (f"{failure.args[0]} (tried {n_failed} times)", *failure.args[1:])
                raise failure from None
            if asked_s >= _TOLD_FROM_S:
                self.tell("busy", f"is busy and asks to wait {asked_s:.0f} s")
            elif isinstance(failure, StillLoading):
                self.tell("loading", f"loads its model; waiting up to {most_s - waited_s:.0f} s")
            waited_s += wait_s
            self.n_retries += 1
            _log.info("%s: %s; try %d in %.1f s", self.name, type(failure).__name__, n_failed + 1, wait_s)
            if asked_s:  # of all requests
                self._not_before = max(self._not_before, time.monotonic() + asked_s)
            shared_s = max(0.0, self._not_before - time.monotonic())  # waited by `_free`, not all at once
            await asyncio.sleep(max(0.0, wait_s - shared_s))

    def _patience(self, failure: FieldmarkError, *, is_asked: bool) -> tuple[float, float]:
        """Return how often a request is tried that fails so, and the seconds that it waits in all."""
        policy, most_s = self._policy, self.endpoint.max_wait
        if is_asked:
            return 10 * policy.tries, most_s
        if isinstance(failure, StillLoading):
            return float("inf"), most_s
        if isinstance(failure, RateLimited):
            return float("inf"), min(most_s, policy.total_s)
        if isinstance(failure, MalformedAnswer):
            return (policy.tries + 1) // 2, most_s
        if not failure.retryable:
            return 1, most_s
        is_down = isinstance(failure, ConnectionRefused) and not self._has_answered
        return policy.tries_at_first if is_down else policy.tries, most_s

    def tell(self, what: str, text: str) -> None:
        """Log something unusual about the endpoint, once."""
        if what not in self._told:
            self._told.add(what)
            _log.warning("%s %s", self.name, text)


@cache
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the certificates that the environment names; without any, those of `certifi` and of this machine."""
    found = httpx.create_ssl_context()
    if not file and not folder:  # an organisation may sign its own servers
        found.load_default_certs()
    return found


def _http(endpoint: Endpoint) -> httpx.AsyncClient:
    """Return a client with the certificates and proxies of the environment; these cannot reach this machine.

    Raises:
        MissingRequirement: if they cannot be used.
    """
    is_here = is_loopback(urlsplit(endpoint.base_url).hostname or "")
    try:
        return httpx.AsyncClient(
            trust_env=not is_here,
            verify=_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            base_url=endpoint.base_url,
            headers={"User-Agent": user_agent(None), **ACCEPTED},
            timeout=httpx.Timeout(None, connect=CONNECT_S),  # each request has its own
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=endpoint.max_concurrent),
            event_hooks={"response": [at_most(MAX_ANSWER_BYTES)]},
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:  # ImportError: a SOCKS proxy
        hint = "Correct ALL_PROXY, HTTPS_PROXY, HTTP_PROXY or NO_PROXY. SOCKS needs pip install 'httpx[socks]'."
        # An invalid address is not quoted: a piece of a password may be taken for the port.
        why = "its address is invalid" if isinstance(error, httpx.InvalidURL) else error
        raise MissingRequirement(f"A proxy in the environment cannot be used: {why}", hint=hint) from None
    except OSError as error:
        hint = "Correct or unset SSL_CERT_FILE and SSL_CERT_DIR."
        raise MissingRequirement(f"The certificates of the environment cannot be read: {error}", hint=hint) from error
