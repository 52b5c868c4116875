"""Pages of the web and local documents as a source of articles: any number for each species or term.

A page is a subject of its own, with the id of its species or term and a hash of its address (`page_key`), and takes
part in every stage but the anchors, for which it has none: the licences of pictures on a page are unknown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from data.errors import (
    Disallowed,
    FieldmarkError,
    MalformedAnswer,
    MissingRequirement,
    PageNotFound,
    PrivateAddress,
    TooLarge,
)
from data.records import Failure, FetchedPage, LeftOut, PageRef, Source, Taxon
from kb import reasons
from kb.addresses import PageSettings, host_of, is_web_address, page_address
from kb.distill.terms import term_id
from kb.http import (
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
from kb.sources.article_source import ArticleSource, is_page, page_key
from kb.sources.documents import Document, NotReadable, read_document, read_file, required

MAX_BYTES = 20_000_000
MAX_ROBOTS_BYTES = 500_000  # RFC 9309, section 2.5: at least 500 KiB must be read; the rest may be ignored
LONGEST_PAUSE_S = 60.0
_TIMEOUTS = Timeouts()
ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/plain;q=0.9, text/markdown;q=0.9, */*;q=0.1"
AGENT = "fieldmark"
"""Name of this program in robots.txt."""
VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
"""Header of an answer -> header of a later request, which asks whether the page has changed."""
Fetched = FetchedPage | LeftOut | Failure
KIND = "web"


class WebSource(ArticleSource):
    """Pages of the web, and local files."""

    name = "web pages"
    parser = "web-text/2"
    is_one_place = False

    def __init__(self, client: PageClient) -> None:
        self._client = client
        self._held: Mapping[str, Mapping[str, str]] = {}
        self._fetched: dict[str, Fetched] = {}

    @property
    def origin(self) -> Mapping[str, str]:
        """Kind of the source; the pages know their addresses."""
        return {"kind": KIND}

    @property
    def n_requests(self) -> int:
        """Requests so far, those for robots.txt and retries included."""
        return self._client.n_requests

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # pages

    def term_page(self, name: str, title: str | None) -> PageRef | None:
        """Return the page of a term, which has its address as title."""
        return None if title is None else page_of(term_id(name), title)

    def reuse_pages(self, properties: Mapping[str, Mapping[str, str]]) -> None:
        """Let `newest` ask the sites whether these pages, by subject, have changed, instead of fetching them."""
        self._held = properties

    def newest(
        self, known: Sequence[tuple[Taxon | str, PageRef]]
    ) -> Iterator[tuple[Taxon | str, PageRef | LeftOut | Failure]]:
        """Yield each page: unchanged, with a new revision, gone (404 or disallowed), or not readable now."""
        for subject, page in known:
            held = self._held.get(page.subject_id, {})
            found = self._read(page, {name: value for name, value in held.items() if name.startswith("If-")})
            if found is None:
                yield subject, page
                continue
            if isinstance(found, LeftOut) and found.reason == reasons.NO_TEXT:  # a site may ask for a login for a day
                found = Failure(taxon=page.title, stage="fetch", reason=f"{found.reason}: {found.detail}")
            self._fetched[page.subject_id] = found
            if isinstance(found, FetchedPage):
                is_same = not held or held.get("version") == found.properties["version"]
                yield subject, page if is_same else replace(page, revision=int(found.properties["version"]))
            else:
                yield subject, found

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield each page, hosts in turn; a page of several species is fetched once.

        A page that does not exist, has no text or may not be read is left out.
        """
        by_title: dict[str, Fetched] = {}
        for page in _in_turn(pages):
            found = self._fetched.pop(page.subject_id, None) or by_title.get(page.title) or self._read(page, {})
            assert found is not None  # "unchanged" is no answer without validators
            by_title[page.title] = found
            yield page, replace(found, page=page) if isinstance(found, FetchedPage) else found

    def keep(self, fetched: FetchedPage) -> None:
        """Keep a page for the next `fetch`, so that it is requested once."""
        self._fetched[fetched.page.subject_id] = fetched

    def _read(self, page: PageRef, validators: Mapping[str, str]) -> Fetched | None:
        """Return a page, why it is left out, or a failure; None if it is unchanged."""
        if not is_page(page.subject_id):  # in a bundle of a stranger, which must not have files of this machine read
            return LeftOut(name=page.title, reason=reasons.NO_PAGE)
        try:
            return self._read_web(page, validators) if is_web_address(page.title) else self._read_file(page)
        except NotReadable as error:
            return LeftOut(name=page.title, reason=reasons.NO_TEXT, detail=str(error))
        except PageNotFound as error:
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail=str(error))
        except Disallowed as error:
            return LeftOut(name=page.title, reason=reasons.DISALLOWED, detail=str(error))
        except MissingRequirement:
            raise
        except (FieldmarkError, OSError) as error:
            return Failure(taxon=page.title, stage="fetch", reason=str(error))

    def _read_web(self, page: PageRef, validators: Mapping[str, str]) -> FetchedPage | None:
        url, response, content = self._client.fetch(page_address(page.title), validators)
        if response.status_code == 304:
            return None
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        kind = kind if "/" in kind else ""  # else the bytes tell
        document = read_document(content, kind=kind, charset=response.charset_encoding)
        title = document.title or unquote(Path(urlsplit(url).path).name) or host_of(url)
        headers = {VALIDATORS[name]: response.headers[name][:500] for name in VALIDATORS if name in response.headers}
        return _as_fetched(page, document, title, url, headers)

    def _read_file(self, page: PageRef) -> FetchedPage | LeftOut:
        file = Path(page.title)
        if not file.is_file():
            detail = "no such file; a web address begins with https://"
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail=detail)
        document = read_file(file.name, file.read_bytes())
        return _as_fetched(page, document, document.title or file.name, f"file:{file.name}")  # paths are private


def page_of(subject_id: str, address: str) -> PageRef:
    """Return the page of a species or term, by its web address or the path of a file.

    Raises:
        BadInput: if the address cannot be that of a page.
    """
    title = page_address(address) if is_web_address(address) else str(Path(address).expanduser().resolve())
    return PageRef(subject_id=page_key(subject_id, title), title=title)


def _as_fetched(
    page: PageRef, document: Document, title: str, url: str, validators: Mapping[str, str] | None = None
) -> FetchedPage:
    properties = {**(validators or {}), "version": str(document.version)}
    source = Source(title=title, url=url, licence=document.licence, language=document.language)
    return FetchedPage(page=page, body=document.text, media_type="text/plain", source=source, properties=properties)


def _in_turn(pages: Sequence[PageRef]) -> Iterator[PageRef]:
    """Yield pages so that hosts take turns, and pauses cost little time."""
    by_host: dict[str, list[PageRef]] = {}
    for page in pages:
        by_host.setdefault(host_of(page.title) if is_web_address(page.title) else "", []).append(page)
    for turn in zip_longest(*by_host.values()):
        yield from filter(None, turn)


# requests


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
    """A polite client: robots.txt (RFC 9309), one request at a time, a pause between two to a host, retries."""

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
            **client_settings(_TIMEOUTS, public_only=not settings.private_addresses),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def fetch(self, url: str, validators: Mapping[str, str] | None = None) -> tuple[str, httpx.Response, bytes]:
        """Return the address of a page after redirects, its response and content; status 304 if it has not changed.

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
            return self._ask(host, at, asked)

        at, response, content = followed(url, ask, _target)
        if response.status_code == 304 and not asked:
            raise MalformedAnswer(f"{host_of(at)} answered 304 Not Modified for a page that it has not sent before")
        return at, response, content

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
        try:
            _, _, content = followed(address, lambda at: self._ask(host, at, {}), _target)
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

    def _ask(self, host: _Host, url: str, headers: Mapping[str, str]) -> tuple[httpx.Response, bytes]:
        """Return the answer to one request, repeated if that may help."""

        def once() -> tuple[httpx.Response, bytes]:
            host.retrier.pause()
            time.sleep(max(0.0, host.next_at - time.monotonic()))
            self.n_requests += 1
            try:
                response, body = exchange(self._client, url, _TIMEOUTS, headers=headers, limit=MAX_BYTES)
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
