"""SQLite's write-ahead log and transactions, and the errors of SQLite and Chroma as ours."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data.errors import FieldmarkError, MissingRequirement, StoreError
from data.files import hint_to_allow_writing

WAIT_S = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch a database to its write-ahead log, in which readers and a writer do not wait for each other.

    Of several processes that open a new database at once, SQLite refuses all but one, whatever the connection's
    timeout; so this tries again.

    Raises:
        sqlite3.OperationalError: if another process still holds the database after `WAIT_S` seconds.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() >= deadline:
                raise
        time.sleep(0.02)


class SelfClosing(sqlite3.Connection):
    """A connection of an object that is used like a value: it closes with the last reference to it."""

    def __del__(self) -> None:
        """Close the connection: Python 3.13 warns of one that is left open."""
        self.close()


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


LEAST_FREE_BYTES = 1 << 20
# Primary result codes of SQLite: a disk that is full, cannot be written or read, a file that cannot be opened.
_OF_THE_DISK = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN))


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Translate errors of SQLite and Chroma that the block raises.

    Raises:
        MissingRequirement: if the disk is full or the folder is not writable.
        StoreError: for all their other errors.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise storage_error(folder, error, is_disk=is_of_disk(error)) from error
    except BaseException as error:
        # By name: chromadb need not be loaded for this.
        if not (type(error).__module__.startswith("chromadb") or is_panic(error)):
            raise
        raise storage_error(folder, error) from error


def is_panic(error: BaseException) -> bool:
    """Return whether Chroma's Rust core gave up, such as on damaged text; its panics are no `Exception`."""
    return type(error).__name__ == "PanicException"


def is_of_disk(error: sqlite3.Error) -> bool:
    """Return whether the disk is the cause: full, not writable, not readable."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK


def storage_error(folder: Path, error: BaseException, *, is_disk: bool = False) -> FieldmarkError:
    """Return our error for one of a store; `is_disk` where the disk is known to be the cause."""
    if is_disk or is_full(folder):
        hint = "Finished work is saved: fix this and run the same command again."
        if is_full(folder):
            return MissingRequirement(f"{folder}: no space left", hint=hint)
        why = f"it cannot be written or read ({error})"
        return MissingRequirement(f"{folder}: {why}", hint=hint_to_allow_writing(folder, hint))
    return StoreError(f"{folder}: {error}", hint="Run kb verify to check and repair it.")


def is_full(folder: Path) -> bool:
    """Return whether so little space is left that writing fails; False for a missing folder."""
    try:
        return shutil.disk_usage(folder).free < LEAST_FREE_BYTES
    except OSError:
        return False
