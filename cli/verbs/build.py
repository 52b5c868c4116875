"""`kb build`: a knowledge base from a wiki, a folder of articles, or the shipped knowledge."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from cli.common import exit_codes, options, output, reports, wiring
from cli.common.language_models import estimate_fields, open_distiller, usage_fields
from cli.common.output import Meter, named_calls
from cli.common.settings import Settings
from cli.common.wiring import load_encoders, open_checklist, open_engine, open_web
from data.errors import CostStop, FieldmarkError, MissingContact, UnknownTaxon, UsageError
from data.records import STAGES, Stage
from kb import reasons
from kb.checklist.wiki_checklist import WIKI
from kb.distill import DISTILLERS
from kb.pipeline.settings import BuildSettings

if TYPE_CHECKING:
    from data.cache_file import CacheFile
    from data.contracts import Checklist, Encoders
    from kb.pipeline.selection import Selection

OLDEST_S: Final = 24 * 3600
"""Age at which the answers of an interrupted build are too old to go on with."""
SourceKind = Literal["wikipedia", "folder", "starter", "pages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildArguments:
    """Source, pages and taxa of a build.

    A list page, a category or a CSV of names chooses pages, and taxa narrow them; taxa alone choose everything below
    them. The shipped knowledge and a folder of articles are taken as a whole, or narrowed by taxa.

    Raises:
        UsageError: if the arguments contradict each other or choose nothing.
    """

    source: str = "wikipedia"
    taxa: tuple[str, ...] = ()
    list_page: str | None = None
    category: str | None = None
    names: Path | None = None
    terms: Path | None = None
    pages: Path | None = None
    checklist: str | None = None
    limit: int | None = None
    only: Stage | None = None
    is_dry_run: bool = False
    has_api_url: bool = False
    """Whether the command line, not a setting, names a wiki."""

    def __post_init__(self) -> None:
        kind, folder = self.kind, self.folder
        if kind == "pages":
            self._check_pages()
            return
        if kind == "folder" and folder is None:
            raise UsageError("--source folder: has no folder.", hint="Use --source folder:DIR.")
        choices = {"--list": self.list_page, "--category": self.category, "--names": self.names}
        given = [option for option, value in choices.items() if value is not None]
        for option in given:
            if choices[option] == "":
                raise UsageError(f"{option} is empty.", hint="Give the name of a page or category of the wiki.")
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} cannot be combined: each chooses the pages.", hint="Give one.")
        if kind == "starter" and self.checklist is not None:
            raise UsageError("--checklist needs a wiki or a folder as its source, but --source is starter.")
        if kind != "wikipedia" and self.checklist == WIKI:
            hint = "Name the species by --names CSV, or add a checklist: kb checklist add FILE."
            raise UsageError(f"--checklist wiki needs a wiki as its source, but --source is {self.source}.", hint=hint)
        if kind != "wikipedia":
            # The starter knowledge is chosen from by --taxon alone; a folder also by the names in a file.
            fitting = ("--names",) if kind == "folder" else ()
            for option in [*(o for o in given if o not in fitting), *(["--api-url"] if self.has_api_url else [])]:
                home = "a wiki or a folder" if option == "--names" else "a wiki"
                raise UsageError(f"{option} needs {home} as its source, but --source is {self.source}.")
        elif not given and not self.taxa and self.only in (None, "resolve"):
            hint = "For all birds: --taxon Aves. For other groups, add --checklist NAME|FILE|wiki."
            raise UsageError("Specify --taxon, --list, --category or --names.", hint=hint)
        if self.is_dry_run and self.only is not None:
            raise UsageError("--dry-run and --only cannot be combined: a dry run runs no stage.")

    def _check_pages(self) -> None:
        others = {
            "--taxon": self.taxa, "--list": self.list_page, "--category": self.category, "--names": self.names,
            "--terms": self.terms, "--api-url": self.has_api_url, "--source": self.source != "wikipedia",
            "--dry-run": self.is_dry_run, "--checklist wiki": self.checklist == WIKI,
        }  # fmt: skip
        for option, given in others.items():
            if given:
                hint = "Run two builds; both add to the knowledge base of --kb."
                raise UsageError(f"--pages and {option} cannot be combined.", hint=hint)

    @property
    def kind(self) -> SourceKind:
        """Kind of the source."""
        if self.pages is not None:
            return "pages"
        if self.source in ("wikipedia", "starter"):
            return "wikipedia" if self.source == "wikipedia" else "starter"
        if self.source.startswith("folder:"):
            return "folder"
        raise UsageError(f"Unknown source {self.source!r}.", hint="Use --source wikipedia, folder:DIR or starter.")

    @property
    def folder(self) -> Path | None:
        """Folder of a folder source."""
        folder = self.source.partition(":")[2]
        return Path(folder).expanduser() if folder else None

    @property
    def default_path(self) -> Path:
        """Folder of the knowledge base without --kb: `aves.kb` for Aves, in the working folder.

        A list, a category or a file of names gives its name, whatever the taxa.

        Raises:
            UsageError: if several taxa leave no single name.
        """
        if self.kind == "starter" and not self.taxa:
            return Path("starter.kb")
        table = self.pages or self.names
        chosen = self.list_page or self.category or (table.stem if table else None)
        names = [chosen] if chosen else self.taxa
        slug = re.sub(r"[\W_]+", "-", names[0].lower()).strip("-") if len(names) == 1 else ""
        if not slug:
            raise UsageError("The knowledge base has no name.", hint="Add --kb DIR.")
        return Path(f"{slug}.kb")


@contextmanager
def kept_look_ups(given: BuildArguments, settings: Settings, path: Path) -> Iterator[CacheFile | None]:
    """Open the journal of look-ups of a wiki, which stays until a build succeeds; a failed one says what is kept."""
    from data.cache_file import CacheFile
    from data.files import sha256_hex

    wiki = (settings.api_url or "").rpartition("@")[2]  # without user name and password
    name = sha256_hex(f"{path.resolve()} {wiki} {settings.language}")[:32]
    file = settings.home / "look-ups" / f"{name}.sqlite"
    is_wiki = given.kind == "wikipedia"
    files = [file.with_name(file.name + ending) for ending in ("", "-wal", "-shm")] if is_wiki else []
    changed = [each.stat().st_mtime for each in files if each.exists()]
    if changed and time.time() - max(changed) > OLDEST_S:
        _remove(files)
    with CacheFile(file) if is_wiki else nullcontext() as journal:
        try:
            yield journal
        except (FieldmarkError, KeyboardInterrupt):
            if kept := kept_text(path, journal):
                output.note(kept)
            raise
    _remove(files)


def _remove(files: list[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def select(
    given: BuildArguments,
    settings: Settings,
    stack: ExitStack,
    path: Path,
    *,
    spaces: tuple[str, ...] = (),
    journal: CacheFile | None = None,
    report: Callable[..., None] = lambda *_: None,
) -> Selection:
    """Open the source and return the selected species and pages; warn of the notes on a table of names."""
    from kb.pipeline import selection

    if given.names is not None:
        from kb.checklist.species_lists import read_list

        for note in read_list(given.names).notes:
            output.warn(f"{given.names}: {note}")
    if given.only in ("encode", "index") and given.kind == "wikipedia":  # they need no wiki, so no contact address
        from kb.sources.folder import OwnSource

        return selection.Selection(source=OwnSource(), located=(), name="")
    if given.kind == "starter":
        return selection.select_shipped(given.taxa, spaces=spaces)
    checklist = open_checklist(settings, given.checklist, path)
    from kb.checklist.avilist import load_checklist
    from kb.checklist.shelf import is_of_build

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
    is_by_default = is_of_names or (given.checklist is None and bool(checklist.group))
    return _from_wiki(
        given, settings, stack, path, checklist, is_by_default=is_by_default, journal=journal, report=report
    )


def _from_wiki(
    given: BuildArguments,
    settings: Settings,
    stack: ExitStack,
    path: Path,
    checklist: Checklist,
    *,
    is_by_default: bool,
    journal: CacheFile | None,
    report: Callable[..., None],
) -> Selection:
    """Return the selection from a wiki; a taxon that the default checklist lacks is looked for in its taxoboxes."""
    from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes
    from kb.pipeline import selection
    from kb.sources.mediawiki.wiki_client import WikiClient
    from kb.sources.mediawiki.wiki_source import WikipediaSource

    def open_wiki() -> WikipediaSource:
        language, login = settings.language or _language_of(path), wiring.wiki_login(settings)
        wiki = WikipediaSource(
            WikiClient(settings.api_url, contact=settings.contact, language=language, login=login),
            name_languages=(language, "en"),
            allow_any_licence=settings.licences == "any",
        )
        stack.callback(wiki.close)
        wiki.keep_look_ups(journal, report)
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


def _language_of(path: Path) -> str:
    """Return the language of the knowledge base at `path`; English if there is none."""
    from kb.store.layout import Layout

    layout = Layout(path)
    return layout.require().language if layout.toml.exists() else "en"


# Long: parse, wire, call and print.
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
    from kb.pipeline.selection import require_species
    from kb.store.status import family_coverage

    given = BuildArguments(is_dry_run=dry_run, has_api_url=api_url is not None, **chosen)
    settings = options.settings(kb=kb, api_url=api_url, profile=profile, contact=contact, distiller=distiller)
    method = options.method_settings("build", BuildSettings)  # invalid ones are reported before the first request
    path = settings.kb or given.default_path
    began = time.monotonic()
    stopped: CostStop | None = None
    try:
        with ExitStack() as stack:
            if dry_run:
                output.write(plan_text(given, settings, path, stack, max_cost=max_cost, offline=offline))
                return
            options.keep_command(path, settings.home)
            distilling = stack.enter_context(open_distiller(settings, path, max_cost=max_cost, offline=offline))
            meter = stack.enter_context(named_calls(quiet=options.invocation().quiet))
            selection, encoders = _selected(given, settings, path, stack, meter)
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
    except CostStop as error:  # outside the stack, so that the look-ups are kept
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
        output.write(reports.status_text(status, path, left_out=store.left_out(), cost=cost))
        if selection.source.n_requests and (unread := reports.unread_text(store)):
            output.warn(unread)
        if not options.invocation().quiet:
            reports.note_group_once(store, settings.home)
        unlisted = [name for name, reason, _ in store.left_out() if reason == reasons.NOT_IN_CHECKLIST]
    if (listed := selection.checklist) is not None and (given.kind == "folder" or given.names is not None):
        limits = limits_of(listed)
        if limits and any(not listed.suggest(name, 1) for name in unlisted):  # else they are misspelt
            output.note(limits)
    if stopped is not None:
        raise stopped
    if status.failures:
        ctx.exit(exit_codes.PARTLY)


def _selected(
    given: BuildArguments, settings: Settings, path: Path, stack: ExitStack, meter: Meter
) -> tuple[Selection, Encoders]:
    """Return the species and pages of a build, with its checklist, and the encoders of the knowledge base."""
    from kb.pipeline.builder import profile_to_build
    from kb.pipeline.selection import with_names_as_checklist, with_profile

    profile = profile_to_build(path, settings.profile)
    spaces = load_encoders(profile).anchor_spaces if given.kind == "starter" else ()
    journal = stack.enter_context(kept_look_ups(given, settings, path))
    selection = select(given, settings, stack, path, spaces=spaces, journal=journal, report=meter)
    if profile is None and given.kind != "starter":
        profile, selection = with_profile(selection)
    if given.names is not None and given.checklist is None:
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        selection = with_names_as_checklist(selection, given.names, path, scratch)
    return selection, load_encoders(profile)


def kept_text(path: Path, journal: CacheFile | None) -> str:
    """Return what a build that stopped in its course has finished; empty for nothing."""
    from kb.store.layout import Layout
    from kb.store.ledger import ledger_so_far

    found = {"look-ups": len(journal) if journal is not None else 0}
    with ledger_so_far(Layout(path).ledger) as ledger:
        if ledger is not None and ledger.fact("building") is not None:
            stages = {"articles": "fetch", "distilled": "distil", "searched for photos": "anchor"}
            found |= {noun: ledger.n_done(stage) for noun, stage in stages.items()}
    kept = ", ".join(f"{noun} {n:,}" for noun, n in found.items() if n)
    return f"Kept so far: {kept}." if kept else ""


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
