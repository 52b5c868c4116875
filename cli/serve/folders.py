"""The pages of folders on this machine: progress, and the grid for review."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from cli.serve.jobs import state_of
from cli.serve.pages import attachment, card_values_of, jpeg, page, render
from cli.serve.review import PAGE, RESULTS, Order, Review, Tab, View, is_in, label_named, label_of, name_of, named
from data.records import Answer
from recognize.answers import message_of
from recognize.corrections import NO_BIRD, UNKNOWN

if TYPE_CHECKING:
    from starlette.requests import Request

    from cli.serve.review import Bird
    from cli.serve.site import Site

TABS: Final[Mapping[Tab, str]] = {"open": "To review", "empty": "Without a bird", "done": "Done", "all": "All"}
ORDERS: Final[Mapping[Order, str]] = {
    "event": "by burst", "species": "by species", "confidence": "the surest first", "odd": "the oddest first",
}  # fmt: skip
_CROP_PX: Final = 360


def _review(site: Site, request: Request) -> Review:
    number: int = request.path_params["folder"]
    if number >= len(site.reviews):
        raise HTTPException(404, "There is no such folder: kb serve --photos names them.")
    return site.reviews[number]


async def folders(site: Site, _: Request) -> Response:
    """Return the folders, and how far each is."""
    read = [(review, await site.look_up(review.read)) for review in site.reviews]
    shown = [(review, len(birds), sum(bird.is_done for bird in birds)) for review, birds in read]
    return page("folders.html", "Folders", shown=shown)


async def grid(site: Site, request: Request) -> Response:
    """Return the grid of a folder."""
    return HTMLResponse(await site.look_up(_grid, _review(site, request), View.of(request.query_params), request))


def _grid(review: Review, view: View, request: Request) -> str:
    all_birds = review.read()
    birds = review.chosen(view)
    shown = birds[view.first : view.first + PAGE]
    counts = {tab: sum(is_in(bird, tab) for bird in all_birds) for tab in TABS}
    return render(
        "folder.html", title="Folders", review=review, number=request.path_params["folder"], view=view, tabs=TABS,
        orders=ORDERS, counts=counts, n=len(birds), page_size=PAGE, families=review.families(),
        sure=review.sure() if view.tab == "open" and not view.first else [],
        birds=[(bird, message_of(bird.shown), head_of(bird, shown[at - 1] if at else None, view.order))
               for at, bird in enumerate(shown)],
        results=RESULTS,
    )  # fmt: skip


def head_of(bird: Bird, before: Bird | None, order: Order) -> str:
    """Return the heading above a bird that begins a burst or a species; empty elsewhere."""
    if order == "event" and (before is None or before.event != bird.event):
        when = (bird.row.date or "")[:16].replace("T", " ")
        return f"Burst {bird.event}, {when}" if when else f"Burst {bird.event}"
    if order == "species" and (before is None or name_of(before) != name_of(bird)):
        return message_of(bird.shown).headline
    return ""


async def start(site: Site, request: Request) -> Response:
    """Identify the photos of a folder, or go on with it; `do` is identify, again (all photos) or learn."""
    review = _review(site, request)
    async with request.form() as form:
        do = str(form.get("do", "identify"))
    if do == "learn":
        review.start("learn", then=site.reopen)
    else:
        review.start("identify", again=do == "again")
    return RedirectResponse(f"/folders/{request.path_params['folder']}", status_code=303)


async def progress(site: Site, request: Request) -> Response:
    """Return how far the identification of a folder is."""
    return JSONResponse(state_of(_review(site, request).run))


async def say(site: Site, request: Request) -> Response:
    """Write what a person says of the chosen birds: `say` is confirm, name, majority, unknown, no bird or undo."""
    review = _review(site, request)
    async with request.form() as form:
        what, name = str(form.get("say", "")), str(form.get("name", ""))
        keys = [*map(str, form.getlist("birds"))]
        back = str(form.get("back", ""))
    said = await site.look_up(_said, site, review, what, name, keys)
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse(said)
    return RedirectResponse(f"/folders/{request.path_params['folder']}?{back}", status_code=303)


def _said(site: Site, review: Review, what: str, name: str, keys: list[str]) -> dict[str, object]:
    review.read()
    if what == "undo":
        return {"undone": len(review.corrections.undo())}
    birds, label = review.of(keys), None
    if what in (UNKNOWN, NO_BIRD):
        label = Answer(rank="none", name=what)
    elif what == "name":
        label = label_named(site.store, name)
    elif what == "majority":
        label = review.majority(birds)
    elif what != "confirm":
        raise HTTPException(400, f"Expected confirm, name, majority, unknown, no bird or undo, got {what[:40]}.")
    review.say(birds, label)
    return {"said": len(birds), "name": "" if label is None else label.common_name or label.name}


async def crop(site: Site, request: Request) -> Response:
    """Return the picture of a bird, with some of its surroundings."""
    bird = await _bird(site, request)
    return await site.draw(jpeg, Path(bird.row.image), bird.row.box, _CROP_PX)


async def _bird(site: Site, request: Request) -> Bird:
    review, key = _review(site, request), request.path_params["bird"]
    if key not in review.birds:
        await site.look_up(review.read)
    if key not in review.birds:
        raise HTTPException(404, "There is no such bird in this folder.")
    return review.birds[key]


async def bird_card(site: Site, request: Request) -> Response:
    """Return the card of a bird of a folder."""
    bird = await _bird(site, request)
    values = await site.look_up(card_values_of, site, bird.shown)
    return HTMLResponse(render("bird.html", **values, folder=request.path_params["folder"]))


async def corrected(site: Site, request: Request) -> Response:
    """Return the rows of a folder with the labels of people, as CSV with all columns."""
    from data.frames import as_csv
    from recognize import to_frame

    birds = await site.look_up(_review(site, request).read)
    text = await site.look_up(lambda: as_csv(to_frame(bird.shown for bird in birds)))
    return attachment(text, "fieldmark.csv")


async def names(site: Site, request: Request) -> Response:
    """Return the species and groups whose names begin with a text, in any language, for the field of names."""
    found = await site.look_up(named, site.store, request.query_params.get("q", "")[:100])
    return JSONResponse([
        {"name": label.common_name or label.name, "scientific": label.name} for label in map(label_of, found)
    ])  # fmt: skip


VIEWS: Final = {
    "/folders": folders,
    "/folders/{folder:number}": grid,
    "/folders/{folder:number}/progress": progress,
    "/folders/{folder:number}/fieldmark.csv": corrected,
    "/folders/{folder:number}/crops/{bird}": crop,
    "/folders/{folder:number}/birds/{bird}": bird_card,
    "/names": names,
}
ACTIONS: Final = {"/folders/{folder:number}/start": start, "/folders/{folder:number}/say": say}
