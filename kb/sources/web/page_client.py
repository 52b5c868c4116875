"""Polite client for pages of any site: robots.txt (RFC 9309), a pause between requests to a host, retries, limits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

import httpx

from data.errors import Disallowed, FieldmarkError, MalformedAnswer, PageNotFound, PrivateAddress, TooLarge
from kb.http import host_of
from kb.sources.http_client import (
    Retrier,
    RetryPolicy,
    Timeouts,
    client_settings,
    exchange,
    followed,
    require_contact,
    status_problem,
    user_agent,
)
from kb.sources.page_keys import PageSettings, page_address
from kb.sources.parsers import required

MAX_BYTES = 20_000_000
MAX_ROBOTS_BYTES = 500_000  # RFC 9309, section 2.5: at least 500 KiB must be read; the rest may be ignored
LONGEST_PAUSE_S = 60.0
_TIMEOUTS = Timeouts()
ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/plain;q=0.9, text/markdown;q=0.9, */*;q=0.1"
AGENT = "fieldmark"
"""Name of this program in robots.txt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The answer for a page; `content` is None if it has not changed since `validators`."""

    url: str
    """Address after redirects."""
    content: bytes | None
    kind: str = ""
    """Media type, such as `text/html`."""
    charset: str | None = None
    validators: Mapping[str, str] = field(default_factory=dict)
    """ETag and Last-Modified, to ask later whether the page has changed."""


@dataclass(slots=True)
class _Host:
    """State of a host: retries, pause, and the time of the next request."""

    retrier: Retrier
    pause_s: float
    next_at: float = 0.0
    rules: Any = None
    """Of Protego, which has no types; None without a robots.txt."""
    problem: FieldmarkError | None = None
    """Why its pages may not be fetched."""


class PageClient:
    """A client that makes one request at a time, and pauses between two requests to a host."""

    def __init__(
        self,
        *,
        contact: str | None = None,
        settings: PageSettings | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        settings = settings or PageSettings()
        self._contact, self._pause_s = contact, settings.pause_s
        self._retry = retry or RetryPolicy()
        self._hosts: dict[str, _Host] = {}
        self.n_requests = 0
        """Requests so far, those for robots.txt and retries included."""
        self._client = httpx.Client(
            headers={"User-Agent": user_agent(contact), "Accept": ACCEPT},
            **client_settings(_TIMEOUTS, allow_private=settings.private_addresses),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def fetch(self, url: str, validators: Mapping[str, str] | None = None) -> Page:
        """Return a page, or the news that it has not changed.

        Raises:
            Disallowed: if robots.txt disallows it, or a page that it redirects to.
            PageNotFound: 404 or 410.
            TooLarge: more than `MAX_BYTES`.
            MalformedAnswer: another refusal, endless redirects, or an address that may not be fetched.
            SourceUnavailable, RateLimited: the host is down or busy, after all tries.
            MissingContact: on a Wikimedia host without a contact.
        """
        asked = {name: value for name, value in (validators or {}).items() if value}

        def ask(at: str) -> tuple[httpx.Response, bytes]:
            require_contact(at, self._contact)
            host = self._host(at)
            if host.rules is not None and not host.rules.can_fetch(at, AGENT):
                raise Disallowed(f"robots.txt of {host_of(at)} disallows it")
            return self._ask(host, at, asked, limit=MAX_BYTES)

        at, response, content = followed(url, ask, _target)
        if response.status_code == 304 and not asked:
            raise MalformedAnswer(f"{host_of(at)} answered 304 Not Modified for a page that it has not sent before")
        return Page(url=at, content=None) if response.status_code == 304 else _page(at, response, content)

    def _host(self, url: str) -> _Host:
        """Return the state of a host, whose robots.txt is asked for once."""
        parts = urlsplit(url)
        key = f"{parts.scheme}://{host_of(url)}"
        if key not in self._hosts:
            host = self._hosts[key] = _Host(retrier=Retrier(self._retry, host_of(url)), pause_s=self._pause_s)
            try:
                self._read_robots(host, f"{parts.scheme}://{parts.netloc}/robots.txt")
            except FieldmarkError as error:
                host.problem = error  # not asked again for the next page of the host
        if (problem := self._hosts[key].problem) is not None:
            raise problem
        return self._hosts[key]

    def _read_robots(self, host: _Host, address: str) -> None:
        """Read the rules of a host; without a robots.txt all is allowed, and an unreachable one is an error."""
        ask = lambda at: self._ask(host, at, {}, limit=MAX_ROBOTS_BYTES, may_be_cut=True)  # noqa: E731
        try:
            _, _, content = followed(address, ask, _target)
        except (PrivateAddress, TooLarge):
            raise
        except (MalformedAnswer, PageNotFound):
            return  # RFC 9309, section 2.3.1.3: any 4xx means that there are no rules
        host.rules = required("protego").Protego.parse(content[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace"))
        rate = host.rules.request_rate(AGENT)
        between_s = float(getattr(rate, "seconds", 0)) / max(1, int(getattr(rate, "requests", 1))) if rate else 0.0
        wanted_s = max(float(host.rules.crawl_delay(AGENT) or 0.0), between_s)
        if wanted_s > LONGEST_PAUSE_S:
            raise MalformedAnswer(f"{host_of(address)} asks for {wanted_s:g} s between requests, too long to wait")
        host.pause_s = max(host.pause_s, wanted_s)

    def _ask(
        self, host: _Host, url: str, headers: Mapping[str, str], *, limit: int, may_be_cut: bool = False
    ) -> tuple[httpx.Response, bytes]:
        """Return the answer to one request, repeated if that may help."""

        def once() -> tuple[httpx.Response, bytes]:
            host.retrier.pause()
            time.sleep(max(0.0, host.next_at - time.monotonic()))
            self.n_requests += 1
            try:
                response, body = exchange(
                    self._client, url, _TIMEOUTS, headers=headers, limit=limit, may_be_cut=may_be_cut
                )
            finally:
                host.next_at = time.monotonic() + host.pause_s
            if problem := status_problem(response, url):
                raise (PageNotFound if response.status_code in (404, 410) else MalformedAnswer)(problem)
            return response, body

        return host.retrier.run(once)


def _target(at: str, to: str) -> str:
    """Return the address that a page redirects to."""
    try:
        target = page_address(to)
    except FieldmarkError as error:
        raise MalformedAnswer(f"{host_of(at)} redirects to an address that is not allowed") from error
    if at.startswith("https:") and not target.startswith("https:"):
        raise MalformedAnswer(f"{host_of(at)} redirects to http, which is not allowed")
    return target


def _page(url: str, response: httpx.Response, content: bytes) -> Page:
    header = Message()
    header["Content-Type"] = stated = response.headers.get("Content-Type", "")
    charset = header.get_param("charset")
    validators = {
        asked: response.headers[sent][:500]
        for sent, asked in (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since"))
        if response.headers.get(sent)
    }
    return Page(
        url=url,
        content=content,
        kind=header.get_content_type() if stated else "",
        charset=charset if isinstance(charset, str) else None,
        validators=validators,
    )
