"""The ledger: one SQLite file with the results of all stages and all vectors, from which the rest can be rebuilt.

A subject is a species or a term. The result of a stage is valid only for the input whose fingerprint it carries. Every
row has a checksum, compared on each read, and each table a row count and a sum of checksums, compared by `kb verify`.
Damage is therefore an error with a remedy, never a wrong answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from data.arrays import FloatArray
from data.codec import loads
from data.errors import KnowledgeBaseLocked, StoreError
from data.files import sha256_hex
from data.records import Failure, LeftOut, SubjectKind
from data.sqlite import closed_on_error, transaction, use_write_ahead_log
from data.storage_errors import is_of_disk, storage_error, storage_errors

RecordT = TypeVar("RecordT")
StepStatus = Literal["done", "failed", "left-out"]

LEDGER_VERSION = 3
PAGE_BYTES = 8192  # vectors of 768 numbers waste less of such a page than of the usual 4096 bytes
GENERATION = "generation"
"""Fact with the name of the current state; every change of the entries sets a new one."""
TABLES: Mapping[str, tuple[str, str]] = {
    "facts": ("key, value", "key"),
    "subjects": ("subject_id, kind, name, record", "subject_id"),
    "steps": ("subject_id, stage, fingerprint, status, space, error, output", "stage, space, subject_id"),
    "left_out": ("name, reason, detail", "name"),
    "vectors": ("subject_id, collection, items, vectors", "collection, subject_id"),
    "entries": ("subject_id, kind, name, document, record, items", "subject_id"),
}
"""Table -> columns and primary key; each table also has the column `checksum`, over all other columns."""

FINGERPRINT_DIGITS = 32
_FETCHED = 500  # rows in memory
_BUILD_AGAIN = "repeat the kb build that created it, and your kb add commands"


def _schema() -> Iterator[str]:
    yield "CREATE TABLE totals (name TEXT PRIMARY KEY, n INTEGER NOT NULL, checksums INTEGER NOT NULL)"
    yield "CREATE TABLE pending (subject_id TEXT PRIMARY KEY, items TEXT NOT NULL)"
    for table, (columns, key) in TABLES.items():
        yield f"CREATE TABLE {table} ({columns}, checksum INTEGER NOT NULL, PRIMARY KEY ({key}))"
        yield f"INSERT INTO totals VALUES ('{table}', 0, 0)"
        for event, n, change in (
            ("INSERT", "+ 1", "+ NEW.checksum"),
            ("DELETE", "- 1", "- OLD.checksum"),
            ("UPDATE", "+ 0", "+ NEW.checksum - OLD.checksum"),
        ):
            yield (
                f"CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN UPDATE totals"
                f" SET n = n {n}, checksums = checksums {change} WHERE name = '{table}'; END"
            )
    yield f"PRAGMA user_version = {LEDGER_VERSION}"


class Step(NamedTuple):
    """The result of one stage for one subject, as a row of `steps`; `output` is JSON.

    `space` is the name of a collection in the stage `encode`, and empty in all others.
    """

    subject_id: str
    stage: str
    fingerprint: str
    status: StepStatus = "done"
    space: str = ""
    error: str | None = None
    output: str | None = None


class Entry(NamedTuple):
    """A finished subject, as a row of `entries`. `items`: kind of collection -> ids of its vectors, in order."""

    subject_id: str
    kind: SubjectKind
    name: str
    document: str
    record: str
    items: dict[str, list[str]]


def fingerprint(*parts: object) -> str:
    """Return 32 hex digits that identify the parts, which may be anything that JSON can express."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")))[:FINGERPRINT_DIGITS]


def checksum(values: Sequence[str | bytes | None]) -> int:
    """Return the CRC-32 of the values and of their lengths."""
    contents = [value.encode() if isinstance(value, str) else value for value in values]
    found = zlib.crc32(repr([None if content is None else len(content) for content in contents]).encode())
    for content in contents:
        if content:
            found = zlib.crc32(content, found)
    return found


class Ledger:
    """The ledger of one knowledge base.

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
            self._db = self._connect_read_only() if read_only else self._connect()
        except sqlite3.DatabaseError as error:
            if is_of_disk(error):
                raise storage_error(path.parent, error, is_disk=True) from error
            raise self.damaged(str(error)) from error
        except UnicodeDecodeError as error:  # in SQLite's own message
            raise self.damaged("its tables cannot be read") from error
        with closed_on_error(self._db):
            self._check_version()

    def _check_version(self) -> None:
        [(version,)] = self._read("PRAGMA user_version")
        if version == 0:  # only readers can see this: a writer creates all tables in one transaction
            raise KnowledgeBaseLocked(
                f"A build of {self.path.parent} has just started",
                hint="Try again in a moment; if no build is running, start one with kb build.",
            )
        if version != LEDGER_VERSION:
            raise StoreError(
                f"{self.path}: written by another version of Fieldmark (ledger {version}, expected {LEDGER_VERSION})",
                hint="Build the knowledge base again, in a new folder.",
            )

    def damaged(self, why: str) -> StoreError:
        """Return the error for a damaged ledger, with the remedy."""
        return StoreError(
            f"{self.path} is damaged: {why}",
            hint=(
                f"Import an exported bundle (kb import), or remove {self.path}* and repeat the kb build that created "
                "it, which fetches the pages and reuses the photos in anchors/. Repeat your kb add commands."
            ),
        )

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        with closed_on_error(db):
            db.execute(f"PRAGMA page_size={PAGE_BYTES}")
            use_write_ahead_log(db)
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA recursive_triggers=ON")  # so that replaced rows are subtracted from the totals
            with storage_errors(self.path.parent), transaction(db):
                if db.execute("PRAGMA user_version").fetchone() == (0,):
                    for statement in _schema():
                        db.execute(statement)
        return db

    def _connect_read_only(self) -> sqlite3.Connection:
        uri = f"{self.path.resolve().as_uri()}?mode=ro"
        db = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter in SQLite's own message
            db.close()
            if not isinstance(error, sqlite3.OperationalError) or os.access(self.path.parent, os.W_OK):
                raise  # beside a writer, `immutable` would read half-written pages
            # WAL needs a shared-memory file, which a read-only folder cannot hold; but there are no writers either.
            db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
        return db

    def _read(self, query: str, values: Sequence[str | None] = ()) -> list[Any]:
        """Return the rows of a query; damage that SQLite finds is raised as our error."""
        with self._read_errors():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _read_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            # Invalid UTF-8 has no code.
            if code is None or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise self.damaged(str(error)) from error
            with storage_errors(self.path.parent):
                raise
        except UnicodeDecodeError as error:  # in SQLite's own message
            raise self.damaged("its tables cannot be read") from error

    def _stream(self, table: str, where: str = "", values: Sequence[str | None] = ()) -> Iterator[Any]:
        """Yield the rows of a table sorted by key, after comparing their checksums; few are in memory."""
        columns, key = TABLES[table]
        with self._read_errors():
            cursor = self._db.execute(f"SELECT {columns}, checksum FROM {table} {where} ORDER BY {key}", values)
        while True:
            with self._read_errors():
                rows = cursor.fetchmany(_FETCHED)
            if not rows:
                return
            for row in rows:
                if checksum(row[:-1]) != row[-1]:
                    raise self.damaged(f"a row of {table} has changed ({str(row[0])[:80]!r})")
                yield row[:-1]

    def _rows(self, table: str, where: str = "", values: Sequence[str | None] = ()) -> list[Any]:
        """Return the rows of `_stream`."""
        return list(self._stream(table, where, values))

    def _check_totals(self, table: str) -> None:
        [counted] = self._read(f"SELECT count(*), coalesce(sum(checksum), 0) FROM {table}")
        if [counted] != self._read("SELECT n, checksums FROM totals WHERE name = ?", (table,)):
            raise self.damaged(f"rows of {table} are missing")

    def _put(self, table: str, rows: Iterable[Sequence[str | bytes | None]]) -> None:
        """Insert rows, replacing those with the same key."""
        marks = ", ".join("?" * (TABLES[table][0].count(",") + 2))
        with storage_errors(self.path.parent):
            self._db.executemany(
                f"INSERT OR REPLACE INTO {table} VALUES ({marks})", ((*row, checksum(row)) for row in rows)
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file; while a reader needs the log, leave that to the next writer."""
        with storage_errors(self.path.parent):
            self._db.execute("PRAGMA busy_timeout=500")  # a reader may stay for days
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("PRAGMA busy_timeout=30000")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block together, or none.

        Raises:
            MissingRequirement: if the disk is full or read-only.
        """
        with storage_errors(self.path.parent), transaction(self._db):
            yield

    def copy_to(self, path: Path) -> None:
        """Write a copy of the ledger to a new file."""
        with storage_errors(path.parent), closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)

    def hold(self) -> None:
        """Make all reads until `close` see the present state, whatever writers do; for readers."""
        self._db.execute("BEGIN")
        self._read("SELECT 1 FROM facts LIMIT 1")  # SQLite fixes the state at the first read

    def check(self) -> None:
        """Compare all checksums, row counts and SQLite's own structures.

        Raises:
            StoreError: if any row is damaged or missing.
        """
        if (found := self._read("PRAGMA integrity_check")) != [("ok",)]:
            raise self.damaged(str(found[0][0]))
        for table in TABLES:
            if table == "vectors":
                for collection in self._read("SELECT DISTINCT collection FROM vectors"):
                    for _ in self.all_vectors(collection[0]):
                        pass
            else:
                for _ in self._stream(table):
                    pass
            self._check_totals(table)

    # --- facts: single values of the whole knowledge base -------------------------------------------------------------

    def fact(self, key: str) -> str | None:
        """Return the value of a fact, or None."""
        rows = self._rows("facts", "WHERE key = ?", (key,))
        return rows[0][1] if rows else None

    def unfinished(self) -> tuple[Literal["build", "update"], ...]:
        """Return the kinds of work that were interrupted."""
        facts: tuple[tuple[Literal["build", "update"], str], ...] = (("build", "building"), ("update", "updating"))
        return tuple(work for work, fact in facts if self.fact(fact) is not None)

    def facts(self, prefix: str) -> list[tuple[str, str]]:
        """Return `(key, value)` of all facts with this prefix, sorted by key."""
        return [row for row in self._rows("facts") if row[0].startswith(prefix)]

    def set_fact(self, key: str, value: str) -> None:
        """Set a fact."""
        self._put("facts", [(key, value)])

    def drop_fact(self, key: str) -> None:
        """Delete a fact."""
        with storage_errors(self.path.parent):
            self._db.execute("DELETE FROM facts WHERE key = ?", (key,))

    def drop_facts(self, prefix: str) -> None:
        """Delete all facts with this prefix."""
        for key, _ in self.facts(prefix):
            self.drop_fact(key)

    # --- subjects ------------------------------------------------------------------------------------------------

    def add_subjects(self, rows: Iterable[tuple[str, SubjectKind, str, str]]) -> None:
        """Add or replace `(subject_id, kind, name, record JSON)`."""
        self._put("subjects", rows)

    def subjects(self, kind: SubjectKind) -> dict[str, str]:
        """Return subject_id -> record JSON of all subjects of a kind, sorted by id."""
        return {key: record for key, _, _, record in self._stream("subjects", "WHERE kind = ?", (kind,))}

    def subject_names(self, kind: SubjectKind) -> dict[str, str]:
        """Return subject_id -> name of all subjects of a kind."""
        return {key: name for key, _, name, _ in self._stream("subjects", "WHERE kind = ?", (kind,))}

    def drop_subjects(self, subject_ids: Iterable[str]) -> None:
        """Delete subjects with their steps, vectors and entries."""
        ids = list(subject_ids)
        self.publish([], gone=ids)
        for table in ("subjects", "steps", "vectors"):
            self._db.executemany(f"DELETE FROM {table} WHERE subject_id = ?", [(key,) for key in ids])

    def set_left_out(self, found: Iterable[LeftOut]) -> None:
        """Add or replace left-out pages and names."""
        self._put("left_out", ((item.name, item.reason, item.detail) for item in found))

    def drop_left_out(self, names: Iterable[str]) -> None:
        """Remove names from the left-out list."""
        self._db.executemany("DELETE FROM left_out WHERE name = ?", [(name,) for name in names])

    def left_out(self) -> list[tuple[str, str, str]]:
        """Return `(name, reason, detail)` of left-out pages and names, sorted by name."""
        return self._rows("left_out")

    # --- steps ---------------------------------------------------------------------------------------------------

    def record(self, steps: Iterable[Step]) -> None:
        """Add or replace results of stages."""
        self._put("steps", steps)

    def steps(self, stage: str, space: str = "") -> dict[str, Step]:
        """Return subject_id -> result of a stage, sorted by subject."""
        return {step.subject_id: step for step in self.each_step(stage, space)}

    def each_step(self, stage: str, space: str = "") -> Iterator[Step]:
        """Yield the results of a stage, sorted by subject."""
        for row in self._stream("steps", "WHERE stage = ? AND space = ?", (stage, space)):
            yield Step(*row)

    def outputs(self, stage: str, record: type[RecordT], *statuses: StepStatus) -> dict[str, RecordT]:
        """Return subject_id -> output of a stage, sorted by subject, of steps with one of `statuses` if any."""
        return dict(self.each_output(stage, record, *statuses))

    def each_output(self, stage: str, record: type[RecordT], *statuses: StepStatus) -> Iterator[tuple[str, RecordT]]:
        """Yield the items of `outputs`; one output is in memory at a time."""
        for step in self.each_step(stage):
            if step.output is not None and (not statuses or step.status in statuses):
                yield step.subject_id, loads(record, step.output)

    def step(self, subject_id: str, stage: str, space: str = "") -> Step | None:
        """Return the result of a stage for one subject, or None."""
        rows = self._rows("steps", "WHERE stage = ? AND space = ? AND subject_id = ?", (stage, space, subject_id))
        return Step(*rows[0]) if rows else None

    def n_marked_otherwise(self, stage: str, spaces: Sequence[str], *, end: str) -> int:
        """Return the number of subjects with a result in one of the spaces whose mark ends otherwise."""
        [(n,)] = self._read(
            "SELECT count(DISTINCT subject_id) FROM steps WHERE stage = ? AND substr(fingerprint, ?) <> ?"
            f" AND space IN ({', '.join('?' * len(spaces))})",
            (stage, str(FINGERPRINT_DIGITS + 1), end, *spaces),
        )
        return int(n)

    def drop_steps(self, subject_ids: Iterable[str], stages: Sequence[str], *, space: str | None = None) -> None:
        """Delete results, in all spaces or in one, so that the next build repeats these stages."""
        self._db.executemany(
            "DELETE FROM steps WHERE stage = ? AND space = coalesce(?, space) AND subject_id = ?",
            [(stage, space, subject_id) for subject_id in subject_ids for stage in stages],
        )

    def failures(self) -> list[Failure]:
        """Return the current failures, by name and stage."""
        failed = [Step(*row) for row in self._rows("steps", "WHERE status = 'failed'")]
        names = {row[0]: row[2] for row in self._stream("subjects")} if failed else {}
        found = [
            Failure(taxon=names.get(s.subject_id, s.subject_id), stage=s.stage, reason=s.error or "?") for s in failed
        ]
        return sorted(found, key=lambda failure: (failure.taxon, failure.stage))

    # --- vectors -------------------------------------------------------------------------------------------------

    def put_vectors(self, collection: str, rows: Iterable[tuple[str, str, FloatArray]]) -> None:
        """Add or replace `(subject_id, item_id, vector)`; a vector is `(dim,)` float32."""
        by_subject: dict[str, dict[str, FloatArray]] = {}
        for subject, item, vector in rows:
            by_subject.setdefault(subject, {})[item] = vector
        self._put(
            "vectors",
            [
                _vector_row(subject, collection, self.vectors(collection, subject) | vectors)
                for subject, vectors in by_subject.items()
            ],
        )

    def vectors(self, collection: str, subject_id: str) -> dict[str, FloatArray]:
        """Return item_id -> `(dim,)` float32 vector of one subject."""
        rows = self._rows("vectors", "WHERE collection = ? AND subject_id = ?", (collection, subject_id))
        return _vectors(rows[0]) if rows else {}

    def vectors_of(self, collection: str, subject_id: str, items: Sequence[str]) -> list[FloatArray]:
        """Return the vectors of these items of one subject.

        Raises:
            StoreError: if one is missing.
        """
        held = self.vectors(collection, subject_id) if items else {}
        if missing := [item for item in items if item not in held]:
            raise self.damaged(f"the vector of {missing[0]} of {subject_id} in {collection} is missing")
        return [held[item] for item in items]

    def matrices_of(
        self, collection: str, wanted: Iterable[tuple[str, Sequence[str]]]
    ) -> Iterator[tuple[str, Sequence[str], FloatArray]]:
        """Yield subject, items and their vectors, `(n, dim)`, of many `(subject_id, items)`, sorted by subject.

        Raises:
            StoreError: if a vector is missing.
        """
        held = self.all_vectors(collection)
        at, vectors = next(held, ("", {}))
        for subject_id, items in wanted:
            while at < subject_id:
                at, vectors = next(held, (subject_id, {}))
            found = vectors if at == subject_id else {}
            if missing := [item for item in items if item not in found]:
                raise self.damaged(f"the vector of {missing[0]} of {subject_id} in {collection} is missing")
            yield subject_id, items, np.stack([found[item] for item in items])

    def keep_vectors(self, collection: str, subject_id: str, items: Sequence[str]) -> None:
        """Delete the vectors of one subject except those of `items`."""
        held = self.vectors(collection, subject_id)
        if set(held) <= set(items):
            return
        self._db.execute("DELETE FROM vectors WHERE collection = ? AND subject_id = ?", (collection, subject_id))
        if remaining := {item: vector for item, vector in held.items() if item in items}:
            self._put("vectors", [_vector_row(subject_id, collection, remaining)])

    def all_vectors(self, collection: str) -> Iterator[tuple[str, dict[str, FloatArray]]]:
        """Yield `(subject_id, item_id -> vector)` of a whole collection, sorted by subject."""
        last = ""
        while rows := self._read(
            "SELECT subject_id FROM vectors WHERE collection = ? AND subject_id > ? ORDER BY subject_id LIMIT 500",
            (collection, last),
        ):
            first, last = rows[0][0], rows[-1][0]
            where = "WHERE collection = ? AND subject_id BETWEEN ? AND ?"
            for row in self._rows("vectors", where, (collection, first, last)):
                yield row[0], _vectors(row)

    def rows(self, table: Literal["subjects", "steps", "left_out"]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as column -> text, sorted by key."""
        names = TABLES[table][0].split(", ")
        for row in self._stream(table):
            yield dict(zip(names, row, strict=True))

    # --- entries -------------------------------------------------------------------------------------------------

    def publish(self, entries: Sequence[Entry], *, gone: Sequence[str] = ()) -> None:
        """Add or replace entries, delete those of `gone`, and mark all of them as pending.

        The caller holds a transaction and calls `kb.store.project` after it.
        """
        self.note_pending([*(entry.subject_id for entry in entries), *gone])
        self.set_fact(GENERATION, secrets.token_hex(8))
        self._db.executemany("DELETE FROM entries WHERE subject_id = ?", [(key,) for key in gone])
        self._put("entries", ((*entry[:-1], json.dumps(entry.items, sort_keys=True)) for entry in entries))

    def entries(self, kind: SubjectKind | None = None) -> Iterator[Entry]:
        """Yield the finished subjects, species before terms, each sorted by id; few are in memory."""
        for each in ("taxon", "term") if kind is None else (kind,):
            yield from map(_entry, self._stream("entries", "WHERE kind = ?", (each,)))

    def entry_ids(self, kind: SubjectKind) -> list[str]:
        """Return the ids of the finished subjects of a kind, sorted.

        Raises:
            StoreError: if an entry of any kind is damaged or missing.
        """
        self._check_totals("entries")
        return [row[0] for row in self._stream("entries") if row[1] == kind]

    def documents(self, kind: SubjectKind) -> list[str]:
        """Return the summaries or definitions of the finished subjects of a kind, sorted by id."""
        return [row[3] for row in self._stream("entries", "WHERE kind = ?", (kind,))]

    def entry(self, subject_id: str) -> Entry | None:
        """Return a finished subject, or None."""
        rows = self._rows("entries", "WHERE subject_id = ?", (subject_id,))
        return _entry(rows[0]) if rows else None

    def generation(self) -> str:
        """Return the name of the current state; empty before the first entry."""
        return self.fact(GENERATION) or ""

    def state_of_species(self) -> str:
        """Return a hash that changes with the entry or the record of any species, and with nothing else.

        A build changes the records, and so the names, before it publishes the entries.
        """
        found = hashlib.sha256()
        for table in ("subjects", "entries"):
            with self._read_errors():
                for row in self._db.execute(
                    f"SELECT subject_id, checksum FROM {table} WHERE kind = 'taxon' ORDER BY subject_id"
                ):
                    found.update(json.dumps([table, *row]).encode())
        return found.hexdigest()

    # --- pending: subjects whose rows in Chroma are out of date -----------------------------------------------------

    def note_pending(self, subject_ids: Iterable[str]) -> None:
        """Mark subjects as pending, with the items that Chroma may hold of them."""
        for key in subject_ids:
            noted = self._read("SELECT items FROM pending WHERE subject_id = ?", (key,))
            items: dict[str, list[str]] = json.loads(noted[0][0]) if noted else {}
            held = self.entry(key)
            for kind, ids in (held.items if held is not None else {}).items():
                items[kind] = list(dict.fromkeys((*items.get(kind, ()), *ids)))
            self._db.execute("INSERT OR REPLACE INTO pending VALUES (?, ?)", (key, json.dumps(items, sort_keys=True)))

    def pending(self) -> dict[str, dict[str, list[str]]]:
        """Return pending subject, sorted by id -> the items by kind that Chroma may hold of it."""
        rows = self._read("SELECT subject_id, items FROM pending ORDER BY subject_id")
        return {subject_id: json.loads(items) for subject_id, items in rows}

    def drop_pending(self) -> None:
        """Clear the pending subjects."""
        self._db.execute("DELETE FROM pending")


def _vector_row(subject_id: str, collection: str, vectors: Mapping[str, FloatArray]) -> tuple[str | bytes, ...]:
    rows = np.stack([np.asarray(vector, dtype="<f4") for vector in vectors.values()])
    return subject_id, collection, json.dumps(list(vectors)), rows.tobytes()


def _vectors(row: tuple[Any, ...]) -> dict[str, FloatArray]:
    items = json.loads(row[2])
    return dict(zip(items, np.frombuffer(row[3], dtype="<f4").reshape(len(items), -1), strict=True))


def _entry(row: tuple[Any, ...]) -> Entry:
    subject_id, kind, name, document, record, items = row
    return Entry(subject_id, kind, name, document, record, json.loads(items))


@contextmanager
def ledger_so_far(path: Path) -> Iterator[Ledger | None]:
    """Open a ledger to read the results of earlier builds; None without a file, or without tables in it.

    A build that is killed at once, or finds the disk full, leaves a file without tables; the next build begins with it.
    """
    try:
        ledger = Ledger(path, read_only=True) if path.is_file() else None
    except KnowledgeBaseLocked:
        ledger = None
    try:
        yield ledger
    finally:
        if ledger is not None:
            ledger.close()
