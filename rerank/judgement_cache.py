"""Cache of judgements on disk: a run that was killed resumes where it stopped."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from data.closing import Closing
from data.errors import StoreError
from data.files import sha256_hex
from data.sqlite import use_write_ahead_log
from data.storage_errors import storage_errors

_TABLE = "CREATE TABLE IF NOT EXISTS judgements (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


def cache_key(parts: Mapping[str, object]) -> str:
    """Return a hash of all inputs of a result, which must be JSON values."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False))


class JudgementCache(Closing):
    """Texts by key in an SQLite file that several processes may share; a context manager.

    Every entry is committed on its own, so a killed process loses none of them.

    Args:
        path: the file; None keeps the entries in memory.

    Raises:
        StoreError: from every method, if the file is not a cache of judgements or is damaged.
        MissingRequirement: from every method, if the disk is full or the file is not writable.

    Example:
        >>> with JudgementCache(None) as cache:
        ...     cache.put("k", "[1, 2]")
        ...     cache.get("k"), cache.get("other")
        ('[1, 2]', None)
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._errors():
            self._connection = sqlite3.connect(
                path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False
            )
            # The cache that a re-ranker makes for itself is never closed.
            weakref.finalize(self, self._connection.close)
            use_write_ahead_log(self._connection)
            # A power cut may lose the last rows; a killed process loses none.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_TABLE)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> str | None:
        """Return the text under a key, or None."""
        row = self._execute("SELECT value FROM judgements WHERE key = ?", key)
        return row[0] if row else None

    def put(self, key: str, value: str) -> None:
        """Store a text; with a file, it is on disk when this returns."""
        self._execute("INSERT OR REPLACE INTO judgements VALUES (?, ?)", key, value)

    def _execute(self, statement: str, *values: str) -> tuple[str] | None:
        with self._lock, self._errors():  # threads take turns on the connection
            row: tuple[str] | None = self._connection.execute(statement, values).fetchone()
        return row

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with storage_errors(self._path.parent if self._path else Path()):
                yield
        except StoreError as error:
            raise StoreError(
                f"{self._path} is damaged or not a cache of judgements: {error.__cause__}.",
                hint="Move the file away: photos are judged again, from cached replies where there are some.",
            ) from error
