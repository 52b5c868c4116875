"""A made-up wiki over real HTTP with optional faults: busy, slow, broken, lagging, or not a wiki."""

import io
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from PIL import Image

from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.loopback import LoopbackServer, send


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One faulty answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    """Announce the whole body and hang up after this number of bytes."""
    stall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of the wiki."""

    content: bytes
    mime: str = "image/jpeg"
    width: int = 200
    height: int = 150
    metadata: dict[str, str] = field(default_factory=dict)
    url: str = ""


def busy(retry_after: str | None = None, *, status: int = 429) -> Fault:
    return Fault(status=status, body=b"slow down", headers={"Retry-After": retry_after} if retry_after else {})


def html_page() -> Fault:
    return Fault(body=b"<!DOCTYPE html><html><p>Welcome</p></html>", headers={"Content-Type": "text/html"})


def lagging(retry_after: str = "0") -> Fault:
    body = b'{"error": {"code": "maxlag", "info": "Waiting for a database server: 9 seconds lagged"}}'
    return Fault(body=body, headers={"Content-Type": "application/json", "Retry-After": retry_after})


def jpeg(colour: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (200, 150)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "JPEG")
    return out.getvalue()


class FaultyWiki(LoopbackServer):
    """A wiki of `pages` (title -> HTML, or `#REDIRECT Title`) and `files`; each request takes the next of `faults`."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.wikitext: dict[str, str] = {}
        self.files: dict[str, File] = {}
        self.faults: list[Fault] = []
        self.photo_faults: list[Fault] = []
        self.always: Fault | None = None
        self.requests: list[dict[str, str]] = []
        self.times: list[float] = []
        self.headers: list[dict[str, str]] = []
        self.photos_asked: list[str] = []
        self.most_at_once = 0
        self.delay_s = 0.0
        self.categories: dict[str, list[str]] = {}
        self.marks: dict[str, dict[str, Any]] = {}
        """Title -> categories and properties of a parsed page."""
        self.revisions: dict[str, int] = {}
        self.language = "en"
        self.licence = {"text": "Creative Commons Attribution-Share Alike 4.0", "url": ""}
        self.n_pages: int | None = None
        self.page_limit = 500
        self.bot: tuple[str, str] | None = None
        """User name and password of a private wiki, which is read while `is_logged_in`."""
        self.is_logged_in = False
        self._running = 0
        self._lock = threading.Lock()
        super().__init__()
        self.api_url = f"{self.origin}/w/api.php"

    def source(self, **settings: Any) -> WikipediaSource:
        """Return a source from this wiki, with settings of its client."""
        return WikipediaSource(WikiClient(self.api_url, **settings))

    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        with self._lock:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            if self.delay_s:
                time.sleep(self.delay_s)
            path = urlsplit(handler.path).path
            if path.startswith("/photos/"):
                fault, body, kind = self._photo(path.removeprefix("/photos/"))
            else:
                fault, body, kind = self._api(handler, form or urlsplit(handler.path).query)
            self._send(handler, fault, body, kind)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client gave up, as some tests intend
        finally:
            with self._lock:
                self._running -= 1

    def _photo(self, name: str) -> tuple[Fault | None, bytes, str]:
        self.photos_asked.append(name)
        with self._lock:
            fault = self.photo_faults.pop(0) if self.photo_faults else None
        file = self.files[name]
        return fault, file.content, file.mime

    def _api(self, handler: BaseHTTPRequestHandler, query: str) -> tuple[Fault | None, bytes, str]:
        fields = {key: values[0] for key, values in parse_qs(query, keep_blank_values=True).items()}
        with self._lock:
            self.requests.append(fields)
            self.times.append(time.monotonic())
            self.headers.append(dict(handler.headers.items()))
            fault = self.always or (self.faults.pop(0) if self.faults else None)
        if self.bot is not None and (said := self._private(handler, fields)) is not None:
            return fault, json.dumps(said).encode(), "application/json; charset=utf-8"
        action: Callable[[dict[str, str]], Any] = self._parse if fields.get("action") == "parse" else self._query
        return fault, json.dumps(action(fields)).encode(), "application/json; charset=utf-8"

    def _private(self, handler: BaseHTTPRequestHandler, fields: dict[str, str]) -> Any:
        """Return what a private wiki answers instead of a page, None for whoever is logged in."""
        if fields.get("meta") == "tokens":
            return {"query": {"tokens": {"logintoken": "+t"}}}
        if fields.get("action") == "login":
            given = (fields["lgname"], fields["lgpassword"], fields["lgtoken"], handler.command)
            self.is_logged_in = given == (*self.bot, "+t", "POST") if self.bot else False
            return {"login": {"result": "Success"} if self.is_logged_in else {"result": "Failed", "reason": "Wrong."}}
        return None if self.is_logged_in else {"error": {"code": "readapidenied", "info": "You need read permission."}}

    def _send(self, handler: BaseHTTPRequestHandler, fault: Fault | None, body: bytes, kind: str) -> None:
        given = fault or Fault()
        time.sleep(given.stall_s)
        if fault is not None and (fault.body or fault.status != 200):
            body = fault.body
        length = None if given.cut_at is None else len(body)
        send(handler, given.status, {"Content-Type": kind, **given.headers}, body[: given.cut_at], length=length)

    def _parse(self, fields: dict[str, str]) -> Any:
        title = self._target(fields["page"])
        if title not in self.pages:
            return {"error": {"code": "missingtitle", "info": "The page you specified doesn't exist."}}
        found = {"title": title, "revid": self._revision(title), "text": self.pages[title]}
        return {"parse": {**found, "categories": [], "properties": {}, **self.marks.get(title, {})}}

    def _query(self, fields: dict[str, str]) -> Any:
        answer: dict[str, Any] = {}
        found: dict[str, Any] = {"query": answer}
        if fields.get("meta") == "siteinfo":
            answer["general"] = {
                "sitename": "Faulty", "lang": self.language, "server": self.origin, "articlepath": "/wiki/$1",
            }  # fmt: skip
            answer["rightsinfo"] = self.licence
            answer["statistics"] = {"pages": len(self.pages) if self.n_pages is None else self.n_pages}
            answer["namespaces"] = {"6": {"name": "File"}, "14": {"name": "Category"}}
        if "titles" in fields:
            titles = fields["titles"].split("|")
            if len(titles) > 50:
                return {"error": {"code": "toomanyvalues", "info": "Too many values"}}
            normal = {t: t[:1].upper() + t[1:] for t in titles}
            answer["normalized"] = [{"from": t, "to": to} for t, to in normal.items() if t != to]
            answer["redirects"] = [step for t in dict.fromkeys(normal.values()) for step in self._steps(t)]
            targets = dict.fromkeys(self._target(t) for t in normal.values())
            pages = [self._file(t) if t.startswith("File:") else self._page(t) for t in targets]
            answer["pages"] = pages
        if fields.get("generator") == "allpages":
            articles = [t for t in sorted(self.pages) if not self.pages[t].startswith("#REDIRECT ")]
            start = int(fields.get("gapcontinue", "0"))
            answer["pages"] = [self._page(t) for t in articles[start : start + self.page_limit]]
            if start + self.page_limit < len(articles):
                found["continue"] = {"gapcontinue": str(start + self.page_limit), "continue": "-||"}
        if fields.get("list") == "categorymembers":
            kinds = {"Category": {"ns": 14, "type": "subcat"}, "Template": {"ns": 10, "type": "page"}}
            other = {"ns": 0, "type": "page"}
            members = self.categories.get(fields["cmtitle"], [])
            answer["categorymembers"] = [{"title": t, **kinds.get(t.partition(":")[0], other)} for t in members]
        return found

    def _revision(self, title: str) -> int:
        return self.revisions.get(title, 1 + list(self.pages).index(title))

    def _target(self, title: str) -> str:
        steps = self._steps(title)
        return steps[-1]["to"] if steps else title

    def _steps(self, title: str) -> list[dict[str, str]]:
        """Return the redirects from a title, each from one page to the next."""
        found = []
        while (text := self.pages.get(title, "")).startswith("#REDIRECT "):
            found.append({"from": title, "to": (title := text.removeprefix("#REDIRECT "))})
        return found

    def _page(self, title: str) -> dict[str, Any]:
        if title not in self.pages:
            return {"ns": 0, "title": title, "missing": True}
        content = {"slots": {"main": {"content": self.wikitext.get(title, self.pages[title])}}}
        revision = self._revision(title)
        redirects = [{"ns": 0, "title": t} for t in self.pages if self._target(t) == title != t]
        return {
            "ns": 0, "title": title, "lastrevid": revision, "redirects": redirects,
            "revisions": [{"revid": revision, **content}],
        }  # fmt: skip

    def _file(self, title: str) -> dict[str, Any]:
        name = title.removeprefix("File:")
        if name not in self.files:
            return {"ns": 6, "title": title, "missing": True}
        file = self.files[name]
        metadata = {key: {"value": value, "source": "commons-desc-page"} for key, value in file.metadata.items()}
        url = file.url or f"{self.origin}/photos/{name}"
        info = {
            "url": url, "thumburl": url, "mime": file.mime, "width": file.width, "height": file.height,
            "descriptionurl": f"{self.origin}/wiki/{title}", "extmetadata": metadata,
        }  # fmt: skip
        return {"ns": 6, "title": title, "imageinfo": [info]}
