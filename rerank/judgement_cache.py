"""What judges said, kept on disk as soon as it is said: a run that was killed goes on where it stopped."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from data.files import sha256_hex

_TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


def key_of(parts: Mapping[str, object]) -> str:
    """Return the key of a result: a hash of all that made it, which must be JSON values."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False))


class KeptResults:
    """Results by key, in an SQLite file that several processes may use; a context manager.

    Each result is committed by itself, so what a killed process had written is there.

    Args:
        path: the file, or None to keep results in memory alone.

    Example:
        >>> with KeptResults(None) as kept:
        ...     kept.put("k", "[1, 2]")
        ...     kept.get("k"), kept.get("other")
        ('[1, 2]', None)
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # One connection, used by one thread at a time.
        self._connection = sqlite3.connect(
            path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False
        )
        self._lock = threading.Lock()
        if path is not None:
            self._connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last rows; a killed process loses none.
            self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_TABLE)

    def __enter__(self) -> KeptResults:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> str | None:
        """Return what is kept under a key, or None."""
        with self._lock:
            row = self._connection.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def put(self, key: str, value: str) -> None:
        """Keep a value; it is on disk when this returns."""
        with self._lock:
            self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (key, value))
