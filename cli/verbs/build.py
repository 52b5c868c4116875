"""`kb build`: a knowledge base from a wiki, a folder of articles, or the shipped knowledge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from cli.common import exit_codes, options, output, reports
from cli.common.engines import open_engine
from cli.common.language_models import estimate_fields, open_distiller, usage_fields
from cli.common.progress import named_calls
from cli.common.reports import note_group_once
from cli.common.settings import Settings
from cli.common.wiring import load_encoders, open_checklist, open_web
from cli.verbs.build_selection import BuildArguments
from data.errors import CostStop, MissingContact, SourceUnavailable, UnknownTaxon
from data.records import STAGES
from kb import reasons
from kb.distill.distiller_names import DISTILLERS
from kb.pipeline.settings import BuildSettings
from recognize.settings import PROFILES

if TYPE_CHECKING:
    from data.contracts import Checklist
    from kb.pipeline.selection import Selection
    from kb.sources.mediawiki.lookup_journal import LookupJournal


# Long: parse, wire, call and print; a part of it would take most of the options.
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
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Encoders of a new knowledge base.  [default: starter for birds, general for other groups]",
)
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
    given = BuildArguments(is_dry_run=dry_run, has_api_url=api_url is not None, **chosen)
    settings = options.settings(kb=kb, api_url=api_url, profile=profile, contact=contact, distiller=distiller)
    method = options.method_settings("build", BuildSettings)
    path = settings.kb or given.default_path
    with ExitStack() as stack:
        if dry_run:
            output.write(plan_text(given, settings, path, stack, max_cost=max_cost, offline=offline))
            return
        import kb as library
        from kb.checklist.names_table import unused_columns
        from kb.checklist.selection import limits_of
        from kb.pipeline.begin import profile_to_build
        from kb.pipeline.selection import require_species, with_names_as_checklist, with_profile
        from kb.store.status import family_coverage

        chosen_profile = profile_to_build(path, settings.profile)
        began = time.monotonic()
        distilling = stack.enter_context(open_distiller(settings, path, max_cost=max_cost, offline=offline))
        spaces = load_encoders(chosen_profile).anchor_spaces if given.kind == "starter" else ()
        meter = stack.enter_context(named_calls(quiet=options.invocation().quiet))
        journal = stack.enter_context(kept_look_ups(settings, path))
        selection = select(given, settings, stack, path, spaces=spaces, journal=journal, report=meter)
        if chosen_profile is None and given.kind != "starter":
            chosen_profile, selection = with_profile(selection)
        if given.names is not None:
            if unused := unused_columns(given.names):
                output.warn(f"{given.names}: columns that are not used: {', '.join(unused)}")
            if given.checklist is None:
                scratch = Path(stack.enter_context(TemporaryDirectory()))
                selection = with_names_as_checklist(selection, given.names, path, scratch)
        encoders = load_encoders(chosen_profile)
        stopped: CostStop | None = None
        try:
            status = library.build(
                path,
                (),
                selection.source,
                encoders,
                terms=selection.terms,
                located=selection.located,
                selection=selection.name,
                limit=given.limit,
                only=given.only,
                distiller=distilling.distiller,
                settings=method,
                checklist=selection.checklist,
                language=settings.language,
                progress=lambda stage: meter(stage.stage, stage.done, stage.total, stage.failed),
                engine=stack.enter_context(open_engine(settings)),
            )
        except CostStop as error:
            stopped = error
            with library.open(path) as store:
                status = store.status()
    if given.only is None and stopped is None:
        require_species(status, selection)
    seconds = f"{time.monotonic() - began:.1f}"
    with library.open(path) as store:
        coverage = reports.coverage_text(family_coverage(store.ledger))
    cost = {
        "with article": coverage,
        **usage_fields(distilling),
        "requests": selection.source.n_requests or None,
        "seconds": seconds,
    }
    output.write(reports.status_text(status, path, cost=cost))
    if selection.source.n_requests and (unread := _unread_text(path)):
        output.warn(unread)
    if not options.invocation().quiet:
        with library.open(path) as store:
            note_group_once(store, settings.home)
    limits = limits_of(selection.checklist) if selection.checklist is not None else ""
    if limits and reasons.NOT_IN_CHECKLIST in status.left_out and (given.kind == "folder" or given.names is not None):
        output.note(limits)
    if stopped is not None:
        raise stopped
    if status.failures:
        ctx.exit(exit_codes.PARTLY)


@contextmanager
def kept_look_ups(settings: Settings, path: Path) -> Iterator[LookupJournal]:
    """Open the journal of look-ups of this knowledge base; it stays only for a build that is stopped in its course."""
    from data.files import sha256_hex
    from kb.sources.mediawiki.lookup_journal import LookupJournal

    wiki = (settings.api_url or "").rpartition("@")[2]  # without user name and password
    name = sha256_hex(f"{path.resolve()} {wiki} {settings.language}")[:32]
    journal = LookupJournal(settings.home / "look-ups" / f"{name}.sqlite")
    try:
        yield journal
    except (SourceUnavailable, KeyboardInterrupt):
        journal.close()
        raise
    except BaseException:
        journal.remove()
        raise
    journal.remove()


# Long: a branch for each way to name the species of a build, which share the wiki that is opened.
def select(
    given: BuildArguments,
    settings: Settings,
    stack: ExitStack,
    path: Path,
    *,
    spaces: tuple[str, ...] = (),
    journal: LookupJournal | None = None,
    report: Callable[..., None] = lambda *_: None,
) -> Selection:
    """Open the source and return the selected species and pages."""
    from kb.pipeline import selection

    if given.only in ("encode", "index") and given.kind == "wikipedia":  # they need no wiki, so no contact address
        from kb.sources.own import OwnSource

        return selection.Selection(source=OwnSource(), located=(), name="")
    if given.kind == "starter":
        return selection.select_shipped(given.taxa, spaces=spaces)
    checklist = open_checklist(settings, given.checklist, path)
    from kb.checklist.avilist import load_checklist
    from kb.checklist.stored.of_species import is_of_build

    is_of_names = given.checklist is None and is_of_build(checklist)
    if is_of_names and given.names is not None:  # this table takes the place of the earlier one
        checklist = load_checklist()
    if given.pages is not None:
        return selection.select_pages(given.pages, path, lambda: open_web(settings, stack), checklist=checklist)
    if given.kind == "folder":
        folder = given.folder or Path()
        return selection.select_from_folder(
            folder, given.taxa, names=given.names, terms=given.terms, checklist=checklist
        )
    from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes
    from kb.sources.mediawiki.lookup_journal import LookupJournal
    from kb.sources.mediawiki.wiki_source import WikipediaSource

    def open_wiki() -> WikipediaSource:
        wiki = WikipediaSource(
            settings.api_url,
            contact=settings.contact,
            language=settings.language or _language_of(path),
            name_languages=(settings.language or _language_of(path), "en"),
            allow_any_licence=settings.licences == "any",
        )
        stack.callback(wiki.close)
        wiki.keep_look_ups(journal or LookupJournal(), report)
        return wiki

    def from_wiki(checklist: Checklist) -> Selection:
        return selection.select_from_wiki(
            open_wiki,
            given.taxa,
            list_page=given.list_page,
            category=given.category,
            names=given.names,
            terms=given.terms,
            checklist=checklist,
        )

    is_by_default = is_of_names or (given.checklist is None and bool(checklist.group))
    if is_by_default and (given.names is not None or not given.taxa):
        checklist = WithTaxoboxes(checklist)  # pages of other groups state their species themselves
    try:
        return from_wiki(checklist)
    except UnknownTaxon as unlisted:
        if not is_by_default:
            raise
        try:
            found = from_wiki(WikiChecklist())
        except MissingContact as error:
            output.note(f"The wiki was not asked for {', '.join(given.taxa)}: {error} {error.hint}")
        except UnknownTaxon as missing:
            where = f"{checklist.name}, nor in {missing.where}"
            raise UnknownTaxon(
                missing.name, suggestions=unlisted.suggestions, where=where, limits=missing.limits
            ) from None
        else:
            output.note(f"{', '.join(given.taxa)}: not in {checklist.name}, so taxoboxes of the wiki name the species.")
            return found
        raise


def _unread_text(path: Path) -> str:
    """Return a sentence on articles in languages that their distiller does not read."""
    import kb
    from kb.lookup.species_list import unread_text

    with kb.open(path) as store:
        return unread_text(store)


def _language_of(path: Path) -> str:
    """Return the language of the knowledge base at `path`; English if there is none."""
    from kb.store.layout import Layout

    layout = Layout(path)
    return layout.require().language if layout.toml.exists() else "en"


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
