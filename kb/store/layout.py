"""Files and folders of a knowledge base, and its description `kb.toml`."""

from __future__ import annotations

import json
import re
import secrets
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from data.codec import from_json
from data.errors import ConfigError, MissingKnowledgeBase, StoreError, UsageError
from data.files import ContentFolder, sha256_hex, write_atomic

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBaseInfo:
    """Contents of `kb.toml`. `id` tells the collections from others on a shared Chroma server."""

    id: str
    schema: int
    profile: str
    source: str
    languages: tuple[str, ...]
    text_image: tuple[str, ...]
    """Spaces of the text-image encoders."""
    visual: str
    sentence: str
    chroma: str = ""
    """Address of a Chroma server; empty for the one in the folder."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces, each once: text-image, visual, sentence."""
        return tuple(dict.fromkeys((*self.text_image, self.visual, self.sentence)))

    @property
    def anchor_spaces(self) -> tuple[str, ...]:
        """The spaces that hold vectors of anchors."""
        return tuple(dict.fromkeys((*self.text_image, self.visual)))


def new_id() -> str:
    """Return a fresh id for a knowledge base."""
    return secrets.token_hex(6)


def space_slug(space: str) -> str:
    """Return the name of a space in collections and files: lower-case slug and 12 hex digits of the whole.

    Example:
        >>> space_slug("Starter/1")
        'starter-1-0d8a711b155f'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:40].strip("-")
    return f"{slug}-{sha256_hex(space)[:12]}"


CollectionKind = Literal["chunks", "anchors", "species", "terms"]
KINDS: tuple[CollectionKind, ...] = get_args(CollectionKind)


def collection_name(kind: CollectionKind, space: str) -> str:
    """Return the name of the collection that holds the vectors of one kind of thing in one space."""
    return f"{kind}-{space_slug(space)}"


def collection_names(info: KnowledgeBaseInfo) -> dict[str, tuple[CollectionKind, str]]:
    """Return collection name -> (kind, space) of all collections that a knowledge base has, sorted by name."""
    pairs: set[tuple[CollectionKind, str]] = {("chunks", space) for space in info.text_image}
    pairs |= {("anchors", space) for space in info.anchor_spaces}
    pairs |= {("species", info.sentence), ("terms", info.sentence)}
    return {collection_name(kind, space): (kind, space) for kind, space in sorted(pairs)}


class Layout:
    """The paths of a knowledge base."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.toml = root / "kb.toml"
        self.chroma = root / "chroma"
        self.ledger = root / "ledger.sqlite"
        self.cache = root / "cache"
        self.calibration = root / "calibration"
        self.runs = root / "runs"
        self.lock = root / ".lock"
        self.cache_lock = root / ".cache-lock"
        self.articles = ContentFolder(root / "articles", suffix=".gz")
        self.anchors = ContentFolder(root / "anchors")

    def require(self) -> KnowledgeBaseInfo:
        """Return what the knowledge base is.

        Raises:
            MissingKnowledgeBase: if there is none.
        """
        if not self.toml.is_file():
            if self.ledger.is_file():
                hint = f"kb verify --kb {self.root} writes it again"
                raise MissingKnowledgeBase(self.root, why="kb.toml is missing", hint=hint)
            why = "No knowledge base (kb.toml is missing)" if self.root.is_dir() else "No knowledge base"
            raise MissingKnowledgeBase(self.root, why=why)
        return read_info(self.toml)

    @property
    def profile(self) -> str | None:
        """The profile of the knowledge base; None where there is none yet."""
        return self.require().profile if self.toml.exists() else None

    def claim(self) -> None:
        """Make the folder.

        Raises:
            UsageError: if something that is no knowledge base lies there; we never write into foreign folders.
            MissingKnowledgeBase: if it is one that has lost its `kb.toml`.
        """
        if self.root.exists() and not self.root.is_dir():
            raise UsageError(f"{self.root} is a file, expected a folder or nothing")
        if self.root.is_dir() and not self.toml.exists():
            strangers = {path.name for path in self.root.iterdir()} - {".lock"}
            # A build that was killed right after it began leaves a lock and perhaps a partial kb.toml.
            if self.ledger.name in strangers:
                self.require()
            if any(not name.startswith(".part-") for name in strangers):
                raise UsageError(
                    f"{self.root} holds other files and no knowledge base", hint="name an empty or new folder"
                )
        self.root.mkdir(parents=True, exist_ok=True)


def read_info(path: Path) -> KnowledgeBaseInfo:
    """Return what `kb.toml` says.

    Raises:
        ConfigError: if it is not TOML, or a key is missing, unknown or of another type.
        StoreError: if it was written by another schema version.
    """
    try:
        return parse_info(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}", hint="kb verify restores it from the ledger") from error


def parse_info(text: str, path: Path) -> KnowledgeBaseInfo:
    """Return what the text of the `kb.toml` at `path` says; raises as `read_info`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}", hint="kb verify restores it from the ledger") from error
    if table.get("schema") != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema {table.get('schema')!r}, expected {SCHEMA_VERSION}",
            hint="build it again with this version, in a new folder",
        )
    known = {field.name for field in fields(KnowledgeBaseInfo)}
    if unknown := sorted(table.keys() - known):
        raise ConfigError(
            f"{path}: unknown key {unknown[0]!r}, expected {', '.join(sorted(known))}",
            hint="kb verify restores it from the ledger",
        )
    try:
        return from_json(KnowledgeBaseInfo, table)
    except StoreError as error:
        raise ConfigError(f"{path}: {error}") from error


def write_info(path: Path, info: KnowledgeBaseInfo) -> None:
    """Write `kb.toml`."""
    write_atomic(path, info_text(info).encode())


def info_text(info: KnowledgeBaseInfo) -> str:
    """Return the text of `kb.toml`."""
    lines = ["# What this knowledge base is. Only `chroma` is meant to be changed by hand.", ""]
    for field in fields(info):
        value = getattr(info, field.name)
        # JSON strings, integers and lists of strings are TOML as well.
        lines.append(f"{field.name} = {json.dumps(list(value) if isinstance(value, tuple) else value)}")
    return "\n".join(lines) + "\n"
