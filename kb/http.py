"""Requests over HTTP: within limits of time and size, repeated where that may help, to checked addresses."""

from __future__ import annotations

import logging
import socket
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, NoReturn, TypeVar, cast

import httpcore
import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential_jitter

from data.errors import (
    MalformedAnswer,
    MissingContact,
    PrivateAddress,
    RateLimited,
    SourceError,
    SourceUnavailable,
    TooLarge,
)
from fieldmark import fieldmark_version
from kb.addresses import host_of, parse_retry_after, split_address

MAX_REDIRECTS = 5
WIKIMEDIA_DOMAINS = (
    "wikipedia.org", "wikimedia.org", "wiktionary.org", "wikidata.org", "wikibooks.org", "wikiquote.org",
    "wikisource.org", "wikiversity.org", "wikivoyage.org", "wikinews.org", "wikifunctions.org", "mediawiki.org",
    "wmcloud.org", "wmflabs.org", "toolforge.org",
)  # fmt: skip
ACCEPTED: Final = {"Accept-Encoding": "gzip, deflate"}  # httpx asks for more codings where their packages are installed
_GZIP_OR_ZLIB: Final = 47  # zlib's number for either header and the largest window
_PART_BYTES: Final = 1 << 12  # copied at each member: thousands of empty ones in one part would take minutes
AnswerT = TypeVar("AnswerT")
_log: Final = logging.getLogger(__name__)


# contact


def user_agent(contact: str | None) -> str:
    """Return the User-Agent that Wikimedia's policy requires."""
    plain = "".join(letter for letter in (contact or "no contact given") if " " <= letter <= "~" and letter not in "()")
    return f"fieldmark/{fieldmark_version(otherwise='0')} ({plain})"


def is_wikimedia(url: str) -> bool:
    """Return whether an address belongs to Wikimedia."""
    host = (split_address(url).hostname or "").lower().rstrip(".")
    return any(host == domain or host.endswith("." + domain) for domain in WIKIMEDIA_DOMAINS)


def require_contact(url: str, contact: str | None) -> None:
    """Check that the host may be contacted.

    Raises:
        MissingContact: if it is Wikimedia's and there is no e-mail address or URL for the User-Agent.
    """
    given = (contact or "").strip()
    if is_wikimedia(url) and not ("@" in given or "://" in given):
        raise MissingContact(host_of(url), given)


# retries


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number and spacing of tries; times in seconds.

    A host that never answered gets `tries_at_first`. Waits above `total_s` in all end the tries; so does a Retry-After
    above `longest_wait_s`, except of an endpoint, which has a limit of its own.
    """

    tries: int = 5
    tries_at_first: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    total_s: float = 180.0


class Refusal(Exception):
    """A failed try that may be repeated; `error` is raised after the last one.

    `is_silent`: no answer, too slow, or none of the kind that is expected; few tries are enough of a host that never
    gave a good answer.
    """

    def __init__(self, error: SourceError, *, is_silent: bool = False) -> None:
        super().__init__(str(error))
        self.error, self.is_silent = error, is_silent
        self.retry_after_s: float | None = getattr(error, "retry_after_s", None)


def busy(where: str, why: str | int, response: httpx.Response) -> Refusal:
    """Return the refusal of a busy host, with the seconds that it asks to wait."""
    wait_s = parse_retry_after(response.headers.get("Retry-After"))
    advice = f", retry after {wait_s:g} s" if wait_s is not None else ""
    return Refusal(RateLimited(f"{where} is busy ({why}){advice}", retry_after_s=wait_s))


class Retrier:
    """Repeats refused requests to one host; shared by all threads."""

    def __init__(self, retry: RetryPolicy, host: str = "the host") -> None:
        self.retry, self._host = retry, host
        self._backoff = wait_exponential_jitter(retry.first_wait_s, retry.longest_wait_s, jitter=retry.first_wait_s)
        self._lock = threading.Lock()
        self._has_answered = False
        self._is_down = False
        self._not_before = 0.0

    def run(self, request: Callable[[], AnswerT]) -> AnswerT:
        """Return the result of `request`, after as many tries as the policy allows.

        Raises:
            SourceError: the error of the last try.
        """
        answer: AnswerT = Retrying(
            retry=retry_if_exception_type(Refusal),
            wait=self._wait_s,
            stop=self._is_enough,
            before_sleep=self._tell,
            retry_error_callback=self._give_up,
        )(request)
        with self._lock:
            self._has_answered, self._is_down = True, False
        return answer

    def pause(self) -> None:
        """Wait until the host accepts requests again; called right before each request.

        A Retry-After holds for all threads, even if the thread that got it has given up.

        Raises:
            RateLimited: if the wait is longer than the policy allows.
        """
        while (left := self._not_before - time.monotonic()) > 0:
            if left > self.retry.longest_wait_s:
                raise RateLimited(
                    f"{self._host} accepts no requests for {left:.0f} s",
                    retry_after_s=left,
                    hint=f"Progress is saved; run the same command again in {left:.0f} s.",
                )
            time.sleep(left)

    def _wait_s(self, state: RetryCallState) -> float:
        refusal = _refusal_of(state)
        if refusal.retry_after_s is None:
            return self._backoff(state)
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + refusal.retry_after_s)
        return refusal.retry_after_s or self._backoff(state)

    def _is_enough(self, state: RetryCallState) -> bool:
        retry, refusal = self.retry, _refusal_of(state)
        with self._lock:
            tries = retry.tries if self._has_answered or not refusal.is_silent else retry.tries_at_first
            if self._is_down:
                # Other threads waited in vain: a dead wiki must not cost all tries for every page.
                tries = 1
        spent_s = (state.seconds_since_start or 0.0) + state.upcoming_sleep
        return state.attempt_number >= tries or state.upcoming_sleep > retry.longest_wait_s or spent_s > retry.total_s

    def _tell(self, state: RetryCallState) -> None:
        _log.info("%s; try %d in %.1f s", _refusal_of(state), state.attempt_number + 1, state.upcoming_sleep)

    def _give_up(self, state: RetryCallState) -> NoReturn:
        refusal = _refusal_of(state)
        error = refusal.error
        with self._lock:
            self._is_down = self._is_down or error.retryable
        if state.attempt_number > 1 and error.args:
            error.args = (f"{error.args[0]} (tried {state.attempt_number} times)", *error.args[1:])
        raise error from refusal.__cause__


def _refusal_of(state: RetryCallState) -> Refusal:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Refusal)
    return error


# one request


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds: for a connection, for the next bytes, and for a whole answer."""

    connect_s: float = 5.0
    read_s: float = 20.0
    total_s: float = 60.0


def client_settings(timeouts: Timeouts, *, public_only: bool) -> dict[str, Any]:
    """Return the settings of an `httpx.Client` for `exchange`.

    Args:
        timeouts: limits for connections and answers.
        public_only: refuse addresses of this machine and its network; such a client uses no proxy.
    """
    checked = {"transport": CheckedTransport(), "trust_env": False} if public_only else {}
    return {
        "timeout": httpx.Timeout(timeouts.read_s, connect=timeouts.connect_s),
        "follow_redirects": False,  # each hop is checked by the caller
        **checked,
    }


def exchange(
    client: httpx.Client,
    url: str,
    timeouts: Timeouts,
    *,
    limit: int,
    method: str = "GET",
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[httpx.Response, bytes]:
    """Return the response to one request and its body, of at most `limit` bytes.

    Raises:
        Refusal: if the host is down, too slow, or closes the connection.
        TooLarge: for a larger body.
        MalformedAnswer: for an invalid address, or one of this machine or its network that may not be connected to.
    """
    where = host_of(url)
    began = time.monotonic()
    deadline = began + timeouts.total_s
    body = bytearray()
    try:
        with client.stream(method, url, data=form, headers=ACCEPTED | dict(headers or {})) as response:
            for part in response.iter_raw():
                body += part
                if len(body) > limit:
                    break
                if time.monotonic() > deadline:
                    slow = f"{where} is too slow: no complete answer in {timeouts.total_s:g} s"
                    raise Refusal(SourceUnavailable(slow), is_silent=True)
    except httpx.TimeoutException as error:
        waited_s = timeouts.connect_s if isinstance(error, httpx.ConnectTimeout) else timeouts.read_s
        slow = f"{where} is too slow: no data for {waited_s:g} s"
        raise Refusal(SourceUnavailable(slow), is_silent=True) from error
    except httpx.ConnectError as error:
        raise Refusal(SourceUnavailable(f"{where} is not reachable: {error}"), is_silent=True) from error
    except (httpx.RequestError, httpx.StreamError) as error:
        raise Refusal(SourceUnavailable(f"{where} closed the connection early: {error}")) from error
    except httpx.InvalidURL as error:
        raise MalformedAnswer(f"{where} has an invalid address: {error}") from error
    whole = unpacked(bytes(body), response, limit)
    if max(len(whole), len(body)) > limit:  # the rest of a packed body was not read
        raise TooLarge(f"{where} sends more than the limit of {limit:,} bytes")
    took_s, path = time.monotonic() - began, response.url.path  # no query: it may hold a password or a search
    _log.info("%s %s%s %d, %.2f s", method, where, path, response.status_code, took_s)
    return response, whole


def followed(
    url: str,
    ask: Callable[[str], tuple[httpx.Response, bytes]],
    target: Callable[[str, str], str],
) -> tuple[str, httpx.Response, bytes]:
    """Return the address, response and body at the end of the redirects; `target` checks each `(from, to)`.

    Raises:
        MalformedAnswer: for more than `MAX_REDIRECTS`, or an invalid address.
    """
    at = url
    for _ in range(MAX_REDIRECTS + 1):
        response, body = ask(at)
        if not response.has_redirect_location:
            return at, response, body
        try:
            to = str(httpx.URL(at).join(response.headers["Location"]))
        except httpx.InvalidURL as error:
            raise MalformedAnswer(f"{host_of(at)} redirects to an invalid address: {error}") from error
        at = target(at, to)
    raise MalformedAnswer(f"{host_of(url)} redirects endlessly")


def status_problem(response: httpx.Response, url: str) -> str | None:
    """Return the status of a response that is no answer, in words; None for an answer, a redirect or "not modified".

    Raises:
        Refusal: if the same request may succeed later.
    """
    status, where = response.status_code, host_of(url)
    if status in (200, 203, 304) or response.has_redirect_location:
        return None
    if status in (429, 503) or (status >= 500 and "Retry-After" in response.headers):
        raise busy(where, status, response)
    said = f"{where} answered {status} {response.reason_phrase}"
    if status >= 500 or status == 408:
        raise Refusal(SourceUnavailable(said))
    return said


# connections to the address that was checked: a name cannot resolve to another machine in between


class CheckedTransport(httpx.HTTPTransport):
    """The transport of httpx over `CheckedBackend`; proxies are not used, since they would resolve names themselves."""

    def __init__(self) -> None:
        super().__init__()
        ssl, backend = httpx.create_ssl_context(), CheckedBackend()
        self._pool = httpcore.ConnectionPool(ssl_context=ssl, max_connections=4, network_backend=backend)


class CheckedBackend(httpcore.SyncBackend):
    """Resolves names itself, checks every address and connects to it; certificates are still compared with the name."""

    def connect_tcp(self, host: str, port: int, *rest: Any, **more: Any) -> httpcore.NetworkStream:  # noqa: ANN401
        """Connect to the first address of the host that answers."""
        *others, last = public_addresses(host, port)
        for address in others:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return super().connect_tcp(address, port, *rest, **more)
        return super().connect_tcp(last, port, *rest, **more)


def public_addresses(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host.

    Raises:
        httpcore.ConnectError: if the name is unknown.
        PrivateAddress: if an address is of this machine or its network.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if not all(map(is_public, addresses)):
        raise PrivateAddress(
            f"{host} is on this machine or its network, where pages are fetched only with --set private_addresses=true"
        )
    return addresses


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet."""
    parsed: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        # An IPv4 address in an IPv6 one: mapped, 6to4, or behind the NAT64 prefix.
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed.packed.startswith(bytes.fromhex("0064ff9b0000000000000000")):
            inner = IPv4Address(parsed.packed[12:])
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast


# bodies: httpx unpacks each part of an answer whole, and any number of codings one in another, so that a few bytes may
# unfold to gigabytes at once


def unpacked(packed: bytes, response: httpx.Response, limit: int) -> bytes:
    """Return the body of a response as it was before it was packed; one byte more than `limit` if it is longer.

    Raises:
        MalformedAnswer: for several codings, an unknown one, or damage.
    """
    where, coding = response.request.url.netloc.decode(), response.headers.pop("Content-Encoding", "").strip().lower()
    if coding in ("", "identity"):
        return packed
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise MalformedAnswer(
            f'{where}: expected an answer packed with gzip, deflate or not at all, got "{coding[:40]}"'
        )
    body, member = bytearray(), zlib.decompressobj(_GZIP_OR_ZLIB)
    for start in range(0, len(packed), _PART_BYTES):
        part = packed[start : start + _PART_BYTES]
        while part and len(body) <= limit:
            if member.eof:  # a gzip file may have several members
                member = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                body += member.decompress(part, limit + 1 - len(body))
            except zlib.error as error:
                raise MalformedAnswer(f"{where}: the packed answer is damaged: {error}") from error
            part = member.unused_data
    return bytes(body)


def at_most(limit: int) -> Callable[[httpx.Response], Awaitable[None]]:
    """Return a response hook of an asynchronous client that reads a body of at most `limit` bytes.

    Raises:
        MalformedAnswer: by the hook, for a longer body, and as `unpacked`.
    """

    async def hook(response: httpx.Response) -> None:
        stream, body = cast(httpx.AsyncByteStream, response.stream), bytearray()
        async for part in stream:
            body += part
            if len(body) > limit:
                break
        await stream.aclose()
        whole = unpacked(bytes(body), response, limit)
        if max(len(whole), len(body)) > limit:
            raise MalformedAnswer(f"{response.request.url.netloc.decode()}: an answer of more than {limit:,} bytes")
        response.stream = httpx.ByteStream(whole)

    return hook
