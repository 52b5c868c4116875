"""Client for any MediaWiki, built on `wikipedia-api`: parsed pages, batched queries with continuation, photos.

`wikipedia-api` gives the client of `httpx`, its User-Agent and the addresses of Wikipedias. Its pages and lists serve
one title a request, without revisions, at Wikipedia's addresses alone, so `WikiClient.request` asks the API itself.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlencode

import httpx
from wikipediaapi import Wikipedia

from data.codec import parse_json
from data.errors import (
    MalformedAnswer,
    MissingRequirement,
    PageNotFound,
    PrivateAddress,
    PrivateWiki,
    SourceError,
    SourceUnavailable,
    UsageError,
)
from kb.addresses import host_of, is_loopback, port_of, shown_address, split_address
from kb.http import (
    Refusal,
    Retrier,
    RetryPolicy,
    Timeouts,
    busy,
    client_settings,
    exchange,
    followed,
    is_wikimedia,
    require_contact,
    status_problem,
    user_agent,
)

TITLES_PER_REQUEST = 50  # the API's limit for clients without bot rights
N_CONCURRENT = 3  # Wikimedia's limit for one client
MAX_ANSWER_BYTES = 20_000_000
MAX_PHOTO_BYTES = 30_000_000
LONGEST_GET = 6_000  # characters of a query string; longer queries are posted, since servers cut at about 8,000
LAG_ERRORS = frozenset({"maxlag", "ratelimited", "readonly"})
_FORMAT: Final = {"format": "json", "formatversion": "2"}
BOT_PASSWORD = (
    "Make a bot password on the wiki's page Special:BotPasswords, set wiki_user to its user name, like Me@Fieldmark, "
    "export FIELDMARK_WIKI_PASSWORD, and name the wiki by --api-url or api_url: no other gets the password."
)
Json: TypeAlias = dict[str, Any]
QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
LARGEST_NUMBER: Final = 2**63 - 1  # what a database holds


class WikiClient(Wikipedia):  # type: ignore[misc]  # the library has no types
    """A polite client of one wiki; safe to share between threads.

    Args:
        api_url: address of `api.php`; by default that of Wikipedia in `language`.
        contact: contact address for the User-Agent; required for Wikimedia wikis.
        language: code of a Wikipedia, used without `api_url`.
        login: user name and bot password of a private wiki, sent when it refuses to be read without.
        public_only: connect to addresses of the public internet only, and not through a proxy.
        timeouts: limits for connections and answers.
        retry: number and spacing of tries.

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
        login: tuple[str, str] | None = None,
        public_only: bool = False,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)*", language):  # it becomes part of the host
            raise UsageError(f"Expected a Wikipedia language code such as en or zh-min-nan, got {language!r}")
        language = language.partition("-")[0] if language in ("en-gb", "en-us", "pt-br", "pt-pt") else language
        self.api_url = api_url or self._build_url(language)
        self.contact = contact
        self._login, self._n_logins, self._login_lock = login, 0, threading.Lock()
        check_url(self.api_url)
        require_contact(self.api_url, contact)
        self._timeouts = timeouts or Timeouts()
        self._slots = threading.BoundedSemaphore(N_CONCURRENT)
        self._count_lock = threading.Lock()
        self._retrier = Retrier(retry or RetryPolicy(), host_of(self.api_url))
        self.n_requests = 0
        self.n_photo_requests = 0
        super().__init__(
            user_agent=user_agent(contact),
            language=language,
            max_retries=0,  # `Retrier` repeats requests: it also handles maxlag, truncated bodies and dead wikis
            limits=httpx.Limits(max_connections=N_CONCURRENT),
            **client_settings(self._timeouts, public_only=public_only),
        )
        self.close = weakref.finalize(self, self._client.close)
        """Closes the connections; called automatically when the client is garbage collected."""

    @property
    def host(self) -> str:
        """Host of the wiki, with the port unless it is the default; without user name and query."""
        return host_of(self.api_url)

    def request(self, params: Mapping[str, str | int]) -> Json:
        """Return the JSON answer to one API request.

        Raises:
            SourceError: down, busy, no JSON of the API, or no such page (`PageNotFound`), after all tries.
            MissingRequirement: a private wiki without a login, or with a wrong one.
        """
        fields = _FORMAT | {"maxlag": "5"} | {key: str(value) for key, value in params.items()}
        n_logins = self._n_logins
        try:
            return self._retrier.run(lambda: self._ask(fields))
        except PrivateWiki:
            if self._login is None:
                raise
            with self._login_lock:
                if self._n_logins == n_logins:  # else another thread has logged in since
                    self._log_in(*self._login)
            return self._retrier.run(lambda: self._ask(fields))

    def _log_in(self, user: str, password: str) -> None:
        ask = _FORMAT | {"action": "query", "meta": "tokens", "type": "login"}
        token = text(record(record(self._retrier.run(lambda: self._ask(ask)), "query"), "tokens"), "logintoken")
        form = _FORMAT | {"action": "login", "lgname": user, "lgpassword": password, "lgtoken": token}
        said = record(self._retrier.run(lambda: self._ask(form, is_secret=True)), "login")
        if said.get("result") != "Success":
            why = f"{said.get('result')}: {said.get('reason', 'no reason given')}"[:300]
            raise MissingRequirement(f"{self.host} rejects the login of {user}: {why}", hint=BOT_PASSWORD)
        self._n_logins += 1

    def query(self, params: Mapping[str, str | int]) -> Iterator[Json]:
        """Yield the `query` part of each answer, following continuation to the end."""
        continuation: Mapping[str, str | int] = {}
        while True:
            answer = self.request({"action": "query", **params, **continuation})
            yield record(answer, "query")
            following = answer.get("continue")
            if not following or following == continuation:
                return
            if not isinstance(following, dict) or not all(isinstance(each, str | int) for each in following.values()):
                raise MalformedAnswer(f"{self.host} continues a query in an unknown way")
            continuation = following

    def query_titles(self, titles: Sequence[str], params: Mapping[str, str | int]) -> Answer:
        """Return the merged answer to a query about at most 50 titles, redirects resolved."""
        return merged(self.query({"titles": "|".join(titles), "redirects": 1, **params}))

    def parse_page(self, title: str, *, with_languages: bool = False) -> Json:
        """Return the HTML of a page with its revision, categories and properties, and links to other languages."""
        answer = self.request(
            {
                "action": "parse",
                "page": title,
                "redirects": 1,
                "prop": "text|revid|categories|properties" + ("|langlinks" if with_languages else ""),
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
            SourceError: no such file, larger than MAX_PHOTO_BYTES, or an address that may not be requested.
            MissingContact: for a photo on a Wikimedia host without a contact.
        """
        check_redirect(url, origin=self.api_url)
        require_contact(url, self.contact)
        return self._retrier.run(lambda: self._download(url))

    def _ask(self, fields: Mapping[str, str], *, is_secret: bool = False) -> Json:
        self._retrier.pause()  # unsent requests are not counted
        with self._count_lock:
            self.n_requests += 1
        encoded = urlencode(fields)
        if len(encoded) <= LONGEST_GET and not is_secret:  # addresses are logged on the way
            response, body = self._send("GET", f"{self.api_url}{'&' if '?' in self.api_url else '?'}{encoded}")
        else:
            response, body = self._send("POST", self.api_url, dict(fields), is_secret=is_secret)
        return self._read_answer(response, body)

    def _download(self, url: str) -> bytes:
        self._retrier.pause()  # unsent requests are not counted
        with self._count_lock:
            self.n_photo_requests += 1
        response, body = self._send("GET", url, limit=MAX_PHOTO_BYTES)
        kind = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
        if kind.startswith("text/"):
            # An error page with status 200 usually goes away; if it stays, there is no image.
            raise Refusal(MalformedAnswer(f"Expected an image from {host_of(url)}, got {kind}"), is_silent=True)
        if not body:
            raise Refusal(SourceUnavailable(f"{host_of(url)} sent an empty image"))
        return body

    def _send(
        self,
        method: str,
        url: str,
        form: dict[str, str] | None = None,
        *,
        limit: int = MAX_ANSWER_BYTES,
        is_secret: bool = False,
    ) -> tuple[httpx.Response, bytes]:
        """Return a response with status 200 and its body; allowed redirects are followed, with the form."""

        def ask(at: str) -> tuple[httpx.Response, bytes]:
            with self._slots:
                self._retrier.pause()
                try:
                    return exchange(self._client, at, self._timeouts, method=method, form=form, limit=limit)
                except PrivateAddress as error:
                    raise PrivateAddress(
                        f"{host_of(at)} is on this machine or its network, and the knowledge base was imported",
                        hint="If the wiki is yours, name its address: kb update --api-url URL.",
                    ) from error

        def target(_: str, to: str) -> str:
            check_redirect(to, origin=self.api_url, is_login=is_secret)
            require_contact(to, self.contact)
            return to

        at, response, body = followed(url, ask, target)
        self._check_status(response, at)
        return response, body

    def _check_status(self, response: httpx.Response, url: str) -> None:
        problem = status_problem(response, url)
        if problem is None:
            return
        is_api = url.startswith(self.api_url)
        if response.status_code in (404, 410) and not is_api:
            raise PageNotFound(problem)
        hint = "Is this the address of api.php?" if is_api else None
        if response.status_code == 403 and self.contact is None:
            hint = "Some wikis require a contact address: export FIELDMARK_CONTACT='you@example.org'"
        raise MalformedAnswer(problem, hint=hint)

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
            raise Refusal(wrong, is_silent=not is_cut) from invalid
        if not isinstance(answer, dict):
            raise MalformedAnswer(f"Expected a JSON object from {self.api_url_shown}, got {type(answer).__name__}")
        error = answer.get("error")
        if isinstance(error, dict):
            self._raise_api_error(error, response)
        return answer

    def _raise_api_error(self, error: Json, response: httpx.Response) -> None:
        code, info = str(error.get("code", "unknown")), str(error.get("info", ""))[:300]
        if code in LAG_ERRORS:
            raise busy(self.host, code, response)
        if code.startswith("internal_api_error"):
            raise Refusal(SourceUnavailable(f"Internal error of {self.host}: {info}"))
        if code in ("missingtitle", "nosuchpageid", "nosuchrevid", "pagecannotexist", "invalidtitle"):
            raise PageNotFound(f"{self.host}: {info}")
        if code == "readapidenied":
            who = f"{self._login[0]} may not read" if self._login else "only its users may read"
            raise PrivateWiki(f"{self.host} is a private wiki, which {who}.", hint=BOT_PASSWORD)
        raise SourceError(f"{self.host} rejected the request: {code}: {info}")

    @property
    def api_url_shown(self) -> str:
        """The API's address without user name, password and query, for messages."""
        return shown_address(self.api_url)


def check_url(url: str) -> None:
    """Check that `url` is an http or https address with a host.

    Raises:
        UsageError: if it is not.
    """
    parts = split_address(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"Expected an http or https address, got {url.split('?')[0].rsplit('@', 1)[-1]!r}",
            hint="Give the address of a wiki's api.php, such as https://en.wikipedia.org/w/api.php.",
        )


def check_redirect(url: str, *, origin: str, is_login: bool = False) -> None:
    """Check that the wiki at `origin` may redirect to `url`: to its own host, or to Wikimedia.

    On its own host the port must be its own or a default one, since others belong to other services. A wiki on loopback
    may redirect to any port there; no other wiki may redirect to this machine or its network. A login, whose form holds
    the password, goes from http to https on its own host, and nowhere else.

    Raises:
        MalformedAnswer: if the redirect is not allowed.
    """
    parts, own = split_address(url), split_address(origin)
    host, own_host = (parts.hostname or "").lower(), (own.hostname or "").lower()
    is_downgrade = own.scheme == "https" and parts.scheme == "http"  # would expose the request
    port = port_of(url)
    is_own = host == own_host and port is not None and port in (port_of(origin), 80, 443)
    is_known = is_own or is_wikimedia(url) or (is_loopback(host) and is_loopback(own_host))
    if is_login and not (is_own and (own.scheme, parts.scheme) == ("http", "https")):
        raise MalformedAnswer(
            f"{host_of(origin)} redirects the login to {host_of(url)}, and the password was not sent there",
            hint="If the wiki has moved, name its new address by --api-url or api_url.",
        )
    if parts.scheme not in ("http", "https") or not host or is_downgrade or not is_known:
        raise MalformedAnswer(
            f"{host_of(origin)} redirects to {parts.scheme or 'no scheme'}://{host_of(url)}, which is not allowed"
        )


def ask_all(name: str, ask: Callable[[QuestionT], AnswerT], questions: Iterable[QuestionT]) -> Iterator[AnswerT]:
    """Yield the answers in order, asking for a few ahead, with as many threads as a wiki allows concurrent requests.

    The first question is asked alone, so that a dead wiki gets one request. After an error, or Ctrl-C, no more work
    starts and threads are not joined: a slow wiki may take a minute to answer.
    """
    pool = ThreadPoolExecutor(N_CONCURRENT, thread_name_prefix=name)
    waiting: deque[Future[AnswerT]] = deque()
    try:
        for n, question in enumerate(questions):
            waiting.append(pool.submit(ask, question))
            if n == 0 or len(waiting) == 2 * N_CONCURRENT:
                yield waiting.popleft().result()
        yield from (each.result() for each in waiting)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


# answers in known types


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The merged answer to a query: each page is an object with a title (text) and a namespace (number)."""

    fields: Json
    pages: tuple[Json, ...]

    def steps(self, *keys: str) -> dict[str, str]:
        """Return from -> to of normalised and redirected titles."""
        return {text(step, "from"): text(step, "to") for key in keys for step in records(self.fields, key)}

    def end_of(self, title: str) -> str:
        """Return the title of the page that a title leads to: normalised, over double redirects, but no loops."""
        steps = self.steps("normalized", "redirects")
        for _ in range(6):
            title = steps.get(title, title)
        return title


# Each raises MalformedAnswer if the item has something else there.


def record(item: Json, key: str) -> Json:
    """Return an object of an item, empty if missing; the API writes empty ones as lists."""
    value = item.get(key, {})
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise _unexpected("an object", key, value)
    return value


def records(item: Json, key: str) -> list[Json]:
    """Return a list of objects of an item, empty if missing."""
    value = item.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _unexpected("a list of objects", key, value)
    return value


def text(item: Json, key: str) -> str:
    """Return a text of an item, empty if missing."""
    value = item.get(key, "")
    if not isinstance(value, str):
        raise _unexpected("a text", key, value)
    return value


def number(item: Json, key: str) -> int | None:
    """Return a whole number of an item, None if missing."""
    value = item.get(key)
    if (value is None and key not in item) or (type(value) is int and abs(value) <= LARGEST_NUMBER):
        return value
    raise _unexpected("a whole number", key, value)


def merged(parts: Iterable[Json]) -> Answer:
    """Return the parts of a continued query as one answer: lists joined, pages merged by title."""
    fields: Json = {}
    pages: dict[tuple[int, str], Json] = {}
    for part in parts:
        _join(fields, {key: value for key, value in part.items() if key != "pages"})
        for page in records(part, "pages"):
            page["ns"] = number(page, "ns") or 0
            if not text(page, "title").split():
                raise MalformedAnswer("Expected a title of each page in the wiki's answer")
            _join(pages.setdefault((page["ns"], page["title"]), {}), page)
    return Answer(fields=fields, pages=tuple(pages.values()))


def _join(known: Json, fresh: Json) -> None:
    for name, field in fresh.items():
        held = known.get(name)
        if isinstance(field, list) and isinstance(held, list):
            known[name] = held + [item for item in field if item not in held]
        else:
            known[name] = field


def _unexpected(expected: str, key: str, value: object) -> MalformedAnswer:
    kind = "null" if value is None else type(value).__name__
    return MalformedAnswer(f"Expected {expected} as {key!r} in the wiki's answer, got {kind}")
