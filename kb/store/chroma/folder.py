"""A Chroma embedded in the folder of a knowledge base: errors, and space on its disk.

On a full disk, a failed write of an embedded Chroma keeps its database locked, and the next call would wait for ever,
deaf to Ctrl-C. So space is checked before each write, and the client is closed after an error on a full disk.

There is at most one client of each folder in this process, which all users of the folder share: two clients of one
folder, one closing while the other opens, break chromadb's own sharing.
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
from threading import Lock
from typing import Any, Final

from data.checksums import file_checksum
from data.errors import MissingRequirement, StoreError
from data.process_memory import return_freed_memory
from data.sqlite import is_full, is_panic, storage_error, storage_errors


def client_settings() -> Any:
    """Return the settings of a new client."""
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return _environment().model_copy()  # a client writes its own path into them


@cache
def _environment() -> Any:
    """Return chromadb's settings; reading them takes longer than opening a small Chroma."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


_LOCK = Lock()
_OPEN: dict[Path, tuple[Any, int]] = {}
"""Folder -> its client, and the number of users."""


def borrow(folder: Path) -> Any:
    """Return the client of a folder, opened for its first user.

    Raises:
        StoreError: if the folder cannot be opened as Chroma.
        MissingRequirement: if the disk is full.
    """
    with _LOCK:
        client, n = _OPEN.get(folder.resolve(), (None, 0))
        if client is None:
            client = _open(folder)
        _OPEN[folder.resolve()] = client, n + 1
        return client


def give_back(folder: Path, client: Any) -> None:
    """End one use of a client; the last user closes it."""
    with _LOCK:
        held, n = _OPEN.get(folder.resolve(), (None, 0))
        if held is not client:  # `close` or `throw_away` has closed it
            return
        if n > 1:
            _OPEN[folder.resolve()] = client, n - 1
        else:
            del _OPEN[folder.resolve()]
            client.close()
            return_freed_memory()


def is_open(folder: Path, client: Any) -> bool:
    """Return whether this is the client of the folder, not closed meanwhile."""
    return _OPEN.get(folder.resolve(), (None, 0))[0] is client


def close(folder: Path, client: Any) -> None:
    """Close a client, whoever else uses it."""
    with _LOCK:
        if is_open(folder, client):
            del _OPEN[folder.resolve()]
            client.close()


def throw_away(folder: Path) -> None:
    """Delete the folder of an embedded Chroma, after closing its client."""
    with _LOCK:
        client, _ = _OPEN.pop(folder.resolve(), (None, 0))
        if client is not None:
            client.close()
        shutil.rmtree(folder, ignore_errors=True)


def is_intact(folder: Path, check: str = "SELECT iif(count(*) >= 0, 'ok', '') FROM sqlite_master") -> bool:
    """Return whether SQLite can read the database in a Chroma folder; True if there is none yet.

    Args:
        folder: the folder.
        check: a query with the answer `ok`; by default the schema alone, in less than a millisecond.
    """
    file = folder / "chroma.sqlite3"
    if not file.exists():
        return True
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(check).fetchall() == [("ok",)]
    except (sqlite3.Error, UnicodeDecodeError):  # the latter in SQLite's own message
        return False


def _open(folder: Path) -> Any:
    import chromadb

    if not is_intact(folder):  # Chroma's core would end the process
        raise StoreError(f"{folder}: its database is damaged", hint="kb verify repairs it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(path=str(folder), settings=client_settings())
    except BaseException as error:  # exceptions of chromadb and of its Rust core share no base class
        if not (isinstance(error, Exception) or is_panic(error)):
            raise
        if is_full(folder):
            raise storage_error(folder, error) from error
        raise StoreError(f"{folder} cannot be opened as Chroma: {error}", hint="kb verify repairs it") from error


SPARE_BYTES = 8 << 20  # to remain free after a batch


class ChromaFolder:
    """The Chroma in a folder.

    Args:
        root: the folder of the knowledge base, which errors name.
        folder: the folder of Chroma, inside `root`.

    Raises:
        StoreError: if the folder cannot be opened as Chroma.
        MissingRequirement: if the disk is full.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.client = borrow(folder)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of Chroma.

        Raises:
            MissingRequirement: if the disk is full or the folder is not writable.
            StoreError: for all other errors.
        """
        if not is_open(self._folder, self.client):
            raise StoreError(f"The Chroma of {self._root} was closed after an error", hint="kb verify repairs it")
        try:
            with storage_errors(self._root):
                yield
        except (MissingRequirement, StoreError) as error:
            if not self.has_little_space():
                raise
            close(self._folder, self.client)
            raise self._no_space() from error

    def check_space(self, n_bytes: int) -> None:
        """Raise `MissingRequirement` if the disk has too little space for a batch of so many bytes."""
        needed = SPARE_BYTES + 4 * n_bytes
        if self.has_little_space(needed):
            raise self._no_space(needed)

    def has_little_space(self, needed: int = SPARE_BYTES) -> bool:
        """Return whether fewer bytes are free than needed."""
        return shutil.disk_usage(self._root).free < needed

    def _no_space(self, needed: int = SPARE_BYTES) -> MissingRequirement:
        free = shutil.disk_usage(self._root).free
        return MissingRequirement(
            f"{self._root}: {free / 2**20:.0f} MiB are free on this disk, expected at least {needed / 2**20:.0f} MiB",
            hint="Nothing is lost; free some space and run the same command again.",
        )

    def close(self) -> None:
        """Close the folder, unless others use it."""
        give_back(self._folder, self.client)


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
