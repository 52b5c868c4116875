"""A Chroma embedded in the folder of a knowledge base: errors, and space on its disk.

On a full disk, a failed write of an embedded Chroma keeps its database locked, and the next call would wait for ever,
deaf to Ctrl-C. So space is checked before each write, and nothing is tried again.

Only the holder of the writer's lock opens it: two clients of one folder break chromadb's own sharing.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from data.errors import MissingRequirement, StoreError
from data.files import file_checksum, is_panic, storage_error, storage_errors


def client_settings() -> Any:
    """Return the settings of a new client."""
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return _environment().model_copy()  # a client writes its own path into them


@cache
def _environment() -> Any:
    """Return chromadb's settings; reading them takes longer than opening a small Chroma."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def is_intact(folder: Path) -> bool:
    """Return whether SQLite can read the database in a Chroma folder; True if there is none yet."""
    file = folder / "chroma.sqlite3"
    if not file.exists():
        return True
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    except (sqlite3.Error, UnicodeDecodeError):  # the latter in SQLite's own message
        return False


SPARE_BYTES = 8 << 20  # to remain free after a batch


class ChromaFolder:
    """The Chroma in a folder of the knowledge base `root`, which errors name; its database must be intact."""

    def __init__(self, root: Path, folder: Path) -> None:
        import chromadb

        self._root = root
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.client: Any = chromadb.PersistentClient(path=str(folder), settings=client_settings())
        except BaseException as error:  # exceptions of chromadb and of its Rust core share no base class
            if isinstance(error, Exception) or is_panic(error):
                raise storage_error(folder, error) from error
            raise

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of Chroma."""
        try:
            with storage_errors(self._root):
                yield
        except StoreError:
            self.check_space(0)  # which may be the reason
            raise

    def check_space(self, n_bytes: int) -> None:
        """Raise `MissingRequirement` if the disk has too little space for a batch of so many bytes."""
        needed, free = SPARE_BYTES + 4 * n_bytes, shutil.disk_usage(self._root).free
        if free < needed:
            raise MissingRequirement(
                f"{self._root}: {free / 2**20:.0f} MiB are free on this disk, "
                f"expected at least {needed / 2**20:.0f} MiB",
                hint="Nothing is lost; free some space and run the same command again.",
            )


_NEVER_SET: Final = "length.bin"  # room for the length of each vector, which the index neither sets nor reads
_VECTORS: Final = "data_level0.bin"  # a slot for each vector; the slots after the last vector are not set
_HEADER: Final = struct.Struct("<iQQQQ")  # version, offset of links, number of slots, of vectors, bytes of a slot
_PART: Final = 1 << 20  # bytes looked at in one go


def index_checksums(folder: Path) -> dict[str, str]:
    """Return file -> checksum of the index files of a Chroma folder."""
    files = (file for file in sorted(folder.glob("*/*")) if file.is_file())
    return {str(file.relative_to(folder)): file_checksum(file) for file in files}


def blank_unset_memory(folder: Path) -> None:
    """Overwrite bytes with zeros where Chroma wrote memory that it never set.

    Its index allocates room for more vectors than it holds and writes the whole to its files, so that these would
    hold freed memory of the process, keys included.
    """
    for header in folder.glob("*/header.bin"):
        _blank(header.with_name(_NEVER_SET), 0)
        _, _, slots, vectors, slot = _HEADER.unpack(header.read_bytes()[: _HEADER.size])
        stored = header.with_name(_VECTORS)
        if stored.stat().st_size == slots * slot:  # of another form, the file would lose vectors
            _blank(stored, vectors * slot)


def _blank(path: Path, start: int) -> None:
    with path.open("rb+") as file:
        file.seek(start)
        while part := file.read(_PART):
            if part.strip(b"\0"):
                file.seek(-len(part), 1)
                file.write(bytes(len(part)))
