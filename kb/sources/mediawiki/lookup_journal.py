"""Journal of look-ups, so that a build that was killed does not ask the wiki again."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from data.sqlite import closed_on_error

OLDEST_S = 24 * 3600
"""Age at which the answers of an interrupted build are too old to go on with."""


class LookupJournal:
    """Answers by question in one file; without a file, nothing is kept.

    A damaged or outdated file is started afresh: it only saves requests.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._db: sqlite3.Connection | None = None
        self._lock = Lock()
        if file is None:
            return
        with suppress(OSError):
            if file.is_file() and time.time() - file.stat().st_mtime > OLDEST_S:
                self.remove()
        with suppress(OSError, sqlite3.Error):
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._db = self._open(file)
            except sqlite3.DatabaseError:
                self.remove()
                self._db = self._open(file)

    @property
    def is_kept(self) -> bool:
        """Whether answers are kept in a file."""
        return self._db is not None

    def answer(self, question: object, ask: Callable[[], Any], *, keep: Callable[[Any], bool] | None = None) -> Any:  # noqa: ANN401  # JSON values
        """Return the answer of `ask`, in JSON values, or the one of an interrupted build.

        Args:
            question: by which the answer is found again, in JSON values.
            ask: asks the wiki.
            keep: whether an answer is good enough to be kept; all are without it.
        """
        if self._db is None:
            return ask()
        key = sha256(json.dumps(question, sort_keys=True).encode()).digest()
        with self._lock, suppress(sqlite3.Error, ValueError, TypeError, RecursionError, zlib.error):
            row = self._db.execute("SELECT answer FROM answers WHERE question = ?", (key,)).fetchone()
            if row is not None:
                return json.loads(zlib.decompress(row[0]))
        found = ask()
        if keep is not None and not keep(found):
            return found
        packed = zlib.compress(json.dumps(found).encode(), 1)
        with self._lock, suppress(sqlite3.Error), self._db:
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, packed))
        return found

    def remove(self) -> None:
        """Delete the file: the build has come to its end."""
        if self._db is not None:
            self._db.close()
            self._db = None
        if self.file is not None:
            self.file.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and keep it."""
        if self._db is not None:
            self._db.close()
            self._db = None

    @staticmethod
    def _open(file: Path) -> sqlite3.Connection:
        db = sqlite3.connect(file, timeout=10, check_same_thread=False)
        with closed_on_error(db):
            db.execute("PRAGMA synchronous = OFF")  # survives a killed process; a power cut costs the answers
            db.execute("CREATE TABLE IF NOT EXISTS answers (question BLOB PRIMARY KEY, answer BLOB NOT NULL)")
        return db
