"""Cache of judgements on disk: a run that was killed resumes where it stopped."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from data.cache_file import CacheFile, checked
from data.closing import Closing
from data.files import sha256_hex
from data.sqlite import transaction

_SCHEMA = """
CREATE TABLE IF NOT EXISTS judgements (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checksums (key TEXT PRIMARY KEY, checksum TEXT NOT NULL) WITHOUT ROWID;
"""
_FIND = "SELECT value, checksum FROM judgements LEFT JOIN checksums USING (key) WHERE key = ?"


def cache_key(parts: Mapping[str, object]) -> str:
    """Return a hash of all inputs of a result, which must be JSON values."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False))


class JudgementCache(Closing):
    """Texts by key in an SQLite file that several processes may share, or in memory; a context manager.

    Every entry is committed on its own, so a killed process loses none of them. A damaged file is set aside; an entry
    whose checksum does not fit counts as missing.

    Raises:
        MissingRequirement: from every method, if the disk is full or the file is not writable.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = CacheFile(path, schema=_SCHEMA, synchronous="NORMAL", lost="photos are judged again")
        self._file.run(lambda db: None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def get(self, key: str) -> str | None:
        """Return the text under a key, or None."""
        row = self._file.run(lambda db: db.execute(_FIND, (key,)).fetchone())
        if row is None or not isinstance(row[0], str):  # one changed bit makes bytes of a text
            return None
        return row[0] if row[1] in (None, checked(row[0])) else None  # None: stored by an earlier version

    def put(self, key: str, value: str) -> None:
        """Store a text; with a file, it is on disk when this returns."""

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                db.execute("INSERT OR REPLACE INTO judgements VALUES (?, ?)", (key, value))
                db.execute("INSERT OR REPLACE INTO checksums VALUES (?, ?)", (key, checked(value)))

        self._file.run(write)
