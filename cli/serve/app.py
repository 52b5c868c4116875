"""The application: routes, uploads, and errors in the words of the library."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from cli.serve import api, find, folders, knowledge, pages, rerank
from cli.serve.guard import Guard, refused
from cli.serve.site import MOST_PHOTOS, Site
from data.errors import FieldmarkError, UnknownTaxon
from data.pages import environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

STATIC: Final = Path(__file__).with_name("static")


class _Number(IntegerConvertor):
    """A number in a path; Python reads none of thousands of digits."""

    regex = "[0-9]{1,9}"


register_url_convertor("number", _Number())
_MOST_OF_A_FIELD: Final = 100_000  # bytes of a text


def make_app(site: Site, finder: find.Finder, rankings: rerank.Rankings, *, token: str | None = None) -> Starlette:
    """Return the application of an open site, which it closes at the end.

    Args:
        site: the open state.
        finder: searches of the folders, which the caller closes.
        rankings: results of `kb rerank` in the folders, which the caller closes.
        token: needed in each request; None on a loopback address alone.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(site.look_up(pages.warm, site))  # the first search reads all descriptions
        yield
        await warming
        site.close()

    app = Starlette(
        routes=[
            Route("/healthz", _health),
            *(Route(path, partial(view, site)) for path, view in pages.VIEWS.items()),
            *(Route(path, partial(view, site)) for path, view in (folders.VIEWS | knowledge.VIEWS).items()),
            *(
                Route(path, partial(view, site), methods=["POST"])
                for path, view in (pages.ACTIONS | folders.ACTIONS | knowledge.ACTIONS).items()
            ),
            *(Route(path, partial(view, finder), methods=["GET", "POST"]) for path, view in find.VIEWS.items()),
            *(Route(path, partial(view, rankings), methods=["GET", "POST"]) for path, view in rerank.VIEWS.items()),
            Route("/api/v1/rerank", partial(rerank.stream, rankings), methods=["POST"]),
            Route("/identify", partial(_identify, site, pages.identify), methods=["POST"]),
            Route("/api/v1/identify", partial(_identify, site, api.identify), methods=["POST"]),
            *(Route(path, partial(view, site)) for path, view in api.VIEWS.items()),
            Route("/static/page.css", _styles),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers=dict.fromkeys((ClientDisconnect, FieldmarkError, HTTPException, Exception), _failed),
        lifespan=lifespan,
    )
    app.state.site = site
    return app


async def _styles(_: Request) -> Response:
    """Return the styles of pages and cards, and of this server."""
    shared = "".join(environment("recognize").get_template(name).render() for name in ("page.css", "card.css"))
    return Response(shared + STATIC.joinpath("serve.css").read_text(encoding="utf-8"), media_type="text/css")


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _identify(site: Site, answer: Callable[..., Awaitable[Response]], request: Request) -> Response:
    """Identify the photos of a form, field `photos`, with `place` and `date` if given."""
    with site.new_folder() as folder:
        async with request.form(max_files=MOST_PHOTOS, max_part_size=_MOST_OF_A_FIELD) as form:
            given = [item for item in form.getlist("photos") if isinstance(item, UploadFile) and item.filename]
            photos = [await _saved(item, folder / str(number)) for number, item in enumerate(given)]
            texts: dict[str, str] = {name: str(form.get(name) or "").strip() for name in ("place", "date")}
        return await answer(site, request, photos, **texts)


async def _saved(item: UploadFile, folder: Path) -> Path:
    """Write an uploaded photo to a new folder, under its own name as far as a file can have it."""
    name = "".join(
        letter for letter in PurePosixPath((item.filename or "").replace("\\", "/")).name if letter.isprintable()
    )
    stem, suffix = PurePosixPath(name.strip(". ") or "photo").stem, PurePosixPath(name).suffix
    path = folder / f"{stem.encode()[:150].decode(errors='ignore')}{suffix.encode()[:20].decode(errors='ignore')}"
    folder.mkdir()
    with path.open("wb") as out:
        while block := await item.read(1 << 20):
            out.write(block)
    return path


def _failed(request: Request, error: Exception) -> Response:
    """Return an error with its remedy; of a defect the server logs more."""
    status, text, hint = 500, api.DEFECT, getattr(error, "hint", None) or ""
    if isinstance(error, ClientDisconnect):  # nobody reads this
        status = 400
    elif isinstance(error, HTTPException):
        status, text = error.status_code, error.detail if error.detail != "Not Found" else "There is no such page."
    elif isinstance(error, FieldmarkError):
        is_unknown = isinstance(error, UnknownTaxon) or "/species/" in request.url.path
        status, text = api.status_of(error), str(error)
        status = 404 if status == 400 and is_unknown else status
    if request.url.path.startswith("/api/"):
        return refused(request, status, text, hint)
    return HTMLResponse(pages.render("error.html", title="Not done", text=text, hint=hint), status)
