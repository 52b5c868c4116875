"""What a build is asked for: which source, which pages, which taxa. Checked before anything is opened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from data.errors import UsageError
from data.records import Stage

SourceKind = Literal["wikipedia", "folder", "starter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """The arguments of `kb build` that choose what goes in.

    A list page, a category or a CSV of names chooses pages; taxa narrow the choice to what lies below them, and alone
    they choose everything below them. The starter and a folder of articles offer all they have, which taxa narrow too.

    Raises:
        UsageError: where the arguments contradict each other, or choose nothing.
    """

    source: str = "wikipedia"
    taxa: tuple[str, ...] = ()
    list_page: str | None = None
    category: str | None = None
    names: Path | None = None
    terms: Path | None = None
    limit: int | None = None
    only: Stage | None = None
    chroma: str | None = None
    """Where the collections go: the address of a server, or `folder`."""
    max_cost: float | None = None
    """US dollars that a model may cost."""
    is_offline: bool = False
    """Whether replies of models come from the cache alone."""
    is_dry_run: bool = False
    has_api_url: bool = False
    """Whether this command line, not a standing setting, names a wiki."""

    def __post_init__(self) -> None:
        kind, folder = self.kind, self.folder
        if kind == "folder" and folder is None:
            raise UsageError("--source folder: names no folder", hint="--source folder:DIR")
        choices = {"--list": self.list_page, "--category": self.category, "--names": self.names}
        given = [option for option, value in choices.items() if value is not None]
        for option in given:
            if choices[option] == "":
                raise UsageError(f"{option} is empty", hint="give the name of a page or category of the wiki")
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} contradict each other: each chooses the pages", hint="give one")
        if kind != "wikipedia":
            # The starter knowledge is chosen from by --taxon alone; a folder also by the names in a file.
            fitting = ("--names",) if kind == "folder" else ()
            for option in [*(o for o in given if o not in fitting), *(["--api-url"] if self.has_api_url else [])]:
                home = "a wiki or a folder" if option == "--names" else "a wiki"
                raise UsageError(f"{option} belongs to {home}, but --source is {self.source}")
        elif not given and not self.taxa and self.only in (None, "resolve"):
            hint = "--taxon Aves takes all birds; --list PAGE, --category C or --names CSV choose pages"
            raise UsageError("nothing says what to build", hint=hint)
        if self.chroma not in (None, "folder") and urlsplit(self.chroma).scheme not in ("http", "https"):
            raise UsageError(f"--chroma: expected http://HOST:PORT or folder, got {self.chroma!r}")
        if self.is_dry_run and self.only is not None:
            raise UsageError("--dry-run and --only contradict each other: a dry run runs no stage")

    @property
    def chroma_address(self) -> str | None:
        """The server's address, empty for the folder, None where the collections stay where they are."""
        return "" if self.chroma == "folder" else self.chroma

    @property
    def kind(self) -> SourceKind:
        """The kind of the source."""
        head = self.source.partition(":")[0]
        if head == "folder":
            return "folder"
        if self.source == "wikipedia":
            return "wikipedia"
        if self.source == "starter":
            return "starter"
        raise UsageError(f"unknown source {self.source!r}", hint="--source wikipedia, folder:DIR or starter")

    @property
    def folder(self) -> Path | None:
        """The folder of a folder source."""
        folder = self.source.partition(":")[2]
        return Path(folder).expanduser() if folder else None

    @property
    def default_path(self) -> Path:
        """Where the knowledge base goes when nobody says: `aves.kb` for Aves, in the working folder.

        A list, a category or a file of names gives its own name, whatever the taxa that narrow it.

        Raises:
            UsageError: if there is no single thing to name it after.
        """
        if self.kind == "starter" and not self.taxa:
            return Path("starter.kb")
        chosen = self.list_page or self.category or (self.names.stem if self.names else None)
        names = [chosen] if chosen else self.taxa
        slug = re.sub(r"[\W_]+", "-", names[0].lower()).strip("-") if len(names) == 1 else ""
        if not slug:
            raise UsageError("nothing says where to build", hint="--kb DIR")
        return Path(f"{slug}.kb")
