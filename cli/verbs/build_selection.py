"""Source and selection of `kb build`, checked before anything is opened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from data.errors import UsageError
from data.records import Stage
from kb.checklist.wiki_checklist import WIKI

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
