"""`kb build`: a knowledge base from a wiki, a folder of articles, or the shipped knowledge."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from cli.common import exit_codes, options, output, reports
from cli.common.language_models import estimate_fields, open_distiller, usage_fields
from cli.common.progress import Meter, named_calls
from cli.common.settings import Settings
from cli.common.wiring import load_encoders, open_engine
from cli.verbs.build_selection import BuildArguments, kept_look_ups, select
from data.errors import CostStop, SourceUnavailable
from data.records import STAGES
from kb import reasons
from kb.distill.distiller_names import DISTILLERS
from kb.pipeline.settings import BuildSettings

if TYPE_CHECKING:
    from data.contracts import Encoders
    from data.records import Status
    from kb.distill.distillers import AnyDistiller
    from kb.pipeline.selection import Selection


@click.command()
@click.option("--taxon", "taxa", multiple=True, metavar="T",
              help="Class, order, family, genus or species by any name; may be repeated.")  # fmt: skip
@click.option("--kb", type=click.Path(path_type=Path), metavar="DIR",
              help="Knowledge base.  [default: FIELDMARK_KB, else a name from T, PAGE, NAME or CSV]")  # fmt: skip
@click.option("--source", default="wikipedia", show_default=True, metavar="wikipedia|folder:DIR|starter",
              help="Source of the articles.")  # fmt: skip
@options.wiki_options
@click.option("--list", "list_page", metavar="PAGE", help="Take the species linked from a list page.")
@click.option("--category", metavar="NAME", help="Take the species in a category of the wiki.")
@click.option("--names", type=options.FILE, metavar="CSV", help="Take the species named in a CSV file.")
@click.option("--terms", type=options.FILE, metavar="FILE",
              help="Also take terms: one a line, optionally a tab and the title of its page.")  # fmt: skip
@click.option("--pages", type=options.FILE, metavar="CSV",
              help="Take web pages and files instead: a species or term, and an address, in each row.")  # fmt: skip
@options.checklist_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Maximum number of species.")
@options.profile_option
@click.option("--only", type=click.Choice(STAGES), metavar="STAGE", help=f"Run one stage: {', '.join(STAGES)}.")
@click.option("--distiller", type=click.Choice(DISTILLERS),
              help="Writer of the summaries; the models need [llm.text].  "
              "[default: extractive, until a build chooses another]")  # fmt: skip
@options.cost_options
@click.option("--dry-run", is_flag=True, help="Print the size and model cost of the build; write nothing.")
@click.pass_context
def build(
    ctx: click.Context,
    /,
    kb: Path | None,
    api_url: str | None,
    contact: str | None,
    profile: str | None,
    distiller: str | None,
    max_cost: float | None,
    offline: bool,
    dry_run: bool,
    **chosen: Any,  # noqa: ANN401  # checked by click
) -> None:
    """Build a knowledge base from a wiki, a folder of articles or the shipped knowledge.

    It finds the articles, distils descriptions, downloads free photos, encodes and indexes. An interrupted build
    resumes when it is run again; a second run fetches only what is new. Photos with a free licence are taken from the
    English Wikipedia; --language CODE and --set licences=any change that.

    Web pages (--pages) add to the texts of their species; photos are not taken from them.

    Example: kb build --taxon Aves --kb birds.kb --contact you@example.org
    """
    import kb as library
    from kb.checklist.selection import limits_of
    from kb.lookup.entries import unread_text
    from kb.pipeline.selection import require_species
    from kb.store.status import family_coverage

    given = BuildArguments(is_dry_run=dry_run, has_api_url=api_url is not None, **chosen)
    settings = options.settings(kb=kb, api_url=api_url, profile=profile, contact=contact, distiller=distiller)
    options.method_settings("build", BuildSettings)  # to report invalid ones before the first request
    path = settings.kb or given.default_path
    began = time.monotonic()
    with ExitStack() as stack:
        if dry_run:
            output.write(plan_text(given, settings, path, stack, max_cost=max_cost, offline=offline))
            return
        distilling = stack.enter_context(open_distiller(settings, path, max_cost=max_cost, offline=offline))
        meter = stack.enter_context(named_calls(quiet=options.invocation().quiet))
        selection, encoders = _selected(given, settings, path, stack, meter)
        stopped: CostStop | None = None
        try:
            status = _built(given, settings, path, selection, encoders, distilling.distiller, stack, meter)
        except CostStop as error:
            stopped = error
            with library.open(path) as store:
                status = store.status()
    if given.only is None and stopped is None:
        require_species(status, selection)
    with library.open(path) as store:
        cost = {
            "with article": reports.coverage_text(family_coverage(store.ledger)),
            **usage_fields(distilling),
            "requests": selection.source.n_requests or None,
            "seconds": f"{time.monotonic() - began:.1f}",
        }
        output.write(reports.status_text(status, path, cost=cost))
        if selection.source.n_requests and (unread := unread_text(store)):
            output.warn(unread)
        if not options.invocation().quiet:
            reports.note_group_once(store, settings.home)
    limits = limits_of(selection.checklist) if selection.checklist is not None else ""
    if limits and reasons.NOT_IN_CHECKLIST in status.left_out and (given.kind == "folder" or given.names is not None):
        output.note(limits)
    if stopped is not None:
        raise stopped
    if status.failures:
        ctx.exit(exit_codes.PARTLY)


def _selected(
    given: BuildArguments, settings: Settings, path: Path, stack: ExitStack, meter: Meter
) -> tuple[Selection, Encoders]:
    """Return the species and pages of a build, with its checklist, and the encoders of the knowledge base."""
    from kb.checklist.names_table import unused_columns
    from kb.pipeline.begin import profile_to_build
    from kb.pipeline.selection import with_names_as_checklist, with_profile

    profile = profile_to_build(path, settings.profile)
    spaces = load_encoders(profile).anchor_spaces if given.kind == "starter" else ()
    journal = stack.enter_context(kept_look_ups(given, settings, path))
    selection = select(given, settings, stack, path, spaces=spaces, journal=journal, report=meter)
    if profile is None and given.kind != "starter":
        profile, selection = with_profile(selection)
    if given.names is not None:
        if unused := unused_columns(given.names):
            output.warn(f"{given.names}: columns that are not used: {', '.join(unused)}")
        if given.checklist is None:
            scratch = Path(stack.enter_context(TemporaryDirectory()))
            selection = with_names_as_checklist(selection, given.names, path, scratch)
    return selection, load_encoders(profile)


def _built(
    given: BuildArguments,
    settings: Settings,
    path: Path,
    selection: Selection,
    encoders: Encoders,
    distiller: AnyDistiller,
    stack: ExitStack,
    meter: Meter,
) -> Status:
    import kb as library

    try:
        return library.build(
            path,
            (),
            selection.source,
            encoders,
            terms=selection.terms,
            located=selection.located,
            selection=selection.name,
            limit=given.limit,
            only=given.only,
            distiller=distiller,
            settings=options.method_settings("build", BuildSettings),
            checklist=selection.checklist,
            language=settings.language,
            progress=lambda stage: meter(stage.stage, stage.done, stage.total, stage.failed),
            engine=stack.enter_context(open_engine(settings)),
        )
    except (KeyboardInterrupt, SourceUnavailable):
        output.note(kept_text(path))
        raise


def kept_text(path: Path) -> str:
    """Return what an interrupted build has finished."""
    from kb.store.layout import Layout
    from kb.store.ledger import ledger_so_far

    with ledger_so_far(Layout(path).ledger) as ledger:
        n = {} if ledger is None else {stage: ledger.n_done(stage) for stage in ("fetch", "distil", "anchor")}
    found = {"{:,} articles": n.get("fetch"), "{:,} distilled": n.get("distil"), "photos of {:,}": n.get("anchor")}
    return f"Kept so far: {', '.join(text.format(count) for text, count in found.items() if count) or 'nothing'}."


def plan_text(
    given: BuildArguments,
    settings: Settings,
    path: Path,
    stack: ExitStack,
    *,
    max_cost: float | None,
    offline: bool,
) -> str:
    """Return the size and cost of a build; pages are looked up, but nothing is fetched or written."""
    from kb.distill.model import ModelDistiller
    from kb.pipeline.estimate import estimate_distilling
    from kb.pipeline.selection import preview

    with named_calls(quiet=options.invocation().quiet) as meter:
        selection = select(given, settings, stack, path, report=meter)
        found = preview(selection, limit=given.limit)
    n_photos = options.method_settings("build", BuildSettings).anchors_per_species * found.n_pages
    fields: dict[str, object] = {
        "would build": str(path),
        "source": selection.source.name,
        "taxa looked up": found.n_taxa,
        "pages found": found.n_pages,
        "left out": reports.by_reason(found.left_out),
        "requests": selection.source.n_requests or None,
        "to download": f"{found.n_pages:,} articles, up to {n_photos:,} photos" if given.kind == "wikipedia" else None,
    }
    dry = open_distiller(settings, path, max_cost=max_cost, offline=offline, is_dry_run=True)
    distilling = stack.enter_context(dry)
    if distilling.chat is not None and isinstance(distilling.distiller, ModelDistiller):
        endpoint = distilling.chat.endpoint
        fields |= estimate_fields(
            estimate_distilling(path, selection.source, distilling.distiller, endpoint, n_pages=found.n_pages)
        )
    return output.as_fields(fields) + "\nNothing was written."
