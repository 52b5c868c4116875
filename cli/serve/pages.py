"""The pages: photos and their results, species and searches."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from data.errors import BadInput
from data.pages import environment

if TYPE_CHECKING:
    from starlette.requests import Request

    from cli.serve.site import Result, Site
    from data.records import Box, Identification

View = Callable[["Site", "Request"], Awaitable[Response]]
N_LATEST: Final = 12
N_FOUND: Final = 24
SIDE_PX: Final = 480  # of a photo in a grid
MIN_SIDE: Final = 16  # pixels of a part of a photo


def render(template: str, **values: object) -> str:
    """Return a page of the templates of the server."""
    return environment("cli", "recognize").get_template(f"serve/{template}").render(values)


def page(template: str, title: str, **values: object) -> Response:
    """Return the response with a page."""
    return HTMLResponse(render(template, title=title, **values))


def attachment(text: str, name: str) -> Response:
    """Return a text as a file to keep, CSV or JSON lines by its name."""
    kind = "text/csv" if name.endswith(".csv") else "application/x-ndjson"
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def jpeg(file: Path, box: Box | None = None, side: int = SIDE_PX) -> Response:
    """Return a small picture of a photo, or of a bird in it, which the browser keeps for an hour."""
    from data.images.views import jpeg_of

    content = jpeg_of(file, box, max_side=side)
    return Response(content, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


async def home(site: Site, _: Request) -> Response:
    """Return the form for photos, with the latest results."""
    latest = [(each.id, len(each.photos), each.photos[0].name) for each in reversed(site.results.values())]
    has_place, n_species = site.recognizer.occurrence is not None, len(site.store.taxon_ids)
    return page("home.html", "Identify", latest=latest[:N_LATEST], has_place=has_place, n_species=n_species)


async def identify(site: Site, _: Request, photos: Sequence[Path], place: str, date: str) -> Response:
    """Identify photos, and return the redirection to the card of the only bird, else to the list."""
    result = await site.identify(photos, place, date)
    only = "/0" if len(result.rows) == 1 else ""
    return RedirectResponse(f"/results/{result.id}{only}", status_code=303)


def _result(site: Site, request: Request) -> Result:
    if (found := site.results.get(request.path_params["id"])) is None:
        raise HTTPException(404, "This result is gone: photos are kept until the server stops. Send them again.")
    return found


def _row(request: Request, result: Result) -> Identification:
    number: int = request.path_params["number"]
    if number >= len(result.rows):
        raise HTTPException(404, f"This result has {len(result.rows)} birds.")
    return result.rows[number]


async def results(site: Site, request: Request) -> Response:
    """Return the answers for all birds of a request."""
    from recognize.answers import message_of

    result = _result(site, request)
    places = {str(photo): place for place, photo in enumerate(result.photos)}
    shown = [
        (number, row, message_of(row), places[result.rows[number].image]) for number, row in enumerate(result.named())
    ]
    return page("results.html", "Results", result=result, shown=shown)


async def table(site: Site, request: Request) -> Response:
    """Return the rows of a request as a file: CSV with all columns, or JSON lines."""
    from cli.common.output import json_lines
    from data.frames import as_csv
    from recognize import to_frame

    form, rows = request.path_params["form"], _result(site, request).named()
    if form not in ("csv", "jsonl"):
        raise HTTPException(404, "Results are to be had as csv and jsonl.")
    text = as_csv(await site.look_up(to_frame, rows)) if form == "csv" else json_lines(rows)
    return attachment(text, f"fieldmark.{form}")


async def card(site: Site, request: Request) -> Response:
    """Return the card of one bird."""
    result = _result(site, request)
    row = _row(request, result)
    values = await site.look_up(card_values_of, site, row)
    at, number = [str(each) for each in result.photos].index(row.image), request.path_params["number"]
    return HTMLResponse(render("card.html", **values, result=result, number=number, photo=at))


def card_values_of(site: Site, row: Identification) -> dict[str, object]:
    """Return the values of the card of a bird."""
    from recognize import explain
    from recognize.cards.page import card_values

    store = site.store
    why = explain(store, row) if row.candidates else None
    entries = store.species([candidate.taxon_id for candidate in row.candidates])
    return card_values(row, why, entries, store.anchor_path)


async def part(site: Site, request: Request) -> Response:
    """Identify a part of a photo: `left`, `top`, `right` and `bottom` of a form, in percent of its sides."""
    row, texts = _row(request, _result(site, request)), {"place": "", "date": ""}
    async with request.form() as form:
        sides = [str(form.get(name, "")) for name in ("left", "top", "right", "bottom")]
    if row.place is not None and site.recognizer.occurrence is not None:
        texts = {"place": f"{row.place[0]},{row.place[1]}", "date": row.date or ""}
    with site.new_folder() as folder:
        cut = await site.draw(_cut, Path(row.image), sides, folder)
        return await identify(site, request, [cut], **texts)


def _cut(file: Path, sides: Sequence[str], folder: Path) -> Path:
    from data.images.decode import read_image

    try:
        left, top, right, bottom = (min(max(0, float(side) / 100), 1) for side in sides)
    except ValueError as error:
        raise BadInput(f"Expected four numbers from 0 to 100, got {', '.join(sides)[:100]}.") from error
    image = read_image(file)
    box = (int(left * image.width), int(top * image.height), int(right * image.width), int(bottom * image.height))
    if min(box[2] - box[0], box[3] - box[1]) < MIN_SIDE:
        raise BadInput("The part is too small.", hint=f"It needs at least {MIN_SIDE} pixels on each side.")
    to = folder / "0" / f"part of {file.stem}.png"
    to.parent.mkdir()
    image.crop(box).save(to)
    return to


async def photo(site: Site, request: Request) -> Response:
    """Return a small picture of a photo of a request, without its EXIF data."""
    result, number = _result(site, request), request.path_params["number"]
    if number >= len(result.photos):
        raise HTTPException(404, "This result has no such photo.")
    return await site.draw(jpeg, result.photos[number])


async def species(site: Site, request: Request) -> Response:
    """Return the species of a name or description, and the tree of a group."""
    wanted, group = (request.query_params.get(name, "").strip()[:500] for name in ("q", "group"))
    found, note, members = await site.look_up(_found, site, wanted, group)
    return page("species_list.html", "Species", q=wanted, group=group, found=found, note=note, members=members)


def _found(site: Site, wanted: str, group: str) -> tuple[list[Any], str, Mapping[str, list[Any]]]:
    """Return species found by words with their descriptions, a note, and the species of a group by family."""
    import kb
    from kb.lookup.entries import list_species, missing_species, why_missing

    store = site.store
    if wanted:
        matches = kb.search(store, wanted, site.sentence, n=N_FOUND)
        missing = missing_species(store, wanted)
        entries = {entry.taxon.taxon_id: entry for entry in store.species([match.taxon_id for match in matches])}
        return (
            [entries[match.taxon_id] for match in matches],
            " ".join(why_missing(store, missing)) if missing else "",
            {},
        )
    by_family: dict[str, list[Any]] = {}
    for each in list_species(store, [group] if group else []):
        by_family.setdefault(each.family or "no family", []).append(each)
    return [], "", by_family


def warm(site: Site) -> None:
    """Read what searches and lists need."""
    _found(site, "red crest", "")
    _found(site, "", "")
    for review in site.reviews:
        review.read()


async def anchor(site: Site, request: Request) -> Response:
    """Return the file of a reference photo."""
    sha256 = request.path_params["sha256"]
    path = site.store.anchor_path(sha256) if re.fullmatch("[0-9a-f]{64}", sha256) else None
    if path is None or not path.is_file():
        raise HTTPException(404, "There is no such reference photo.")
    with path.open("rb") as file:
        kind = "image/png" if file.read(4) == b"\x89PNG" else "image/jpeg"
    return FileResponse(path, media_type=kind)


ACTIONS: Final = {"/results/{id}/{number:number}/part": part}
VIEWS: Final[Mapping[str, View]] = {
    "/": home,
    "/results/{id}": results,
    "/results/{id}/{number:number}": card,
    "/results/{id}/photo/{number:number}": photo,
    "/results/{id}/fieldmark.{form}": table,
    "/species": species,
    "/anchors/{sha256}": anchor,
}
