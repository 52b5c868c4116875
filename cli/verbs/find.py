"""`kb find`: photos of a folder for a text, a photo, or both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.output import named_calls
from cli.common.photo_folders import ENCODER_HELP, open_photos
from cli.common.rerank_resources import open_resources
from data.errors import UsageError
from data.words import plural
from kb.lookup.context_settings import ContextSettings
from rerank.methods import DEFAULT_RETRIEVER, N_FOUND, RETRIEVERS, make_retriever
from rerank.plan import plan_run
from rerank.settings import CaptionSettings, RerankSettings, VisretSettings

if TYPE_CHECKING:
    from data.contracts import ImageCollection
    from data.records import RankedImage

FORMATS: Final = ("table", "jsonl", "trec", "html")
LIKELY: Final = 50
"""Percent from which a photo is said to show a species."""


# Long: parse, wire, call and print.
@click.command()
@click.argument("query", nargs=-1)
@click.option("--images", type=click.Path(path_type=Path), metavar="FOLDER", required=True, help="Folder of photos.")
@click.option("--photo", type=options.FILE, metavar="FILE", help="Find photos like this one.")
@click.option("--top", "k", type=click.IntRange(1), metavar="K", default=N_FOUND, show_default=True,
              help="Number of photos.")  # fmt: skip
@click.option("--method", type=click.Choice(list(RETRIEVERS)), default=DEFAULT_RETRIEVER, show_default=True,
              help="Search method.")  # fmt: skip
@click.option("--encoder", metavar="NAME", help=ENCODER_HELP)
@options.kb_option("Knowledge base of the species that the query names.")
@options.cost_options
@options.format_option(*FORMATS)
@click.option("--output", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write to this file instead of stdout.")  # fmt: skip
@click.pass_context
def find(
    ctx: click.Context,
    /,
    query: tuple[str, ...],
    images: Path,
    photo: Path | None,
    k: int,
    method: str,
    encoder: str | None,
    kb: Path | None,
    max_cost: float | None,
    offline: bool,
    form: str,
    file: Path | None,
) -> None:
    """Find the photos of a folder that show what QUERY says, or that are like a photo.

    New and changed photos are indexed first. similarity compares the vectors of query and photo; if the query names
    species of the knowledge base, the recognizer judges the nearest photos. visret draws the query, rewrite has a model
    rewrite it, captions compares it with captions; their settings are those of kb rerank (--set
    visret.generator=anchors).

    Examples: kb find "a red bird with a black face" --images photos/; kb find --photo crest.jpg --images photos/
    """
    import asyncio

    from cli.common.named_species import named_search
    from data.records import Job
    from rerank.jobs import query_id_of
    from rerank.queries import check_length
    from rerank.reranker import Tally

    text = " ".join(" ".join(query).split())
    if not text and photo is None:
        raise UsageError("The query is empty.", hint='kb find "a red bird" --images photos/, or --photo FILE.')
    settings, quiet = options.settings(kb=kb), options.invocation().quiet
    methods = RerankSettings(
        captions=options.method_settings("rerank.captions", CaptionSettings),
        visret=options.method_settings("rerank.visret", VisretSettings),
    )
    plan = plan_run(method, methods, endpoints=settings.llm)
    name, reference = ("", None) if photo is None else (photo.stem, str(photo.absolute()))
    job = Job(query_id=query_id_of(text or name), text=text, candidates=(), reference_image=reference)
    made = wiring.load_text_image_encoder(encoder or settings.profile)
    with ExitStack() as stack:
        collection = stack.enter_context(open_photos(images, made, settings, quiet=quiet))
        if collection.update.n_new and not quiet:
            output.note(f"{collection.update.n_new:,} new or changed photos indexed")
        given, costs = stack.enter_context(
            open_resources(settings, plan, context=ContextSettings(), max_cost=max_cost, offline=offline, encoder=made)
        )
        tally = Tally()

        def note_counts() -> None:
            if (counts := [*tally.lines(), *costs(1)]) and not quiet:
                output.note("; ".join(counts))

        stack.callback(note_counts)  # below the progress, and also after a failure: its calls may have cost money
        progress = stack.enter_context(named_calls(quiet=quiet))
        resources = replace(
            given,
            encoders=(made,),
            on_progress=lambda done, total, failed: progress("captions", done, total, failed),
        )
        if method == DEFAULT_RETRIEVER:
            check_length(job, made)
        is_plain = method == DEFAULT_RETRIEVER and photo is None
        named = named_search(settings, job, collection, made, stack, quiet=quiet) if is_plain else None
        retriever, *notes = named or (make_retriever(method, collection, resources),)
        for note in notes:
            output.note(note)
        tally = getattr(retriever, "tally", tally)
        rows = asyncio.run(retriever.find(job, k))
        if method in ("visret", "rewrite") and rows and rows[0].evaluation:
            notes.append(rows[0].evaluation)  # of the query, the same in all rows
            output.note(notes[-1])
        if named is not None and rows and rows[0].score < LIKELY:
            notes.append(f"no photo is likely to show it: {rows[0].score:.0f} % at best")
            output.note(notes[-1])
        title = text if photo is None else f"{text} + {photo.name}" if text else f"photos like {photo.name}"
        text = _text(rows, collection, form=form, title=title, notes=notes, tag=f"fieldmark-{method}")
    if file is None:
        output.write_rows(text)
    else:
        from data.files import write_atomic

        write_atomic(file, text.encode("utf-8", "surrogateescape"))
    for line in tally.warnings():
        output.warn(line)
    if not tally.is_complete:
        ctx.exit(exit_codes.PARTLY)


def _text(
    rows: Sequence[RankedImage], collection: ImageCollection, *, form: str, title: str, notes: Sequence[str], tag: str
) -> str:
    if form == "jsonl":
        from data.codec import to_json

        found = ({**to_json(row), "path": str(collection.path(row.image_id))} for row in rows)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
    if form == "trec":
        from rerank.jobs import trec_lines

        return "".join(f"{line}\n" for line in trec_lines(rows, tag=tag))
    if form == "html":
        from cli.common.contact_sheet import SheetPhoto, contact_sheet
        from rerank.jobs import path_of_id

        photos = [
            SheetPhoto(
                path=collection.path(row.image_id), number=row.rank, name=path_of_id(row.image_id), score=row.score
            )
            for row in rows
        ]
        n = f"{plural(len(rows), 'photo')} of {len(collection.ids):,}"
        return contact_sheet(title, [n, *notes], photos)
    table = [(row.rank, row.score, str(collection.path(row.image_id))) for row in rows]
    return output.as_table(["rank", "score", "photo"], table, right=["rank", "score"]) + "\n"
