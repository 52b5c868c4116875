"""SQLite's write-ahead log and transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_S = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def use_write_ahead_log(db: sqlite3.Connection, *, wait_s: float = WAIT_S) -> None:
    """Switch a database to its write-ahead log, in which readers and a writer do not wait for each other.

    Of several processes that open a new database at once, SQLite refuses all but one, whatever the connection's
    timeout; so this tries again.

    Raises:
        sqlite3.OperationalError: if another process still holds the database after `wait_s` seconds.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() >= deadline:
                raise
        time.sleep(0.02)


@contextmanager
def closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    """Close a database that was just opened if the block, which prepares it, fails."""
    try:
        yield
    except BaseException:
        db.close()
        raise


@contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Commit all writes of the block together, or none."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk SQLite rolls back by itself
            db.execute("ROLLBACK")
        raise
