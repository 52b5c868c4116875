"""Clients of embedded Chromas: at most one of each folder in this process, which all users of the folder share.

Two clients of one folder, one closing while the other opens, break chromadb's own sharing.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any

from data.errors import StoreError
from data.freed_memory import return_freed_memory
from data.storage_errors import is_full, is_panic, storage_error
from kb.store.chroma.settings import client_settings

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
