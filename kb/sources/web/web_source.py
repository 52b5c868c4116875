"""Pages of the web and local documents as a source of articles: any number for each species or term.

A page is a subject of its own, with the id of its species or term and a hash of its address (`page_key`), and takes
part in every stage but the anchors, for which it has none: the licences of pictures on a page are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from urllib.parse import unquote, urlsplit

from data.errors import Disallowed, FieldmarkError, MissingRequirement, PageNotFound
from data.records import Article, Failure, FetchedPage, LeftOut, PageRef, Source, Taxon
from kb import reasons
from kb.distill.terms import term_id
from kb.http import host_of
from kb.sources.article_source import ArticleSource
from kb.sources.page_keys import is_page, is_web_address, page_address, page_key
from kb.sources.plain_text import parse_text
from kb.sources.web.documents import Document, NotReadable, read_document, read_file
from kb.sources.web.page_client import PageClient

Fetched = FetchedPage | LeftOut | Failure
KIND = "web"


class WebSource(ArticleSource):
    """Pages of the web, and local files."""

    name = "web pages"
    parser = "web-text/1"
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

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield the page of each `(term, address)`."""
        for name, address in terms:
            if address is None:
                yield name, LeftOut(name=name, reason=reasons.NO_PAGE)
            else:
                yield name, page_of(term_id(name), address)

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
            self._fetched[page.subject_id] = found
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

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in the text of a page."""
        text, sections = parse_text(fetched.body)
        return Article(source=fetched.source, text=text, sections=sections)

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
        answer = self._client.fetch(page_address(page.title), validators)
        if answer.content is None:
            return None
        document = read_document(answer.content, kind=answer.kind, charset=answer.charset)
        title = document.title or unquote(Path(urlsplit(answer.url).path).name) or host_of(answer.url)
        return _fetched(page, document, title, answer.url, answer.validators)

    def _read_file(self, page: PageRef) -> FetchedPage | LeftOut:
        file = Path(page.title)
        if not file.is_file():
            detail = "no such file; a web address begins with https://"
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail=detail)
        document = read_file(file.name, file.read_bytes())
        return _fetched(page, document, document.title or file.name, f"file:{file.name}")  # paths are private


def page_of(subject_id: str, address: str) -> PageRef:
    """Return the page of a species or term, by its web address or the path of a file.

    Raises:
        BadInput: if the address cannot be that of a page.
    """
    title = page_address(address) if is_web_address(address) else str(Path(address).expanduser().resolve())
    return PageRef(subject_id=page_key(subject_id, title), title=title)


def _fetched(
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
