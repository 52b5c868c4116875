"""Requests that are refused: of other hosts and sites, without the token beyond this machine, and too large ones."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_BYTES: Final = 200 * 2**20  # of a request
TOO_LARGE: Final = f"At most {MOST_BYTES >> 20} MiB are taken at once."
TOKEN: Final = "token"
"""Name of the parameter of the first address; the cookie after it has the port too: browsers send it to all."""
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data: blob:; style-src 'self'; "
    "style-src-attr 'unsafe-inline'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, browsers hide the origin of our own forms
    "Cross-Origin-Resource-Policy": "same-origin",
}
_HEALTH: Final = "/healthz"


class Guard:
    """Middleware that refuses requests before the application sees them.

    A page elsewhere cannot drive this one: its requests bear another origin, and a name that was bound to this machine
    anew (DNS rebinding) is another host. Without an origin, a request is no page's.

    Args:
        app: the application.
        token: needed in each request, as a cookie, a bearer token or a parameter; None on a loopback address.
    """

    def __init__(self, app: ASGIApp, *, token: str | None = None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if (refusal := self._refusal(request)) is not None:
            await refusal(scope, receive, send)
            return
        n_read = 0

        async def limited() -> Message:
            nonlocal n_read
            message = await receive()
            n_read += len(message.get("body", b""))
            if n_read > MOST_BYTES:  # of a request that states no length
                raise HTTPException(413, TOO_LARGE)
            return message

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        await self._app(scope, limited, protected)

    def _refusal(self, request: Request) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if self._token is None and hostname(host) not in LOOPBACK:
            return refused(request, 403, f"This page is at localhost, not at {host[:100]}.")
        is_ours = origin in (None, f"http://{host}", f"https://{host}")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            is_ours &= request.method == "GET" and request.headers.get("sec-fetch-dest") == "document"  # a link to us
        if not is_ours:
            return refused(request, 403, "The request comes from a page of another site.")
        if int(request.headers.get("content-length", 0)) > MOST_BYTES:
            return refused(request, 413, TOO_LARGE)
        return self._without_token(request) if self._token and request.url.path != _HEALTH else None

    def _without_token(self, request: Request) -> Response | None:
        """Return a refusal for a request without the token, and a cookie for the first address."""
        given, host = request.query_params.get(TOKEN), request.headers.get("host", "")
        cookie = f"{TOKEN}-{''.join(filter(str.isdecimal, host.rpartition(':')[2]))}"
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        for value in (given, bearer, request.cookies.get(cookie)):
            if value and secrets.compare_digest(value.encode(), (self._token or "").encode()):
                break
        else:
            return refused(request, 401, "Open the address that kb serve printed: it ends with a token.")
        if given and request.method == "GET" and not request.url.path.startswith("/api/"):
            response = RedirectResponse(request.url.path, status_code=303)
            response.set_cookie(cookie, given, httponly=True, samesite="strict")
            return response
        return None


def hostname(host: str) -> str:
    """Return the name of a Host header without its port and brackets, in lower case."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def refused(request: Request, status: int, text: str, hint: str | None = None) -> Response:
    """Return an error: problem details below `/api/`, else a line of text."""
    if request.url.path.startswith("/api/"):
        return JSONResponse(problem(status, text, hint), status, media_type="application/problem+json")
    return PlainTextResponse(f"{text}{f' {hint}' if hint else ''}\n", status)


def problem(status: int, text: str, hint: str | None) -> dict[str, object]:
    """Return problem details (RFC 9457)."""
    return {"type": "about:blank", "title": text, "status": status, **({"detail": hint} if hint else {})}


def whole(text: object, otherwise: int = 0) -> int:
    """Return the whole number in a text of a request; `otherwise` without one, and for a long one."""
    return int(str(text)) if str(text).isdecimal() and len(str(text)) < 9 else otherwise
