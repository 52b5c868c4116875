"""A cache in an SQLite file: one that is damaged is set aside and begun anew, since all in it can be had again."""

from __future__ import annotations

import logging
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from data.closing import Closing
from data.files import sha256_hex
from data.sqlite import closed_on_error, is_of_disk, storage_errors, use_write_ahead_log

ResultT = TypeVar("ResultT")
_log = logging.getLogger(__name__)


class CacheFile(Closing):
    """A connection to a cache that threads share in turns, opened on first use; processes may share the file.

    Args:
        path: the file; None keeps everything in memory.
        schema: statements that make the tables, where they are missing.
        synchronous: FULL where an entry costs money and must survive a power cut; NORMAL survives a killed process.
        lost: what happens without the entries, for the warning.
    """

    def __init__(self, path: Path | None, *, schema: str, synchronous: str, lost: str) -> None:
        self.path = path
        self._schema, self._synchronous, self._lost = schema, synchronous, lost
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._inode = 0

    def run(self, action: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        """Return the result of an action on the connection, repeated on a new file if this one is damaged.

        Raises:
            MissingRequirement: if the disk is full or the file is not writable.
            StoreError: for other errors of SQLite.
        """
        with self._lock, storage_errors(self.path.parent if self.path else Path()):
            try:
                return action(self._opened())
            except sqlite3.DatabaseError as error:
                if self.path is None or not _is_damage(error):
                    raise
                self._set_aside(self.path, error)
            return action(self._opened())

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._drop()

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False)
            self._inode = self.path.stat().st_ino if self.path else 0
            with closed_on_error(db):  # a connection without tables would make a sound file look damaged
                use_write_ahead_log(db)
                db.execute(f"PRAGMA synchronous = {self._synchronous}")
                db.executescript(self._schema)
            weakref.finalize(self, db.close)  # some caches are never closed
            self._db = db
        return self._db

    def _drop(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def _set_aside(self, path: Path, error: sqlite3.Error) -> None:
        self._drop()
        if not path.exists() or path.stat().st_ino != self._inode:
            return  # another connection has done so
        aside = next(
            each for i in range(1, 10_000) if not (each := path.with_name(f"{path.name}.damaged-{i}")).exists()
        )
        path.rename(aside)
        for ending in ("-wal", "-shm"):
            with suppress(OSError):
                path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
        _log.warning("%s is damaged (%s) and was renamed to %s; %s.", path, error, aside.name, self._lost)


def checked(*texts: str | None) -> str:
    """Return a checksum of the texts of an entry, which tells changed bytes that SQLite does not notice."""
    return sha256_hex("\n".join(each or "" for each in texts))[:16]


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # none for text that is not UTF-8
    return not is_of_disk(error) and code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT)
