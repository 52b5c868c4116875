"""The form of a bundle: a knowledge base as a folder of Parquet tables and images that other programs read.

    OUT/
      README.md                a dataset card; yours to edit
      manifest.json            format, encoder spaces, digest, and size and sha256 of every file but the card
      images/SPECIES/HASH.jpg  the anchors; images/metadata.parquet has names and credits (Hugging Face imagefolder)
      species.parquet          a row a species: names, lineage, summary, source      terms.parquet   a row a term
      articles.parquet         the texts that summaries were made from, by sha256
      vectors/COLLECTION.parquet                 optional
      calibration/PRESET.json                    how sure answers are, where that was measured
      ledger/subjects.parquet steps.parquet left_out.parquet    what a knowledge base needs beside to go on

A bundle from elsewhere is not trusted: no path leaves the folder, nothing is a link, and every file is what the
manifest says before a byte of it is used.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.codec import from_json
from data.errors import BadInput, StoreError

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
TABLES = (SPECIES, TERMS, ARTICLES, SUBJECTS, STEPS, LEFT_OUT, IMAGES)

MAX_MANIFEST_BYTES = 200_000_000
MAX_EXPANSION = 1_000  # times its file that a table may take up when it is read
MAX_ROW_GROUP_BYTES = 2_000_000_000
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNote:
    """What the manifest says of a file."""

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
    """Where the pages came from: name -> how it is opened again."""
    files: Mapping[str, FileNote]

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces, each once: text-image, visual, sentence."""
        return tuple(dict.fromkeys((*self.text_image, self.visual, self.sentence)))


def read_manifest(bundle: Path) -> Manifest:
    """Return the manifest of a bundle of which every file is there and is what the manifest says.

    Raises:
        BadInput: if it is no bundle, of another format, lacks a table, names a path that leaves the folder or could be
            read as another one, or a file is a link, of another size, or of another hash.
    """
    if not bundle.is_dir():
        hint = "unpack it first: archives are not read" if bundle.is_file() else None
        raise BadInput(f"{bundle} is no folder", hint=hint)
    file = safe_path(bundle, MANIFEST)
    if file.stat().st_size > MAX_MANIFEST_BYTES:
        raise BadInput(f"{file} is larger than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        payload = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(payload, dict) or payload.get("format") != FORMAT:
            given = payload.get("format") if isinstance(payload, dict) else None
            raise BadInput(f"{file}: expected the format {FORMAT}, got {given!r}")
        manifest = from_json(Manifest, payload)
    except (ValueError, StoreError) as error:
        raise BadInput(f"{file} is not a manifest: {error}") from error
    if missing := sorted(set(TABLES) - set(manifest.files)):
        raise BadInput(f"{file} does not list {missing[0]}")
    if twins := len(manifest.files) - len({name.casefold() for name in manifest.files}):
        raise BadInput(f"{file} names {twins} files that differ in case alone")
    for name, note in manifest.files.items():
        _check(safe_path(bundle, name), note)
    return manifest


def safe_path(bundle: Path, name: str) -> Path:
    """Return where a file of a bundle lies, once it is sure that it lies there.

    Raises:
        BadInput: for a name that is absolute, leaves the folder or is written in an odd way; for a link, a missing file
            or anything but a plain file.
    """
    parts = name.split("/")
    if not all(_PART.fullmatch(part) for part in parts):
        raise BadInput(f"{bundle}: a file is named {name!r}: expected plain names and no way out of the folder")
    path = bundle
    for i, part in enumerate(parts):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            raise BadInput(f"{bundle}: {name} is missing") from error
        is_last = i == len(parts) - 1
        if not (stat.S_ISREG(mode) if is_last else stat.S_ISDIR(mode)):
            raise BadInput(f"{bundle}: {name}: expected plain files and folders, got a link or something else")
    return path


def note_of(path: Path) -> FileNote:
    """Return size and hash of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return FileNote(bytes=size, sha256=digest.hexdigest())


def _check(path: Path, note: FileNote) -> None:
    if path.stat().st_size != note.bytes:  # before it is read: a file without end is never hashed
        raise BadInput(f"{path}: expected {note.bytes:,} bytes, got {path.stat().st_size:,}")
    if note_of(path) != note:
        raise BadInput(f"{path} is not what the manifest says: its sha256 is another")


def read_rows(bundle: Path, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as column -> value, a batch in memory at a time.

    Raises:
        BadInput: if it is not Parquet, lacks a column, or would take up far more than it should.
    """
    import pyarrow
    import pyarrow.parquet

    path = safe_path(bundle, name)
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            groups = [table.metadata.row_group(i).total_byte_size for i in range(table.metadata.num_row_groups)]
            if max(groups, default=0) > MAX_ROW_GROUP_BYTES or sum(groups) > MAX_EXPANSION * path.stat().st_size:
                raise BadInput(f"{path} says that it unpacks to {sum(groups):,} bytes: not taken")
            if missing := sorted(set(columns) - set(table.schema_arrow.names)):
                raise BadInput(f"{path} has no column {missing[0]}")
            for batch in table.iter_batches(batch_size=1_000, columns=list(columns)):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{path} is not a table that can be read: {error}") from error
