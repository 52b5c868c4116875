"""Source, species and pages of `kb build`: arguments, checked before anything is opened, and their selection."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from cli.common import output
from cli.common.settings import Settings
from cli.common.wiring import open_checklist, open_web
from data.errors import MissingContact, SourceUnavailable, UnknownTaxon, UsageError
from data.records import Stage
from kb.checklist.wiki_checklist import WIKI

if TYPE_CHECKING:
    from data.cache_file import CacheFile
    from data.contracts import Checklist
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
    """Open the journal of look-ups of a wiki; it stays only for a build that is stopped in its course."""
    if given.kind != "wikipedia":
        yield None
        return
    from data.cache_file import CacheFile
    from data.files import sha256_hex

    wiki = (settings.api_url or "").rpartition("@")[2]  # without user name and password
    name = sha256_hex(f"{path.resolve()} {wiki} {settings.language}")[:32]
    file = settings.home / "look-ups" / f"{name}.sqlite"
    files = [file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm"))]
    changed = [each.stat().st_mtime for each in files if each.exists()]
    if changed and time.time() - max(changed) > OLDEST_S:
        _remove(files)
    try:
        with CacheFile(file) as journal:
            yield journal
    except (SourceUnavailable, KeyboardInterrupt):
        raise
    except BaseException:
        _remove(files)
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
    """Open the source and return the selected species and pages."""
    from kb.pipeline import selection

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
    from kb.sources.mediawiki.wiki_source import WikipediaSource

    def open_wiki() -> WikipediaSource:
        wiki = WikipediaSource(
            settings.api_url,
            contact=settings.contact,
            language=settings.language or _language_of(path),
            login=settings.wiki_login,
            name_languages=(settings.language or _language_of(path), "en"),
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
