"""The ledger: what every stage did for every subject, so that a build can stop anywhere and go on.

One SQLite file in WAL mode. A stage's row says for which input (fingerprint) it holds; a row of another fingerprint is
as good as none. Vectors lie here too, written before Chroma sees them: Chroma can be mended without encoding again.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from data.arrays import FloatArray
from data.errors import StoreError
from data.files import sha256_hex
from data.records import Failure, SubjectKind
from data.storage_errors import storage_errors

StepStatus = Literal["done", "failed", "left-out"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS subjects (
    subject_id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (
    subject_id TEXT NOT NULL, stage TEXT NOT NULL, space TEXT NOT NULL DEFAULT '', fingerprint TEXT NOT NULL,
    status TEXT NOT NULL, error TEXT, attempts INTEGER NOT NULL DEFAULT 1, output TEXT,
    PRIMARY KEY (subject_id, stage, space)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS left_out (name TEXT PRIMARY KEY, reason TEXT NOT NULL, detail TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (
    subject_id TEXT NOT NULL, collection TEXT NOT NULL, item_id TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (subject_id, collection, item_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    subject_id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL,
    record TEXT NOT NULL, rows TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The row of one stage for one subject; `output` is the stage's result as JSON.

    `space` is the Chroma collection that the row is of in the stage `encode`, which fixes kind and space; else empty.
    """

    subject_id: str
    stage: str
    fingerprint: str
    status: StepStatus = "done"
    space: str = ""
    error: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A finished subject: what readers get. `rows` names the item ids that it has in each Chroma collection."""

    subject_id: str
    kind: SubjectKind
    name: str
    document: str
    record: str
    rows: dict[str, list[str]]


def fingerprint(*parts: object) -> str:
    """Return one short hash of all parts (anything JSON can write), to tell whether an input has changed."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")))[:32]


class Ledger:
    """The ledger of one knowledge base.

    Args:
        path: the SQLite file; made with its tables unless `read_only`.
        read_only: for readers beside a writer.

    Raises:
        StoreError: if the file is not a ledger or is damaged.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            self._db = self._connect_read_only() if read_only else self._connect()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{path} cannot be read as a ledger: {error}",
                hint=f"remove {path}* and run the kb build that made it once more",
            ) from error

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.executescript(SCHEMA)
        return db

    def _connect_read_only(self) -> sqlite3.Connection:
        uri = f"{self.path.resolve().as_uri()}?mode=ro"
        try:
            db = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
            db.execute("SELECT 1 FROM facts LIMIT 1")
        except sqlite3.OperationalError:
            if os.access(self.path.parent, os.W_OK):
                raise  # beside a writer `immutable` would read what is half written
            # A folder that we may not write to cannot hold the shared memory that WAL needs; but nobody writes there.
            db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
            db.execute("SELECT 1 FROM facts LIMIT 1")
        return db

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file itself, so that a copy of the folder needs nothing else.

        A reader that holds an earlier state needs the log: then it stays, and the next writer moves it.
        """
        with storage_errors(self.path.parent):
            self._db.execute("PRAGMA busy_timeout=500")  # a reader may hold its state for days
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("PRAGMA busy_timeout=30000")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one: all of them or none survive a crash.

        Raises:
            MissingRequirement: where the disk is full or cannot be written.
        """
        with storage_errors(self.path.parent):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite takes back by itself what a full disk cut short
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads inside see one state, whatever a writer does meanwhile."""
        if self._db.in_transaction:  # a state is held already
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    def hold(self) -> None:
        """Make all reads until `close` see the state of now, whatever a writer does; for readers."""
        self._db.execute("BEGIN")
        self._db.execute("SELECT 1 FROM facts LIMIT 1").fetchall()  # SQLite takes the state at the first read

    def problems(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file."""
        try:
            found = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check")]
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    # --- facts of the whole knowledge base -----------------------------------------------------------------------

    def fact(self, key: str) -> str | None:
        """Return the value kept under `key`, or None."""
        row = self._db.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def facts(self, prefix: str) -> list[tuple[str, str]]:
        """Return `(key, value)` of all that is kept under keys that begin with `prefix`, sorted by key."""
        query = "SELECT key, value FROM facts WHERE substr(key, 1, ?) = ? ORDER BY key"
        return self._db.execute(query, (len(prefix), prefix)).fetchall()

    def set_fact(self, key: str, value: str) -> None:
        """Keep `value` under `key`."""
        with storage_errors(self.path.parent):
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, value))

    def drop_fact(self, key: str) -> None:
        """Forget what is kept under `key`."""
        with storage_errors(self.path.parent):
            self._db.execute("DELETE FROM facts WHERE key = ?", (key,))

    def drop_facts(self, prefix: str) -> None:
        """Forget all that is kept under keys that begin with `prefix`."""
        self._db.execute("DELETE FROM facts WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))

    # --- subjects ------------------------------------------------------------------------------------------------

    def add_subjects(self, rows: Iterable[tuple[str, SubjectKind, str, str]]) -> None:
        """Add or replace `(subject_id, kind, name, record JSON)`."""
        self._db.executemany("INSERT OR REPLACE INTO subjects VALUES (?, ?, ?, ?)", rows)

    def subjects(self, kind: SubjectKind) -> dict[str, str]:
        """Return subject_id -> record JSON of all subjects of a kind, sorted by id."""
        query = "SELECT subject_id, record FROM subjects WHERE kind = ? ORDER BY subject_id"
        return dict(self._db.execute(query, (kind,)).fetchall())

    def subject_names(self, kind: SubjectKind) -> dict[str, str]:
        """Return subject_id -> name of all subjects of a kind."""
        return dict(self._db.execute("SELECT subject_id, name FROM subjects WHERE kind = ?", (kind,)).fetchall())

    def drop_subjects(self, subject_ids: Iterable[str]) -> None:
        """Forget subjects with all that was done for them: steps, vectors and entries."""
        rows = [(subject_id,) for subject_id in subject_ids]
        for table in ("subjects", "steps", "vectors", "entries"):
            self._db.executemany(f"DELETE FROM {table} WHERE subject_id = ?", rows)

    def set_left_out(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Note `(name, reason, detail)` of what the build does not take in."""
        self._db.executemany("INSERT OR REPLACE INTO left_out VALUES (?, ?, ?)", rows)

    def drop_left_out(self, names: Iterable[str]) -> None:
        """Take names off that list: they are in after all."""
        self._db.executemany("DELETE FROM left_out WHERE name = ?", [(name,) for name in names])

    def left_out(self) -> list[tuple[str, str, str]]:
        """Return `(name, reason, detail)` of all that was left out, sorted by name."""
        return self._db.execute("SELECT name, reason, detail FROM left_out ORDER BY name").fetchall()

    # --- steps ---------------------------------------------------------------------------------------------------

    def record(self, steps: Iterable[Step]) -> None:
        """Write the rows, counting attempts."""
        self._db.executemany(
            "INSERT INTO steps (subject_id, stage, space, fingerprint, status, error, output)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (subject_id, stage, space) DO UPDATE SET fingerprint = excluded.fingerprint,"
            " status = excluded.status, error = excluded.error, output = excluded.output, attempts = attempts + 1",
            [(s.subject_id, s.stage, s.space, s.fingerprint, s.status, s.error, s.output) for s in steps],
        )

    def steps(self, stage: str, space: str = "") -> dict[str, Step]:
        """Return subject_id -> row of one stage in one space, sorted by subject."""
        rows = self._db.execute(
            "SELECT subject_id, fingerprint, status, error, output FROM steps WHERE stage = ? AND space = ?"
            " ORDER BY subject_id",
            (stage, space),
        )
        return {
            row[0]: Step(
                subject_id=row[0],
                stage=stage,
                space=space,
                fingerprint=row[1],
                status=row[2],
                error=row[3],
                output=row[4],
            )
            for row in rows
        }

    def step(self, subject_id: str, stage: str, space: str = "") -> Step | None:
        """Return the row of one subject, or None; `steps` reads all of them."""
        row = self._db.execute(
            "SELECT fingerprint, status, error, output FROM steps WHERE subject_id = ? AND stage = ? AND space = ?",
            (subject_id, stage, space),
        ).fetchone()
        if row is None:
            return None
        return Step(
            subject_id=subject_id,
            stage=stage,
            space=space,
            fingerprint=row[0],
            status=row[1],
            error=row[2],
            output=row[3],
        )

    def drop_steps(self, subject_ids: Iterable[str], stages: Sequence[str], *, space: str | None = None) -> None:
        """Forget these stages of these subjects, in all spaces or in one: the next build does them anew."""
        marks = ",".join("?" * len(stages))
        self._db.executemany(
            f"DELETE FROM steps WHERE subject_id = ? AND stage IN ({marks}) AND space = coalesce(?, space)",
            [(subject_id, *stages, space) for subject_id in subject_ids],
        )

    def failures(self) -> list[Failure]:
        """Return what failed and was not mended since, by subject and stage."""
        rows = self._db.execute(
            "SELECT coalesce(name, steps.subject_id), stage, error FROM steps LEFT JOIN subjects USING (subject_id)"
            " WHERE status = 'failed' ORDER BY 1, 2"
        )
        return [Failure(taxon=name, stage=stage, reason=error or "unknown") for name, stage, error in rows]

    # --- vectors -------------------------------------------------------------------------------------------------

    def put_vectors(self, collection: str, rows: Iterable[tuple[str, str, FloatArray]]) -> None:
        """Keep `(subject_id, item_id, vector)` rows; each vector is `(dim,)` float32."""
        self._db.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
            [(subject, collection, item, np.asarray(vector, dtype="<f4").tobytes()) for subject, item, vector in rows],
        )

    def vectors(self, collection: str, subject_id: str) -> dict[str, FloatArray]:
        """Return item_id -> `(dim,)` float32 vector of one subject."""
        rows = self._db.execute(
            "SELECT item_id, vector FROM vectors WHERE subject_id = ? AND collection = ?", (subject_id, collection)
        )
        return {item: np.frombuffer(blob, dtype="<f4") for item, blob in rows}

    def drop_vectors(self, collection: str, subject_id: str, *, keep: Sequence[str] = ()) -> None:
        """Forget the vectors of one subject, but for the items in `keep`."""
        found = self._db.execute(
            "SELECT item_id FROM vectors WHERE subject_id = ? AND collection = ?", (subject_id, collection)
        )
        gone = {item for (item,) in found} - set(keep)
        self._db.executemany(
            "DELETE FROM vectors WHERE subject_id = ? AND collection = ? AND item_id = ?",
            [(subject_id, collection, item) for item in gone],
        )

    def all_vectors(self, collection: str) -> Iterator[tuple[str, str, FloatArray]]:
        """Yield `(subject_id, item_id, vector)` of a whole collection, sorted by subject and item."""
        rows = self._db.execute(
            "SELECT subject_id, item_id, vector FROM vectors WHERE collection = ? ORDER BY subject_id, item_id",
            (collection,),
        )
        return ((subject, item, np.frombuffer(blob, dtype="<f4")) for subject, item, blob in rows)

    def rows(self, table: Literal["subjects", "steps", "left_out"], columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as column -> text, in the order of its key."""
        names = list(columns)
        found = self._db.execute(f"SELECT {', '.join(names)} FROM {table}")
        return (dict(zip(names, row, strict=True)) for row in found)

    # --- entries -------------------------------------------------------------------------------------------------

    def put_entries(self, entries: Iterable[Entry]) -> None:
        """Add or replace finished subjects."""
        self._db.executemany(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?)",
            [(e.subject_id, e.kind, e.name, e.document, e.record, json.dumps(e.rows, sort_keys=True)) for e in entries],
        )

    def drop_entries(self, subject_ids: Iterable[str]) -> None:
        """Remove finished subjects."""
        self._db.executemany("DELETE FROM entries WHERE subject_id = ?", [(s,) for s in subject_ids])

    def entries(self, kind: SubjectKind, subject_ids: Sequence[str] | None = None) -> list[Entry]:
        """Return all finished subjects of a kind sorted by id, or those asked for in the order asked."""
        query = "SELECT subject_id, kind, name, document, record, rows FROM entries WHERE kind = ?"
        if subject_ids is None:
            return [_entry(row) for row in self._db.execute(query + " ORDER BY subject_id", (kind,))]
        found = []
        for subject_id in subject_ids:
            row = self._db.execute(query + " AND subject_id = ?", (kind, subject_id)).fetchone()
            if row is None:
                raise KeyError(f"no {kind} {subject_id!r} in {self.path.parent}")
            found.append(_entry(row))
        return found

    def entry_columns(self, kind: SubjectKind) -> list[tuple[str, str, str]]:
        """Return `(subject_id, name, document)` of all finished subjects of a kind, sorted by id."""
        query = "SELECT subject_id, name, document FROM entries WHERE kind = ? ORDER BY subject_id"
        return self._db.execute(query, (kind,)).fetchall()


def _entry(row: tuple[Any, ...]) -> Entry:
    subject_id, kind, name, document, record, rows = row
    return Entry(subject_id=subject_id, kind=kind, name=name, document=document, record=record, rows=json.loads(rows))
