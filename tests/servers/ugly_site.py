"""A web site with ugly pages over real HTTP; its requests are recorded."""

import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.servers.faulty_wiki import jpeg
from tests.servers.loopback import LoopbackServer, send

LOOKS = "The drake has a glossy green head, a white neck ring and a chestnut breast."
HEN = "The female is mottled brown with an orange and black bill."
ARTICLE = f"<h1>Mallard</h1><p>The mallard is a duck of ponds.</p><h2>Description</h2><p>{LOOKS} {HEN}</p>"
BANNER = '<div class="cookie-banner"><p>We use cookies to improve your experience. Accept all cookies.</p></div>'
MENU = '<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Red hats in our shop</a></li></ul></nav>'


def page(body: str = ARTICLE, *, head: str = "<title>Mallard, pond birds</title>", lang: str = "en") -> str:
    """Return an HTML page with a cookie banner, a menu and a footer around its body."""
    footer = "<footer><p>Copyright. All birds of this shop have blue feet.</p></footer>"
    return (
        f'<!doctype html><html lang="{lang}"><head>{head}</head>'
        f"<body>{BANNER}{MENU}<main>{body}</main>{footer}</body></html>"
    )


def pdf(text: str) -> bytes:
    """Return a PDF with a line of text for each line."""
    lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n"))
    stream = f"BT /F1 12 Tf 72 720 Td {lines}ET".encode("latin-1")
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, part in enumerate(parts, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(parts) + 1, start)
    return bytes(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the site."""

    body: bytes | str = b""
    status: int = 200
    kind: str | None = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    """Announce the whole body and hang up after this number of bytes."""
    stall_s: float = 0.0

    @property
    def content(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else self.body


SCRIPT_ONLY = (
    "<html><head><title>App</title></head><body><div id=root></div>"
    "<noscript>You need to enable JavaScript to run this app.</noscript><script src=app.js></script></body></html>"
)
LOGIN = (
    "<html><head><title>Log in</title></head><body><h1>Please log in</h1><p>You must be a subscriber to read this "
    "article on ducks. Log in or sign up to go on reading.</p><form><input type=password></form></body></html>"
)


class UglySite(LoopbackServer):
    """A site of `pages` (path -> a reply, or replies in turn; the last one stays) with a `robots.txt`."""

    def __init__(self) -> None:
        self.robots: str | None = None
        self.robots_status = 404
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.times: list[float] = []
        self.pages: dict[str, Reply | list[Reply] | Callable[[], Reply]] = ugly_pages()
        super().__init__()

    @property
    def asked(self) -> list[str]:
        """Paths requested, without robots.txt."""
        return [path for path, _ in self.requests if path != "/robots.txt"]

    def url(self, path: str) -> str:
        return f"{self.origin}{path}"

    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        self.requests.append((handler.path, dict(handler.headers)))
        self.times.append(time.monotonic())
        reply = self._reply(handler.path, handler)
        time.sleep(reply.stall_s)
        content = b"" if reply.status == 304 else reply.content
        headers = {name: value.replace("ORIGIN", self.origin) for name, value in reply.headers.items()}
        headers |= {} if reply.kind is None else {"Content-Type": reply.kind}
        length = None if reply.cut_at is None else len(content)
        send(handler, reply.status, headers, content[: reply.cut_at], length=length)

    def _reply(self, path: str, handler: BaseHTTPRequestHandler) -> Reply:
        if path == "/robots.txt":
            status, body = (self.robots_status, b"") if self.robots is None else (200, self.robots)
            return Reply(status=status, body=body, kind="text/plain")
        found = self.pages.get(path, Reply(status=404, body="<html>Not found</html>"))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        reply = found() if callable(found) else found
        etag = reply.headers.get("ETag")
        return Reply(status=304) if etag is not None and handler.headers.get("If-None-Match") == etag else reply


def ugly_pages() -> dict[str, Reply | list[Reply] | Callable[[], Reply]]:
    """Return the pages of the site."""
    accented = page(f"<h1>Mallard</h1><p>{LOOKS} Its café-coloured légs — «orange».</p>")
    compressed = zlib.compressobj(wbits=31)
    bomb = compressed.compress(b" " * 40_000_000) + compressed.flush()

    def to(address: str, status: int = 302) -> Reply:
        return Reply(status=status, headers={"Location": address})

    return {
        "/mallard": Reply(body=page(), headers={"ETag": '"1"'}),
        "/wrong-charset": Reply(body=accented.encode(), kind="text/html; charset=iso-8859-1"),
        "/meta-charset": Reply(
            body=accented.replace("<head>", '<head><meta charset="windows-1252">').encode("cp1252"), kind="text/html"
        ),
        "/no-title": Reply(body=page(f"<p>{LOOKS} {HEN}</p>", head="")),
        "/no-type": Reply(body=page(), kind=None),
        "/controls": Reply(body=page(ARTICLE.replace("green head", "gre\u200ben\u202e he\x1bad"))),
        "/huge": Reply(body=page("<p>" + "The head is green. " * 400_000 + "</p>")),
        "/bomb": Reply(body=bomb, headers={"Content-Encoding": "gzip"}),
        "/gzip": Reply(body=gzip.compress(page().encode()), headers={"Content-Encoding": "gzip"}),
        "/loop": to("/loop"),
        "/moved": to("/mallard", 301),
        "/to-private": to("http://10.0.0.1/mallard"),
        "/to-file": to("file:///etc/passwd"),
        "/busy-once": [Reply(status=429, headers={"Retry-After": "0"}), Reply(body=page())],
        "/busy": Reply(status=429, headers={"Retry-After": "3600"}),
        "/broken-once": [Reply(status=500), Reply(body=page())],
        "/broken": Reply(status=500),
        "/forbidden": Reply(status=403, body="<html>No</html>"),
        "/truncated": Reply(body=page(), cut_at=200),
        "/paper.pdf": Reply(body=pdf(f"Mallard\n{LOOKS}\n{HEN}"), kind="application/pdf"),
        "/pdf-as-html": Reply(body=pdf(f"{LOOKS}\n{HEN}")),
        "/bad.pdf": Reply(body=b"%PDF-1.4 and then nothing", kind="application/pdf"),
        "/picture": Reply(body=jpeg()),
        "/data.json": Reply(body='{"green": "head"}', kind="application/json"),
        "/plain.txt": Reply(body=f"Mallard\n\nDescription:\n{LOOKS} {HEN}\n", kind="text/plain"),
        "/script-only": Reply(body=SCRIPT_ONLY),
        "/login": Reply(body=LOGIN),
        "/empty": Reply(body=""),
        "/about-shop": Reply(body=page("<p>We sell hats and boots to walkers since 1990 in the old town.</p>" * 2)),
    }
