"""HTTP client for any MediaWiki, built on `wikipedia-api`, with rate limits, retries and clear errors.

It adds parsed pages, batched queries with continuation, and photo downloads. `retry` repeats failed requests, and
`hosts` decides which addresses may be requested.
"""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx
from wikipediaapi import Wikipedia

from data.errors import (
    MalformedAnswer,
    PageNotFound,
    PrivateAddress,
    SourceError,
    SourceUnavailable,
    TooLarge,
    UsageError,
)
from data.foreign_json import parse_json
from data.version import fieldmark_version
from kb.connections import CheckedTransport
from kb.http import parse_retry_after
from kb.http_bodies import unpack_in_pieces
from kb.sources.mediawiki.client.answers import Answer, Json, merged
from kb.sources.mediawiki.client.hosts import check_redirect, check_url, host_of, require_contact
from kb.sources.mediawiki.client.retry import Refusal, Retrier, RetryPolicy

TITLES_PER_REQUEST = 50  # the API's limit for clients without bot rights
N_CONCURRENT = 3  # Wikimedia's limit for one client
MAX_ANSWER_BYTES = 20_000_000
MAX_PHOTO_BYTES = 30_000_000
MAX_REDIRECTS = 5
MAX_CONTINUATIONS = 10_000
LONGEST_GET = 6_000  # characters of a query string; longer queries are posted, since servers cut at about 8,000
LAG_ERRORS = frozenset({"maxlag", "ratelimited", "readonly"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds: for a connection, for the next bytes, and for a whole answer."""

    connect_s: float = 5.0
    read_s: float = 20.0
    total_s: float = 60.0


class WikiClient(Wikipedia):  # type: ignore[misc]  # the library has no types
    """A polite client of one wiki; safe to share between threads.

    Args:
        api_url: address of `api.php`; by default that of Wikipedia in `language`.
        contact: contact address for the User-Agent; required for Wikimedia wikis.
        language: code of a Wikipedia, used without `api_url`.
        public_only: connect to addresses of the public internet only, and not through a proxy.
        timeouts: limits for connections and answers.
        retry: number and spacing of tries.

    Attributes:
        n_requests: API requests so far, retries included.
        n_photo_requests: photo downloads so far, retries included.

    Raises:
        MissingContact: for a Wikimedia host without a contact.
        UsageError: for an address that is not http or https, or a malformed language code.
    """

    def __init__(
        self,
        api_url: str | None = None,
        *,
        contact: str | None = None,
        language: str = "en",
        public_only: bool = False,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)*", language):  # it becomes part of the host
            raise UsageError(f"Expected a Wikipedia language code such as en or zh-min-nan, got {language!r}")
        self.api_url = api_url or super()._build_url(language)
        self.contact = contact
        check_url(self.api_url)
        require_contact(self.api_url, contact)
        self._timeouts = timeouts or Timeouts()
        self._slots = threading.BoundedSemaphore(N_CONCURRENT)
        self._count_lock = threading.Lock()
        self._retrier = Retrier(retry or RetryPolicy())
        self.n_requests = 0
        self.n_photo_requests = 0
        super().__init__(
            user_agent=user_agent(contact),
            language=language,
            max_retries=0,  # `Retrier` repeats requests: it also handles maxlag, truncated bodies and dead wikis
            timeout=httpx.Timeout(self._timeouts.read_s, connect=self._timeouts.connect_s),
            follow_redirects=False,  # each hop is checked here
            event_hooks={"response": [unpack_in_pieces]},
            limits=httpx.Limits(max_connections=N_CONCURRENT),
            **({"transport": CheckedTransport(allow_private=False), "trust_env": False} if public_only else {}),
        )
        self.close = weakref.finalize(self, self._client.close)
        """Closes the connections; called automatically when the client is garbage collected."""

    @property
    def host(self) -> str:
        """Host of the wiki, with the port unless it is the default; without user name and query."""
        return host_of(self.api_url)

    def _build_url(self, language: str) -> str:  # the library's is fixed to LANG.wikipedia.org
        return self.api_url

    def _get(self, language: str, params: dict[str, Any]) -> Json:  # so that the library's own methods keep our limits
        return self.request({**params, "formatversion": 1})  # the shape that they read

    def request(self, params: Mapping[str, str | int]) -> Json:
        """Return the JSON answer to one API request.

        Raises:
            SourceUnavailable: down, too slow, 5xx, or an answer cut off, after all tries.
            RateLimited: 429 or a lagging database, after all tries.
            MalformedAnswer: not the JSON of the API.
            PageNotFound: no such page.
        """
        fields = {"format": "json", "formatversion": "2", "maxlag": "5"} | {k: str(v) for k, v in params.items()}
        return self._retrier.run(lambda: self._ask(fields))

    def query(self, params: Mapping[str, str | int]) -> Iterator[Json]:
        """Yield the `query` part of each answer, following continuation to the end."""
        continuation: Mapping[str, str | int] = {}
        for _ in range(MAX_CONTINUATIONS):
            answer = self.request({"action": "query", **params, **continuation})
            found = answer.get("query", {})
            if not isinstance(found, dict):
                raise MalformedAnswer(f"Expected a query answer from {self.host}, got {type(found).__name__}")
            yield found
            following = answer.get("continue")
            if not following or following == continuation:
                return
            if not isinstance(following, dict) or not all(isinstance(each, str | int) for each in following.values()):
                raise MalformedAnswer(f"{self.host} continues a query in an unknown way")
            continuation = following
        raise MalformedAnswer(f"{self.host} continues a query endlessly")

    def query_titles(self, titles: Sequence[str], params: Mapping[str, str | int]) -> Answer:
        """Return the merged answer to a query about at most 50 titles, redirects resolved."""
        if len(titles) > TITLES_PER_REQUEST:
            raise ValueError(f"expected at most {TITLES_PER_REQUEST} titles, got {len(titles)}")
        return merged(self.query({"titles": "|".join(titles), "redirects": 1, **params}))

    def parse_page(self, title: str, *, with_languages: bool = False) -> Json:
        """Return the HTML of a page with its revision, categories and properties, and links to other languages."""
        answer = self.request(
            {
                "action": "parse",
                "page": title,
                "redirects": 1,
                "prop": "text|revid|categories|properties|displaytitle" + ("|langlinks" if with_languages else ""),
                "disablelimitreport": 1,
                "disableeditsection": 1,
                "disabletoc": 1,
            }
        )
        page = answer.get("parse")
        if not isinstance(page, dict) or not isinstance(page.get("text"), str):
            raise MalformedAnswer(f"Expected the parsed page {title!r} from {self.host}, got no text")
        return page

    def fetch_photo(self, url: str) -> bytes:
        """Return the bytes of a photo.

        Raises:
            PageNotFound: if there is no such file.
            TooLarge: if it is larger than MAX_PHOTO_BYTES.
            SourceError: for other failures, also for an address that may not be requested.
            MissingContact: for a photo on a Wikimedia host without a contact.
        """
        check_redirect(url, origin=self.api_url)
        require_contact(url, self.contact)
        return self._retrier.run(lambda: self._download(url))

    def _ask(self, fields: Mapping[str, str]) -> Json:
        self._retrier.pause()  # unsent requests are not counted
        with self._count_lock:
            self.n_requests += 1
        encoded = urlencode(fields)
        if len(encoded) <= LONGEST_GET:
            response, body = self._send("GET", f"{self.api_url}{'&' if '?' in self.api_url else '?'}{encoded}")
        else:
            response, body = self._send("POST", self.api_url, dict(fields))
        return self._read_answer(response, body)

    def _download(self, url: str) -> bytes:
        self._retrier.pause()  # unsent requests are not counted
        with self._count_lock:
            self.n_photo_requests += 1
        response, body = self._send("GET", url, limit=MAX_PHOTO_BYTES)
        kind = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
        if kind.startswith("text/"):
            # An error page with status 200 usually goes away; if it stays, there is no image.
            raise Refusal(MalformedAnswer(f"Expected an image from {host_of(url)}, got {kind}"), is_dubious=True)
        if not body:
            raise Refusal(SourceUnavailable(f"{host_of(url)} sent an empty image"))
        return body

    def _send(
        self, method: str, url: str, form: dict[str, str] | None = None, *, limit: int = MAX_ANSWER_BYTES
    ) -> tuple[httpx.Response, bytes]:
        """Return a response with status 200 and its body; allowed redirects are followed."""
        for _ in range(MAX_REDIRECTS + 1):
            with self._slots:
                self._retrier.pause()
                response, body = self._exchange(method, url, form, limit)
            if not response.has_redirect_location:
                self._check_status(response, url)
                return response, body
            try:
                target = str(httpx.URL(url).join(response.headers["Location"]))
            except httpx.InvalidURL as error:
                raise MalformedAnswer(f"{host_of(url)} redirects to an invalid address: {error}") from error
            check_redirect(target, origin=self.api_url)
            require_contact(target, self.contact)
            url = target
        raise MalformedAnswer(f"{self.host} redirects endlessly")

    def _exchange(self, method: str, url: str, form: dict[str, str] | None, limit: int) -> tuple[httpx.Response, bytes]:
        where = host_of(url)
        deadline = time.monotonic() + self._timeouts.total_s
        body = bytearray()
        try:
            with self._client.stream(method, url, data=form) as response:
                for part in response.iter_bytes():
                    body += part
                    if len(body) > limit:
                        raise TooLarge(f"{where} sends more than the limit of {limit:,} bytes")
                    if time.monotonic() > deadline:
                        slow = f"{where} is too slow: no complete answer in {self._timeouts.total_s:g} s"
                        raise Refusal(SourceUnavailable(slow), is_silent=True)
        except PrivateAddress as error:
            raise PrivateAddress(
                f"{where} is on this machine or its network, and the knowledge base was imported",
                hint="If the wiki is yours, name its address: kb update --api-url URL.",
            ) from error
        except httpx.TimeoutException as error:
            is_connecting = isinstance(error, httpx.ConnectTimeout)
            waited_s = self._timeouts.connect_s if is_connecting else self._timeouts.read_s
            slow = f"{where} is too slow: no data for {waited_s:g} s"
            raise Refusal(SourceUnavailable(slow), is_silent=True) from error
        except httpx.ConnectError as error:
            raise Refusal(SourceUnavailable(f"{where} is not reachable: {error}"), is_silent=True) from error
        except (httpx.RequestError, httpx.StreamError) as error:
            raise Refusal(SourceUnavailable(f"{where} closed the connection early: {error}")) from error
        except httpx.InvalidURL as error:
            raise MalformedAnswer(f"{where} redirects to an invalid address: {error}") from error
        return response, bytes(body)

    def _check_status(self, response: httpx.Response, url: str) -> None:
        status, where = response.status_code, host_of(url)
        if status == 200:
            return
        if status in (429, 503) or (status >= 500 and "Retry-After" in response.headers):
            raise Refusal.wait(where, status, parse_retry_after(response.headers.get("Retry-After")))
        if status >= 500 or status == 408:
            raise Refusal(SourceUnavailable(f"{where} answered {status} {response.reason_phrase}"))
        if status in (404, 410) and not url.startswith(self.api_url):
            raise PageNotFound(f"{where} answered {status} {response.reason_phrase}")
        hint = "Is this the address of api.php?" if url.startswith(self.api_url) else None
        if status == 403 and self.contact is None:
            hint = "Some wikis require a contact address: export FIELDMARK_CONTACT='you@example.org'"
        raise MalformedAnswer(f"{where} answered {status} {response.reason_phrase}", hint=hint)

    def _read_answer(self, response: httpx.Response, body: bytes) -> Json:
        kind = response.headers.get("Content-Type", "").split(";")[0].strip() or "something without a type"
        try:
            answer = parse_json(body)
        except ValueError as invalid:
            is_cut = kind == "application/json" or body[:1] == b"{"
            got = f"truncated {kind}" if is_cut else kind
            wrong = MalformedAnswer(
                f"Expected JSON from {self.api_url_shown}, got {got}",
                hint=None if is_cut else "Is this the address of api.php?",
            )
            raise Refusal(wrong, is_dubious=not is_cut) from invalid
        if not isinstance(answer, dict):
            raise MalformedAnswer(f"Expected a JSON object from {self.api_url_shown}, got {type(answer).__name__}")
        error = answer.get("error")
        if isinstance(error, dict):
            self._raise_api_error(error, response)
        return answer

    def _raise_api_error(self, error: Json, response: httpx.Response) -> None:
        code, info = str(error.get("code", "unknown")), str(error.get("info", ""))[:300]
        if code in LAG_ERRORS:
            raise Refusal.wait(self.host, code, parse_retry_after(response.headers.get("Retry-After")))
        if code.startswith("internal_api_error"):
            raise Refusal(SourceUnavailable(f"Internal error of {self.host}: {info}"))
        if code in ("missingtitle", "nosuchpageid", "nosuchrevid", "pagecannotexist", "invalidtitle"):
            raise PageNotFound(f"{self.host}: {info}")
        raise SourceError(f"{self.host} rejected the request: {code}: {info}")

    @property
    def api_url_shown(self) -> str:
        """The API's address without user name, password and query, for messages."""
        url = httpx.URL(self.api_url)
        return f"{url.scheme}://{host_of(self.api_url)}{url.path}"


def user_agent(contact: str | None) -> str:
    """Return the User-Agent that Wikimedia's policy requires."""
    plain = "".join(letter for letter in (contact or "no contact given") if " " <= letter <= "~" and letter not in "()")
    return f"fieldmark/{fieldmark_version(otherwise='0')} ({plain})"


@contextmanager
def wiki_workers(name: str) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of as many threads as a wiki allows concurrent requests.

    Submitted work is finished when the block ends. If the block raises, including on Ctrl-C, no more work starts and
    threads are not joined: a slow wiki may take a minute to answer.
    """
    pool = ThreadPoolExecutor(N_CONCURRENT, thread_name_prefix=name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
