"""The SQLite file of a ledger: rows of any table, with their checksums, and damage as an error with a remedy."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from data.errors import KnowledgeBaseLocked, StoreError, UsageError
from data.files import (
    closed_on_error,
    is_of_disk,
    storage_error,
    storage_errors,
    transaction,
    use_write_ahead_log,
)

LEDGER_VERSION = 5
# With a write-ahead log a power cut may cost the last transactions, but breaks nothing; durable ones it does not cost.
SYNCHRONOUS = "NORMAL"
PAGE_BYTES = 8192  # vectors of 768 numbers waste less of such a page than of the usual 4096 bytes
SHRINKS = "auto_vacuum = INCREMENTAL"  # vectors are in the file only until they are published
TABLES: Mapping[str, tuple[str, str]] = {
    "facts": ("key, value", "key"),
    "subjects": ("subject_id, kind, name, record", "subject_id"),
    "steps": ("subject_id, stage, fingerprint, status, space, error, output", "stage, space, subject_id"),
    "left_out": ("name, reason, detail", "name"),
    "encoded": ("subject_id, collection, items, vectors", "collection, subject_id"),
    "entries": ("subject_id, kind, name, document, record, items", "subject_id"),
}
"""Table -> columns and primary key; each table also has the column `checksum`, over all other columns."""


def checksum(values: Sequence[str | bytes | None]) -> int:
    """Return the CRC-32 of the values and of their lengths."""
    contents = [value.encode() if isinstance(value, str) else value for value in values]
    found = zlib.crc32(repr([None if content is None else len(content) for content in contents]).encode())
    for content in contents:
        if content:
            found = zlib.crc32(content, found)
    return found


def connect_writer(path: Path) -> sqlite3.Connection:
    """Return a connection that writes; a new file gets its tables."""
    db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    with closed_on_error(db):
        db.execute(f"PRAGMA page_size={PAGE_BYTES}")
        db.execute(f"PRAGMA {SHRINKS}")
        use_write_ahead_log(db)
        db.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
        with storage_errors(path.parent), transaction(db):
            if db.execute("PRAGMA user_version").fetchone() == (0,):
                for table, (columns, key) in TABLES.items():
                    db.execute(f"CREATE TABLE {table} ({columns}, checksum INTEGER NOT NULL, PRIMARY KEY ({key}))")
                db.execute(f"PRAGMA user_version = {LEDGER_VERSION}")
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


_FETCHED = 500  # rows in memory
_BUILD_AGAIN = "repeat the kb build that created it, and your kb add commands"


class LedgerFile:
    """The file of a ledger.

    Args:
        path: the SQLite file.
        read_only: whether to open it for reading only, beside a writer.
        create: whether a writer creates a missing file; otherwise an empty ledger would hide the loss of all contents.

    Raises:
        StoreError: if the file is missing, damaged or of another version.
        KnowledgeBaseLocked: if another process is just creating it.
    """

    def __init__(self, path: Path, *, read_only: bool = False, create: bool = False) -> None:
        self.path = path
        if not create and not path.is_file():
            raise StoreError(f"{path} is missing", hint=_BUILD_AGAIN)
        if not (create or read_only or path.stat().st_size):
            raise StoreError(f"{path} is empty", hint=_BUILD_AGAIN)
        try:
            self._db = connect_reader(path) if read_only else connect_writer(path)
        except sqlite3.DatabaseError as error:
            if is_of_disk(error):
                raise storage_error(path.parent, error, is_disk=True) from error
            raise self.damaged(str(error)) from error
        except UnicodeDecodeError as error:  # in SQLite's own message
            raise self.damaged("its tables cannot be read") from error
        with closed_on_error(self._db):
            self._check_version()

    def _check_version(self) -> None:
        [(version,)] = self.read("PRAGMA user_version")
        if version == 0:  # only readers can see this: a writer creates all tables in one transaction
            raise KnowledgeBaseLocked(
                f"A build of {self.path.parent} has just started",
                hint="Try again in a moment; if no build is running, start one with kb build.",
            )
        if version != LEDGER_VERSION:
            raise StoreError(
                f"{self.path}: written by another version of Fieldmark (ledger {version}, expected {LEDGER_VERSION})",
                hint=(
                    f"With that version: kb export BUNDLE --kb {self.path.parent}; with this one: kb import BUNDLE "
                    "--kb NEW. Or build it again, in a new folder."
                ),
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def damaged(self, why: str) -> StoreError:
        """Return the error for a damaged ledger, with the remedy."""
        return StoreError(
            f"{self.path} is damaged: {why}",
            hint=(
                f"Import an exported bundle (kb import), or remove {self.path}* and repeat the kb build that created "
                "it, which fetches the pages and reuses the photos in anchors/. Repeat your kb add commands."
            ),
        )

    def read(self, query: str, values: Sequence[str | None] = ()) -> list[Any]:
        """Return the rows of a query; damage that SQLite finds is raised as our error."""
        with self._read_errors():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _read_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise UsageError(f"{self.path.parent} is closed", hint="Open it again with kb.open().") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            # Invalid UTF-8 has no code.
            if code is None or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise self.damaged(str(error)) from error
            with storage_errors(self.path.parent):
                raise
        except UnicodeDecodeError as error:  # in SQLite's own message
            raise self.damaged("its tables cannot be read") from error

    def stream(self, table: str, where: str = "", values: Sequence[str | None] = ()) -> Iterator[Any]:
        """Yield the rows of a table sorted by key, after comparing their checksums; few are in memory."""
        columns, key = TABLES[table]
        for rows in self.pages(f"SELECT {columns}, checksum FROM {table} {where} ORDER BY {key}", values):
            for row in rows:
                if checksum(row[:-1]) != row[-1]:
                    raise self.damaged(f"a row of {table} has changed ({str(row[0])[:80]!r})")
                yield row[:-1]

    def pages(self, query: str, values: Sequence[str | None] = ()) -> Iterator[list[Any]]:
        """Yield the rows of a query in lists, without comparing checksums; few are in memory."""
        with self._read_errors():
            cursor = self._db.execute(query, values)
        while True:
            with self._read_errors():
                rows = cursor.fetchmany(_FETCHED)
            if not rows:
                return
            yield rows

    def select(self, table: str, where: str = "", values: Sequence[str | None] = ()) -> list[Any]:
        """Return the rows of `stream`."""
        return list(self.stream(table, where, values))

    def put(self, table: str, rows: Iterable[Sequence[str | bytes | None]]) -> None:
        """Insert rows, replacing those with the same key."""
        marks = ", ".join("?" * (TABLES[table][0].count(",") + 2))
        with storage_errors(self.path.parent):
            self._db.executemany(
                f"INSERT OR REPLACE INTO {table} VALUES ({marks})", ((*row, checksum(row)) for row in rows)
            )

    def delete(self, table: str, where: str, values: Iterable[Sequence[str | None]]) -> None:
        """Delete the rows of a table that satisfy a condition, once for each of `values`."""
        with storage_errors(self.path.parent):
            self._db.executemany(f"DELETE FROM {table} WHERE {where}", values)

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Iterator[None]:
        """Commit all writes of the block together, or none; a durable commit is on the disk."""
        with storage_errors(self.path.parent):
            self._db.execute(f"PRAGMA synchronous={'FULL' if is_durable else SYNCHRONOUS}")
            try:
                with transaction(self._db):
                    yield
            finally:
                self._db.execute(f"PRAGMA synchronous={SYNCHRONOUS}")

    def hold(self) -> None:
        """Make all reads until `close` or the next `hold` see the present state, whatever writers do; for readers."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.execute("BEGIN")
        self.read("SELECT 1 FROM facts LIMIT 1")  # SQLite fixes the state at the first read

    def shrink(self) -> None:
        """Give the room of deleted rows back to the disk."""
        with storage_errors(self.path.parent):
            self._db.executescript("PRAGMA incremental_vacuum")  # `execute` would take a single step

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file; while a reader needs the log, leave that to the next writer."""
        with storage_errors(self.path.parent):
            self._db.execute("PRAGMA busy_timeout=500")  # a reader may stay for days
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("PRAGMA busy_timeout=30000")

    def copy_to(self, path: Path) -> None:
        """Write a copy of the ledger to a new file."""
        with storage_errors(path.parent), closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)
