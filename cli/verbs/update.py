"""`kb update`: changes at the sources of a knowledge base."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.language_models import open_distiller, usage_fields
from cli.common.output import stage_progress
from cli.common.reports import failure_lines
from cli.common.wiring import open_engine
from kb.addresses import shown_address
from kb.pipeline.settings import BuildSettings

if TYPE_CHECKING:
    from data.records import Update
    from kb.sources.article_source import ArticleSource


@click.command()
@options.kb_option(needed=True)
@click.option("--contact", metavar="ADDRESS", help="Your address for the User-Agent; Wikimedia requires one.")
@click.option("--api-url", metavar="URL",
              help="The wiki's api.php, which alone gets a login; the knowledge base records none.")  # fmt: skip
@click.option("--source", "kinds", multiple=True, type=click.Choice(["wikipedia", "folder", "starter", "web"]),
              help="Kind of source to update from; may be repeated.  [default: all]")  # fmt: skip
@options.cost_options
@options.format_option("text", "json")
@click.pass_context
def update(
    ctx: click.Context,
    kb: Path | None,
    contact: str | None,
    api_url: str | None,
    kinds: tuple[str, ...],
    max_cost: float | None,
    offline: bool,
    form: str,
) -> None:
    """Fetch what changed: new revisions, moved or deleted pages, replaced photos.

    The knowledge base records its wiki and distiller. Revisions are requested for 50 pages at a time; an unchanged page
    is neither fetched nor distilled. New species are left to kb build; your own additions and removals stay.

    Example: kb update --kb birds.kb --contact you@example.org
    """
    import kb as library
    from kb.pipeline.updater import origins_to_update
    from kb.sources.reopen import reopened

    settings = options.settings(kb=kb, contact=contact, api_url=api_url)
    method = options.method_settings("build", BuildSettings)
    path = wiring.required_path(settings)
    with library.open(path) as store:
        origins, profile = origins_to_update(store, kinds), store.info.profile
    options.keep_command(path, settings.home)
    wiring.checklist_of(settings, path)  # for its note: names are not looked up again
    began = time.monotonic()
    with ExitStack() as stack:
        encoders = wiring.load_encoders(profile)
        own = replace(settings, distiller=None)  # the knowledge base has its own
        distilling = stack.enter_context(open_distiller(own, path, max_cost=max_cost, offline=offline))
        sources: list[ArticleSource] = []
        for origin in origins:
            recorded = origin.get("api_url")  # of a wiki
            is_named = bool(recorded) and (bool(api_url) or recorded == shown_address(settings.api_url or ""))
            source = reopened(
                origin,
                contact=settings.contact,
                api_url=settings.api_url if is_named else None,
                login=wiring.wiki_login(settings) if is_named else None,
                spaces=encoders.anchor_spaces,
                pages=settings.pages,
            )
            sources.append(stack.enter_context(closing(source)))
        progress = stack.enter_context(stage_progress(quiet=options.invocation().quiet))
        found = library.update(
            path,
            sources,
            encoders,
            distiller=distilling.distiller,
            settings=method,
            progress=progress,
            engine=stack.enter_context(open_engine(settings)),
        )
    seconds = time.monotonic() - began
    output.write_record(form, found, lambda: update_text(found, usage_fields(distilling), seconds=seconds))
    if found.failures:
        ctx.exit(exit_codes.PARTLY)


def update_text(found: Update, model: Mapping[str, object], *, seconds: float) -> str:
    """Return the changes, one a line, and the cost of the update; `model` is the share of the language model."""
    kinds = Counter(change.kind for change in found.changes)
    fields = {
        "pages checked": f"{found.checked:,}",
        "changes": ", ".join(f"{kind} {n:,}" for kind, n in kinds.items()) or "none",
        "requests": f"{found.requests:,}",
        "photos downloaded": f"{found.photos:,}",
        "texts distilled": f"{found.distilled:,}",
        "model calls": f"{found.model_calls:,}",
        **model,
        "failures": len(found.failures) or None,
        "seconds": f"{seconds:.1f}",
    }
    parts = [output.as_fields(fields)]
    if found.changes:
        rows = [(change.name, change.kind, change.detail) for change in found.changes]
        parts.append(output.as_table(["name", "change", "detail"], rows))
    return "\n".join([*parts, *failure_lines(found.failures)])
