"""A cache in an SQLite file: one that is damaged is set aside and begun anew, since all in it can be had again."""

from __future__ import annotations

import logging
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from data.files import Closing, closed_on_error, is_of_disk, sha256_hex, storage_errors, use_write_ahead_log

ResultT = TypeVar("ResultT")
_log = logging.getLogger(__name__)
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, text TEXT NOT NULL, checksum TEXT NOT NULL) WITHOUT ROWID;
"""


class CacheFile(Closing):
    """Texts by key, which threads and processes share; a context manager, opened on first use.

    An entry is on the disk when `put` returns. A damaged file is set aside; a damaged entry counts as missing.

    Args:
        path: the file.
        lost: what happens without the entries, for the warning.
        fresh: entries of earlier runs are not read, but replaced.

    Raises:
        MissingRequirement: from every method, if the disk is full or the file is not writable.
        StoreError: from every method, for other errors of SQLite.
    """

    def __init__(self, path: Path, *, lost: str = "its entries are made again", fresh: bool = False) -> None:
        self.path = path
        # Two connections: reads do not wait for a write that waits for the disk.
        self._reader, self._writer = _Connection(path, lost), _Connection(path, lost)
        self._written: set[str] | None = set() if fresh else None

    def get(self, key: str, *, earlier: bool = False) -> str | None:
        """Return the text of a key, or None; `earlier`: also of an earlier run, where those are not read."""
        if self._written is not None and key not in self._written and not earlier:
            return None
        found = "SELECT text, checksum FROM entries WHERE key = ?"
        row = self._reader.run(lambda db: db.execute(found, (key,)).fetchone())
        if row is None or not isinstance(row[0], str):  # one changed bit makes bytes of a text
            return None
        return row[0] if row[1] == _checksum(row[0]) else None

    def texts(self) -> list[str]:
        """Return all undamaged texts, also those of earlier runs, in the order of their keys."""
        rows = self._reader.run(lambda db: db.execute("SELECT text, checksum FROM entries ORDER BY key").fetchall())
        return [text for text, checksum in rows if isinstance(text, str) and checksum == _checksum(text)]

    def put(self, key: str, text: str) -> None:
        """Store the text of a key, in place of an earlier one."""
        values = (key, text, _checksum(text))
        self._writer.run(lambda db: db.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", values))
        if self._written is not None:
            self._written.add(key)

    def remove(self, key: str) -> None:
        """Remove the entry of a key, if there is one."""
        self._writer.run(lambda db: db.execute("DELETE FROM entries WHERE key = ?", (key,)))

    def clear(self) -> int:
        """Remove all entries, and return the bytes that this frees."""
        before = self._n_bytes()
        emptied = "DELETE FROM entries; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"
        self._writer.run(lambda db: db.executescript(emptied))
        return max(0, before - self._n_bytes())

    def __len__(self) -> int:
        return int(self._reader.run(lambda db: db.execute("SELECT count(*) FROM entries").fetchone())[0])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._writer.close()
        self._reader.close()

    def _n_bytes(self) -> int:
        files = (self.path.with_name(self.path.name + ending) for ending in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.is_file())


class _Connection:
    """A connection to the file that threads share in turns."""

    def __init__(self, path: Path, lost: str) -> None:
        self._path, self._lost = path, lost
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._inode = 0

    def run(self, action: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        """Return the result of an action on the connection, repeated on a new file if this one is damaged."""
        with self._lock, storage_errors(self._path.parent):
            try:
                return action(self._opened())
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._set_aside(error)
            return action(self._opened())

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self._path, timeout=60, isolation_level=None, check_same_thread=False)
            self._inode = self._path.stat().st_ino
            with closed_on_error(db):  # a connection without tables would make a sound file look damaged
                use_write_ahead_log(db)
                db.execute("PRAGMA synchronous = FULL")  # most entries are paid for
                db.executescript(_SCHEMA)
            weakref.finalize(self, db.close)  # some caches are never closed
            self._db = db
        return self._db

    def _drop(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def _set_aside(self, error: sqlite3.Error) -> None:
        self._drop()
        path = self._path
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


def _checksum(text: str) -> str:
    """Return a checksum of a text, which tells changed bytes that SQLite does not notice."""
    return sha256_hex(text)[:16]


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # none for text that is not UTF-8
    return not is_of_disk(error) and code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT)
