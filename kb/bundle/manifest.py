"""Format of a bundle: a knowledge base as a folder of Parquet tables and images for other programs.

    OUT/
      README.md                 dataset card, which you may edit
      manifest.json             format, encoder spaces, digest, size and sha256 of every file except the card
      images/SPECIES/HASH.jpg   reference photos; names and credits in images/metadata.parquet (an imagefolder)
      species.parquet           a row per species: names, lineage, summary, source
      terms.parquet             a row per term
      articles.parquet          the texts behind the summaries, by sha256
      vectors/COLLECTION.parquet, calibration/PRESET.json     optional
      checklist/about.parquet, taxa.parquet, names.parquet    optional: what is kept of the checklist, for later builds
      ledger/subjects.parquet, steps.parquet, left_out.parquet     for later builds and updates

Bundles are not trusted: no path leaves the folder, no file is a link, and each is compared with the manifest.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from data.codec import from_json, parse_json
from data.errors import BadInput, StoreError, UsageError
from data.files import sha256_of_file
from data.records import Stage

FORMAT = "fieldmark-bundle/2"
MANIFEST = "manifest.json"
CARD = "README.md"
IMAGES = "images/metadata.parquet"
SPECIES = "species.parquet"
TERMS = "terms.parquet"
ARTICLES = "articles.parquet"
SUBJECTS = "ledger/subjects.parquet"
STEPS = "ledger/steps.parquet"
LEFT_OUT = "ledger/left_out.parquet"
VECTORS = "vectors/"
CALIBRATION = "calibration/"
CHECKLIST_ABOUT = "checklist/about.parquet"
CHECKLIST_TAXA = "checklist/taxa.parquet"
CHECKLIST_NAMES = "checklist/names.parquet"
TABLES = (SPECIES, TERMS, ARTICLES, SUBJECTS, STEPS, LEFT_OUT, IMAGES)

MAX_MANIFEST_BYTES = 200_000_000
REPEATED_STAGES: tuple[Stage, ...] = ("encode", "index")
"""Stages whose results are vectors, which an import without vectors repeats."""
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNote:
    """Size and hash of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`manifest.json`."""

    format: str
    fieldmark: str
    digest: str
    profile: str
    source: str
    languages: tuple[str, ...]
    text_image: tuple[str, ...]
    visual: str
    sentence: str
    has_vectors: bool
    species: int
    terms: int
    sources: Mapping[str, Mapping[str, str]]
    """Name of the source of pages -> how to open it again."""
    files: Mapping[str, FileNote]
    checklist: str = ""
    """Name and edition of the checklist; what is kept of it travels along, so an import does not need its file."""
    checklist_digest: str = ""

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces, each once: text-image, visual, sentence."""
        return tuple(dict.fromkeys((*self.text_image, self.visual, self.sentence)))


def require_new(folder: Path) -> None:
    """Raise `UsageError` unless a folder is empty or does not exist yet."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} already exists", hint="Name a new or empty folder.")


def read_manifest(bundle: Path) -> Manifest:
    """Return the manifest of a bundle, after comparing every file with it.

    Raises:
        BadInput: if it is not a bundle of this format, or a file is missing, a link, outside the folder or changed.
    """
    if not bundle.is_dir():
        hint = "Unpack archives first." if bundle.is_file() else None
        raise BadInput(f"{bundle} is not a folder", hint=hint)
    file = safe_path(bundle, MANIFEST)
    if file.stat().st_size > MAX_MANIFEST_BYTES:
        raise BadInput(f"{file} is larger than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        payload = parse_json(file.read_bytes())
        if not isinstance(payload, dict) or payload.get("format") != FORMAT:
            given = payload.get("format") if isinstance(payload, dict) else None
            raise BadInput(f"{file}: expected the format {FORMAT}, got {given!r}")
        manifest = from_json(Manifest, payload)
    except (ValueError, StoreError) as error:
        raise BadInput(f"{file} is not a manifest: {error}") from error
    if missing := sorted(set(TABLES) - set(manifest.files)):
        raise BadInput(f"{file} does not list {missing[0]}")
    if twins := len(manifest.files) - len({name.casefold() for name in manifest.files}):
        raise BadInput(f"{file} names {twins} files that differ only in case")
    for name, note in manifest.files.items():
        path = safe_path(bundle, name)
        if path.stat().st_size != note.bytes:
            raise BadInput(f"{path}: expected {note.bytes:,} bytes, got {path.stat().st_size:,}")
        if note_of(path) != note:
            raise BadInput(f"{path} has changed: its sha256 differs from the manifest's")
    return manifest


def safe_path(bundle: Path, name: str) -> Path:
    """Return the path of a file of a bundle.

    Raises:
        BadInput: if the name is not a plain relative path, or the file is missing or a link.
    """
    parts = name.split("/")
    if not all(_PART.fullmatch(part) for part in parts):
        raise BadInput(f"{bundle}: {name!r} is not a plain path inside the folder")
    path = bundle
    for i, part in enumerate(parts):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            raise BadInput(f"{bundle}: {name} is missing") from error
        is_last = i == len(parts) - 1
        if not (stat.S_ISREG(mode) if is_last else stat.S_ISDIR(mode)):
            raise BadInput(f"{bundle}: {name}: expected plain files and folders, got a link or a special file")
    return path


def note_of(path: Path) -> FileNote:
    """Return size and hash of a file."""
    return FileNote(bytes=path.stat().st_size, sha256=sha256_of_file(path))
