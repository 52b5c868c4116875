"""Connections to the SQLite file of a ledger, for a writer and for readers."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from data.sqlite import closed_on_error, transaction, use_write_ahead_log
from data.storage_errors import storage_errors
from kb.store.ledger.schema import PAGE_BYTES, schema


def connect_writer(path: Path) -> sqlite3.Connection:
    """Return a connection that writes; a new file gets its tables."""
    db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    with closed_on_error(db):
        db.execute(f"PRAGMA page_size={PAGE_BYTES}")
        use_write_ahead_log(db)
        db.execute("PRAGMA synchronous=NORMAL")
        with storage_errors(path.parent), transaction(db):
            if db.execute("PRAGMA user_version").fetchone() == (0,):
                for statement in schema():
                    db.execute(statement)
    return db


def connect_reader(path: Path) -> sqlite3.Connection:
    """Return a connection that reads, beside a writer or in a read-only folder."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    db = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter in SQLite's own message
        db.close()
        if not isinstance(error, sqlite3.OperationalError) or os.access(path.parent, os.W_OK):
            raise  # beside a writer, `immutable` would read half-written pages
        # WAL needs a shared-memory file, which a read-only folder cannot hold; but there are no writers either.
        db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
    return db
