"""The HTTP API: the records of the library as JSON, described by OpenAPI."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response, StreamingResponse

from cli.serve.guard import problem
from data.codec import to_json
from data.errors import BadInput, FieldmarkError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from cli.serve.site import Site

SCHEMA: Final = 1
"""Version of the records; it grows when a field goes or changes its meaning."""
LINES: Final = "application/x-ndjson"
DEFECT: Final = "A defect of Fieldmark: the server's terminal shows it."
RERANK_OPTIONS: Final = ("method", "judge", "depth", "preset", "max-cost")
"""Options of `kb rerank` that a request may give."""


async def identify(site: Site, request: Request, photos: Sequence[Path], place: str, date: str) -> Response:
    """Return the rows of photos: an object with `schema` and `rows`, or JSON lines when they are known."""
    if LINES in request.headers.get("accept", ""):
        return await streamed(to_json(row) async for row in site.rows(photos, place, date))
    result = await site.identify(photos, place, date)
    rows = [to_json(row) for row in result.named()]
    return JSONResponse({"schema": SCHEMA, "result": f"/results/{result.id}", "rows": rows})


async def streamed(rows: AsyncGenerator[Mapping[str, object], None]) -> Response:
    """Return rows as JSON lines, each with the version of the records, when they are known.

    An error before the first one is raised; a later one is the last line, as problem details.
    """
    first = await anext(rows, None)

    async def lines() -> AsyncIterator[str]:
        try:
            if first is not None:
                yield _line(first)
            async for row in rows:
                yield _line(row)
        except FieldmarkError as error:
            yield _line(problem(status_of(error), str(error), error.hint))
        except Exception:  # its text is for the log alone, where it goes next
            yield _line(problem(500, DEFECT, None))
            raise
        finally:
            await rows.aclose()

    return StreamingResponse(lines(), media_type=LINES)


def status_of(error: Exception) -> int:
    """Return the status of an error: 400 for a wrong request, else 503."""
    return 400 if isinstance(error, BadInput | UsageError) else 503


def _line(row: Mapping[str, object]) -> str:
    return json.dumps({"schema": SCHEMA, **row}, ensure_ascii=False) + "\n"


async def search(site: Site, request: Request) -> Response:
    """Return the species nearest to a description, as `kb search`."""
    import kb

    wanted, n = await _parameters(request, "q"), await _number(request, "n", 10, most=100)
    found = await site.look_up(kb.search, site.store, wanted, site.sentence, n=n)
    return JSONResponse({"schema": SCHEMA, "species": [to_json(each) for each in found]})


async def species(site: Site, request: Request) -> Response:
    """Return what is known of a species or a term, as `kb show`."""
    from cli.common.reports import species_payload
    from data.records import Term
    from kb.lookup.entries import find_entry

    found = await site.look_up(find_entry, site.store, request.path_params["name"])
    shown = {"term": to_json(found)} if isinstance(found, Term) else species_payload(found)
    return JSONResponse({"schema": SCHEMA, **shown})


async def context(site: Site, request: Request) -> Response:
    """Return what the knowledge base says of the species and terms in a query, as `kb context`."""
    from kb.lookup.context import context as explain
    from kb.lookup.context_settings import ContextSources

    query = await _parameters(request, "q")
    found = await site.look_up(explain, site.store, query, site.sentence, ContextSources(learn=False))
    return JSONResponse({"schema": SCHEMA, **to_json(found)})


async def _parameters(request: Request, name: str) -> str:
    text = request.query_params.get(name, "").strip()
    if not text:
        raise BadInput(f"The parameter {name} is missing.", hint=f"{request.url.path}?{name}=red+crest")
    if len(text) > 2_000:
        raise BadInput(f"The parameter {name} has {len(text):,} characters, expected at most 2,000.")
    return text


async def _number(request: Request, name: str, default: int, *, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise BadInput(f"{name}: expected a number from 1 to {most}, got {text[:20]!r}.")
    return int(text)


async def description(_: Site, _request: Request) -> Response:
    """Return the OpenAPI description of this API."""
    return JSONResponse(openapi())


def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description; its records are those of `docs/reference/generated/wire-formats.md`."""
    from pydantic import TypeAdapter

    from data.records import Context, Identification, Job, RankedImage, TaxonMatch

    schemas: dict[str, Any] = {}
    for kind in (Identification, TaxonMatch, Context, Job, RankedImage):
        made = TypeAdapter(kind).json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        schemas |= made.pop("$defs", {}) | {kind.__name__: made}

    def query(name: str, kind: str = "string", *, needed: bool = True) -> dict[str, Any]:
        return {"name": name, "in": "query", "required": needed, "schema": {"type": kind}}

    def answer(**properties: Any) -> dict[str, Any]:  # noqa: ANN401
        shape = {"type": "object", "properties": {"schema": {"type": "integer"}, **properties}}
        return {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": shape}}},
            "default": {"description": "Problem details.", "content": {"application/problem+json": {}}},
        }

    def several(name: str) -> dict[str, Any]:
        return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}

    form = {
        "type": "object",
        "required": ["photos"],
        "properties": {
            "photos": {"type": "array", "items": {"type": "string", "format": "binary"}},
            "place": {"type": "string", "description": "City, country, US state, or latitude,longitude."},
            "date": {"type": "string", "description": "ISO 8601."},
        },
    }

    def lines(name: str) -> dict[str, Any]:
        row = {"allOf": [{"type": "object", "properties": {"schema": {"type": "integer"}}}, several(name)["items"]]}
        return {LINES: {"schema": row}}

    in_lines = answer()
    in_lines["200"]["content"] = lines("RankedImage")
    identified = answer(rows=several("Identification"))
    identified["200"]["content"] |= lines("Identification")
    named = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    paths = {
        "/api/v1/identify": {"post": {
            "summary": "Identify the species in photos.", "responses": identified,
            "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}}},
        }},
        "/api/v1/rerank": {"post": {
            "summary": "Rank the photos of jobs, each a line; their paths are below the folders of the server.",
            "requestBody": {"required": True, "content": {LINES: {"schema": several("Job")["items"]}}},
            "parameters": [query(name, needed=False) for name in RERANK_OPTIONS], "responses": in_lines,
        }},
        "/api/v1/search": {"get": {
            "summary": "Find species by a description.", "responses": answer(species=several("TaxonMatch")),
            "parameters": [query("q"), query("n", "integer", needed=False)],
        }},
        "/api/v1/species/{name}": {"get": {
            "summary": "Show a species or a term by its name or id.", "responses": answer(), "parameters": [named],
        }},
        "/api/v1/context": {"get": {
            "summary": "Explain the species and terms in a query.",
            "responses": {**answer(), "200": {"description": "The answer.", "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Context"}}}}},
            "parameters": [query("q")],
        }},
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fieldmark", "version": str(SCHEMA)},
        "paths": paths,
        "components": {"schemas": schemas},
    }


VIEWS: Final[Mapping[str, Callable[[Site, Request], Awaitable[Response]]]] = {
    "/api/v1/search": search,
    "/api/v1/species/{name}": species,
    "/api/v1/context": context,
    "/api/v1/openapi.json": description,
}
