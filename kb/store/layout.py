"""Files and folders of a knowledge base, and its description `kb.toml`, with the copy of it in the ledger."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal, get_args

from data.codec import from_json
from data.contracts import Encoders
from data.errors import ConfigError, MissingKnowledgeBase, StoreError, UsageError
from data.files import PART, ContentFolder, remove_parts, sha256_hex, write_atomic
from data.words import nearest
from kb.store.ledger import Ledger

SCHEMA_VERSION = 2  # of `kb.toml`; a folder of another form is known by its ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBaseInfo:
    """Contents of `kb.toml`. `id` distinguishes its collections on a shared Chroma server."""

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
    """Address of a Chroma server; empty for an embedded Chroma in the folder."""
    checklist: str = ""
    """Name and edition of the checklist of the last build; empty if it is not known."""
    checklist_digest: str = ""
    """SHA-256 of the checklist's files."""

    @property
    def language(self) -> str:
        """The language of the last build, in which names are shown."""
        return self.languages[0] if self.languages else "en"

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces, each once: text-image, visual, sentence."""
        return tuple(dict.fromkeys((*self.text_image, self.visual, self.sentence)))

    @property
    def anchor_spaces(self) -> tuple[str, ...]:
        """The spaces that hold vectors of anchors."""
        return tuple(dict.fromkeys((*self.text_image, self.visual)))


def new_info(encoders: Encoders, *, source: str, languages: tuple[str, ...] = ("en",)) -> KnowledgeBaseInfo:
    """Return the description of a new knowledge base."""
    return KnowledgeBaseInfo(
        id=secrets.token_hex(6),
        schema=SCHEMA_VERSION,
        profile=encoders.profile,
        source=source,
        languages=languages,
        text_image=tuple(encoder.space for encoder in encoders.text_image),
        visual=encoders.visual.space,
        sentence=encoders.sentence.space,
    )


def space_slug(space: str) -> str:
    """Return the name of a space in collections and files: a slug and 12 hex digits of its hash."""
    slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:40].strip("-")
    return f"{slug}-{sha256_hex(space)[:12]}"


CollectionKind = Literal["chunks", "anchors", "species", "terms"]
KINDS: tuple[CollectionKind, ...] = get_args(CollectionKind)


def collection_name(kind: CollectionKind, space: str) -> str:
    """Return the name of a collection."""
    return f"{kind}-{space_slug(space)}"


def collection_names(info: KnowledgeBaseInfo) -> dict[str, tuple[CollectionKind, str]]:
    """Return name -> (kind, space) of all collections of a knowledge base."""
    pairs: set[tuple[CollectionKind, str]] = {("chunks", space) for space in info.text_image}
    pairs |= {("anchors", space) for space in info.anchor_spaces}
    pairs |= {("species", info.sentence), ("terms", info.sentence)}
    return {collection_name(kind, space): (kind, space) for kind, space in sorted(pairs)}


def subject_kind(kind: CollectionKind) -> Literal["taxon", "term"]:
    """Return the kind of subject in collections of a kind."""
    return "term" if kind == "terms" else "taxon"


class Layout:
    """Paths of a knowledge base."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.toml = root / "kb.toml"
        self.vectors = root / "vectors"
        self.kept = root / "kept"
        self.ledger = root / "ledger.sqlite"
        self.cache = root / "cache"
        self.checklist = root / "checklist.sqlite"
        self.runs = root / "runs"
        self.lock = root / ".lock"
        self.articles = ContentFolder(root / "articles", suffix=".gz")
        self.anchors = ContentFolder(root / "anchors")

    def require(self) -> KnowledgeBaseInfo:
        """Return the contents of `kb.toml`.

        Raises:
            MissingKnowledgeBase: if there is no knowledge base.
        """
        if not self.toml.is_file():
            if self.ledger.is_file():
                hint = f"kb verify --kb {self.root} restores it"
                raise MissingKnowledgeBase(self.root, why="kb.toml is missing", hint=hint)
            near = [str(path) for path in similar_knowledge_bases(self.root)]
            did_you_mean = f"Did you mean {' or '.join(near)}?" if near else None
            if self.root.is_file():
                folder = "--kb takes the folder of a knowledge base."
                raise MissingKnowledgeBase(self.root, why="A file, not a knowledge base,", hint=did_you_mean or folder)
            why = "No knowledge base (kb.toml is missing)" if self.root.is_dir() else "No knowledge base"
            raise MissingKnowledgeBase(self.root, why=why, hint=did_you_mean)
        return parse_info(self.toml.read_text(encoding="utf-8", errors="replace"), self.toml)

    @property
    def profile(self) -> str | None:
        """The profile of the knowledge base, or None if there is none yet."""
        return self.require().profile if self.toml.exists() else None

    def claim(self) -> None:
        """Create the folder.

        Raises:
            UsageError: if it holds files and no knowledge base.
            MissingKnowledgeBase: if it is a knowledge base without `kb.toml`.
        """
        if self.root.exists() and not self.root.is_dir():
            raise UsageError(f"{self.root} is a file, expected a folder or nothing")
        if self.root.is_dir() and not self.toml.exists():
            others = {path.name for path in self.root.iterdir()} - {".lock"}
            if self.ledger.name in others:
                self.require()
            # A build killed at its start leaves `.part-` files; another builder may have made `kb.toml` meanwhile.
            if any(not name.startswith(PART) for name in others) and not self.toml.exists():
                raise UsageError(
                    f"{self.root} holds other files and no knowledge base", hint="Name an empty or new folder."
                )
        self.root.mkdir(parents=True, exist_ok=True)

    def remove_leftovers(self) -> None:
        """Delete the partial files that killed writers left; only for the holder of the writer's lock."""
        for part in self.vectors.glob(f"{PART}*"):
            shutil.rmtree(part, ignore_errors=True)
        for contents in (self.articles, self.anchors):
            contents.remove_leftovers()
        for folder in (self.root, self.kept, self.runs):
            remove_parts(folder)


def similar_knowledge_bases(root: Path) -> list[Path]:
    """Return at most three knowledge bases beside a path, with the names most like its own."""
    try:
        beside = {path.parent.name: path.parent for path in root.absolute().parent.glob("*/kb.toml")}
    except OSError:  # an unreadable folder
        return []
    return [root.with_name(name) for name in nearest(root.name, beside, 3)]


def parse_info(text: str, path: Path) -> KnowledgeBaseInfo:
    """Return the contents of a `kb.toml`; errors name `path`.

    Raises:
        ConfigError: if it is not TOML, or a key is missing, unknown or of the wrong type.
        StoreError: if it was written by another schema version.
    """
    hint = "kb verify restores it from the ledger"
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # RecursionError: nested without end
        raise ConfigError(f"{path}: not TOML: {error}", hint=hint) from error
    if table.get("schema") != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema {table.get('schema')!r}, expected {SCHEMA_VERSION}",
            hint="Build it again with this version, in a new folder.",
        )
    known = {field.name for field in fields(KnowledgeBaseInfo)}
    if unknown := sorted(table.keys() - known):
        raise ConfigError(f"{path}: unknown key {unknown[0]!r}, expected {', '.join(sorted(known))}", hint=hint)
    try:
        return from_json(KnowledgeBaseInfo, table)
    except StoreError as error:
        raise ConfigError(f"{path}: {error}", hint=hint) from error


def write_info(path: Path, info: KnowledgeBaseInfo) -> None:
    """Write `kb.toml`."""
    write_atomic(path, info_text(info).encode())


def info_text(info: KnowledgeBaseInfo) -> str:
    """Return the text of `kb.toml`."""
    lines = ["# Description of this knowledge base. Only `chroma` may be edited.", ""]
    for field in fields(info):
        value = getattr(info, field.name)
        # JSON strings, integers and lists of strings are valid TOML.
        lines.append(f"{field.name} = {json.dumps(list(value) if isinstance(value, tuple) else value)}")
    return "\n".join(lines) + "\n"


INFO = "kb.toml"  # fact with its text


def keep_info(ledger: Ledger, info: KnowledgeBaseInfo) -> None:
    """Copy `kb.toml` into the ledger, from which `verify` can restore it."""
    if ledger.fact(INFO) != info_text(info):
        ledger.set_fact(INFO, info_text(info))


def check_info(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
    """Raise `StoreError` if `kb.toml` differs from the ledger's copy in anything but `chroma`, which users may edit."""
    copied = ledger.fact(INFO)
    if copied is not None and replace(parse_info(copied, layout.toml), chroma=info.chroma) != info:
        raise StoreError(
            f"{layout.toml} is damaged: it differs from the ledger's copy",
            hint=f"kb verify --kb {layout.root} restores it",
        )
