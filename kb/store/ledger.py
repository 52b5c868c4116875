"""The ledger: results of all stages and finished subjects, from which the rest of a knowledge base can be made again.

A subject is a species or a term. The result of a stage is valid only for the input whose fingerprint it carries. Every
row has a checksum, compared on each read and by `kb verify`. Damage is therefore an error with a remedy, never a wrong
answer. Vectors lie here only until they are published.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from data.arrays import FloatArray
from data.batches import grouped
from data.codec import loads
from data.errors import KnowledgeBaseLocked
from data.files import sha256_hex
from data.records import Failure, LeftOut, SubjectKind
from kb.store.ledger_file import TABLES, LedgerFile

FINGERPRINT_DIGITS = 32


def fingerprint(*parts: object) -> str:
    """Return 32 hex digits that identify the parts, which may be anything that JSON can express."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")))[:FINGERPRINT_DIGITS]


StepStatus = Literal["done", "failed", "left-out"]


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


RecordT = TypeVar("RecordT")
GENERATION = "generation"
"""Fact with the name of the current state, and of the folder with its vectors; every publication sets a new one."""


class Vectors:
    """Vectors that no reader has yet, each `(dim,)` float32: a row for each subject and collection."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def put(self, collection: str, rows: Iterable[tuple[str, str, FloatArray]]) -> None:
        """Add or replace `(subject_id, item_id, vector)`."""
        by_subject: dict[str, dict[str, FloatArray]] = {}
        for subject, item, vector in rows:
            by_subject.setdefault(subject, {})[item] = vector
        packed = []
        for subject, new in by_subject.items():
            vectors = self.of_subject(collection, subject) | new
            numbers = np.stack([np.asarray(vector, dtype="<f4") for vector in vectors.values()]).tobytes()
            packed.append((subject, collection, json.dumps(list(vectors)), numbers))
        self._file.put("encoded", packed)

    def of_subject(self, collection: str, subject_id: str) -> dict[str, FloatArray]:
        """Return item_id -> vector of one subject."""
        rows = self._file.select("encoded", "WHERE collection = ? AND subject_id = ?", (collection, subject_id))
        if not rows:
            return {}
        items = json.loads(rows[0][2])
        return dict(zip(items, np.frombuffer(rows[0][3], dtype="<f4").reshape(len(items), -1), strict=True))

    def subjects(self) -> set[str]:
        """Return the ids of all subjects with vectors in the table."""
        return {subject_id for (subject_id,) in self._file.read("SELECT DISTINCT subject_id FROM encoded")}

    def drop(self, subject_ids: Iterable[str]) -> None:
        """Delete all vectors of some subjects."""
        for group in grouped(subject_ids, 500):  # each reads the whole table
            self._file.delete("encoded", f"subject_id IN ({', '.join('?' * len(group))})", [group])


class Ledger(LedgerFile):
    """The ledger of one knowledge base; arguments and errors are those of `LedgerFile`."""

    def __init__(self, path: Path, *, read_only: bool = False, create: bool = False) -> None:
        super().__init__(path, read_only=read_only, create=create)
        self.encoded = Vectors(self)
        self.pending: dict[str, dict[str, list[str]]] = {}
        """Subjects that `publish` changed, with the items by kind that Chroma may hold of them."""

    def check(self) -> None:
        """Compare all checksums, and rows with indices: SQLite finds lost rows, but no changed letter."""
        if (found := self.read("PRAGMA integrity_check")) != [("ok",)]:
            raise self.damaged(str(found[0][0]))
        for table in TABLES:
            for _ in self.stream(table):
                pass

    def _rows(self, table: str, ids: Sequence[str] | None, where: str = "TRUE", *values: str) -> Iterator[Any]:
        """Yield the rows of a table that satisfy a condition, sorted by key; with `ids`, those of some hundreds."""
        among = "" if ids is None else f" AND subject_id IN ({', '.join('?' * len(ids))})"
        return self.stream(table, f"WHERE {where}{among}", (*values, *(ids or ())))

    def rows(self, table: Literal["subjects", "steps", "left_out"]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as column -> text, sorted by key."""
        names = TABLES[table][0].split(", ")
        for row in self.stream(table):
            yield dict(zip(names, row, strict=True))

    def fact(self, key: str) -> str | None:
        """Return the value of a fact, or None."""
        rows = self.select("facts", "WHERE key = ?", (key,))
        return rows[0][1] if rows else None

    def unfinished(self) -> tuple[Literal["build", "update"], ...]:
        """Return the kinds of work that were interrupted."""
        facts: dict[Literal["build", "update"], str] = {"build": "building", "update": "updating"}
        return tuple(work for work, fact in facts.items() if self.fact(fact) is not None)

    def facts(self, prefix: str) -> list[tuple[str, str]]:
        """Return `(key, value)` of all facts with this prefix, sorted by key."""
        return [row for row in self.select("facts") if row[0].startswith(prefix)]

    def set_fact(self, key: str, value: str) -> None:
        """Set a fact."""
        self.put("facts", [(key, value)])

    def drop_fact(self, key: str) -> None:
        """Delete a fact."""
        self.delete("facts", "key = ?", [(key,)])

    def drop_facts(self, prefix: str) -> None:
        """Delete all facts with this prefix."""
        for key, _ in self.facts(prefix):
            self.drop_fact(key)

    def add_subjects(self, rows: Iterable[tuple[str, SubjectKind, str, str]]) -> None:
        """Add or replace `(subject_id, kind, name, record JSON)`."""
        self.put("subjects", rows)

    def subjects(self, kind: SubjectKind, *, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return subject_id -> record JSON of all subjects of a kind, or of some hundreds of `ids`, sorted by id."""
        return {key: record for key, _, _, record in self._rows("subjects", ids, "kind = ?", kind)}

    def subject_names(self, kind: SubjectKind) -> dict[str, str]:
        """Return subject_id -> name of all subjects of a kind."""
        return {key: name for key, _, name, _ in self.stream("subjects", "WHERE kind = ?", (kind,))}

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

    def drop_subjects(self, subject_ids: Iterable[str]) -> None:
        """Delete subjects with their steps and vectors; readers see their entries until `publish` deletes them."""
        ids = list(subject_ids)
        for table in ("subjects", "steps", "encoded"):
            self.delete(table, "subject_id = ?", [(key,) for key in ids])

    def set_left_out(self, found: Iterable[LeftOut]) -> None:
        """Add or replace left-out pages and names."""
        self.put("left_out", ((item.name, item.reason, item.detail) for item in found))

    def drop_left_out(self, names: Iterable[str]) -> None:
        """Remove names from the left-out list."""
        self.delete("left_out", "name = ?", [(name,) for name in names])

    def left_out(self) -> list[tuple[str, str, str]]:
        """Return `(name, reason, detail)` of left-out pages and names, sorted by name."""
        return self.select("left_out")

    def record(self, steps: Iterable[Step]) -> None:
        """Add or replace results of stages."""
        self.put("steps", steps)

    def steps(self, stage: str, space: str = "", *, ids: Sequence[str] | None = None) -> dict[str, Step]:
        """Return subject_id -> result of a stage, sorted by subject; with `ids`, those of some hundreds."""
        return {step.subject_id: step for step in self.each_step(stage, space, ids=ids)}

    def each_step(self, stage: str, space: str = "", *, ids: Sequence[str] | None = None) -> Iterator[Step]:
        """Yield the values of `steps`; few are in memory."""
        for row in self._rows("steps", ids, "stage = ? AND space = ?", stage, space):
            yield Step(*row)

    def n_done(self, stage: str, ids: Sequence[str] | None = None) -> int:
        """Return the number of subjects (of these, if `ids`) for which a stage is done."""
        return sum(step.status == "done" for step in self.each_step(stage, ids=ids))

    def step(self, subject_id: str, stage: str, space: str = "") -> Step | None:
        """Return the result of a stage for one subject, or None."""
        return self.steps(stage, space, ids=[subject_id]).get(subject_id)

    def outputs(
        self, stage: str, record: type[RecordT], *statuses: StepStatus, ids: Sequence[str] | None = None
    ) -> dict[str, RecordT]:
        """Return subject_id -> output of a stage as `steps`, of results with one of `statuses` if any."""
        return dict(self.each_output(stage, record, *statuses, ids=ids))

    def each_output(
        self, stage: str, record: type[RecordT], *statuses: StepStatus, ids: Sequence[str] | None = None
    ) -> Iterator[tuple[str, RecordT]]:
        """Yield the items of `outputs`; one output is in memory at a time."""
        for step in self.each_step(stage, ids=ids):
            if step.output is not None and (not statuses or step.status in statuses):
                yield step.subject_id, loads(record, step.output)

    def n_marked_otherwise(self, stage: str, spaces: Sequence[str], *, end: str) -> int:
        """Return the number of subjects with a result in one of the spaces whose mark ends otherwise."""
        [(n,)] = self.read(
            "SELECT count(DISTINCT subject_id) FROM steps WHERE stage = ? AND substr(fingerprint, ?) <> ?"
            f" AND space IN ({', '.join('?' * len(spaces))})",
            (stage, str(FINGERPRINT_DIGITS + 1), end, *spaces),
        )
        return int(n)

    def drop_steps(self, subject_ids: Iterable[str], stages: Sequence[str], *, space: str | None = None) -> None:
        """Delete results, in all spaces or in one, so that the next build repeats these stages."""
        self.delete(
            "steps",
            "stage = ? AND space = coalesce(?, space) AND subject_id = ?",
            [(stage, space, subject_id) for subject_id in subject_ids for stage in stages],
        )

    def drop_encoding(self, collections: Iterable[str]) -> None:
        """Make the next build encode the contents of these collections again, but for those of `encoded`."""
        self.delete(
            "steps",
            "stage = 'encode' AND space = ?"
            " AND subject_id NOT IN (SELECT subject_id FROM encoded WHERE collection = ?)",
            [(name, name) for name in collections],
        )

    def outdate_steps(self, subject_ids: Sequence[str], stage: str) -> None:
        """Make the next build repeat a stage; its results are used until then."""
        for group in grouped(subject_ids, 500):
            self.record(step._replace(fingerprint="") for step in self.each_step(stage, ids=group))

    def failures(self) -> list[Failure]:
        """Return the current failures, by name and stage."""
        failed = [Step(*row) for row in self.select("steps", "WHERE status = 'failed'")]
        names = {row[0]: row[2] for row in self.stream("subjects")} if failed else {}
        found = [
            Failure(taxon=names.get(s.subject_id, s.subject_id), stage=s.stage, reason=s.error or "?") for s in failed
        ]
        return sorted(found, key=lambda failure: (failure.taxon, failure.stage))

    def publish(self, entries: Sequence[Entry], *, gone: Sequence[str] = ()) -> None:
        """Add or replace entries, delete those of `gone`, and note all of them as pending.

        For the block of `kb.store.generations.publishing`.
        """
        for ids in grouped((*(entry.subject_id for entry in entries), *gone), 500):
            held = self.entries_of(ids)
            for key in ids:
                items = self.pending.setdefault(key, {})
                for kind, before in (held[key].items if key in held else {}).items():
                    items[kind] = list(dict.fromkeys((*items.get(kind, ()), *before)))
        self.delete("entries", "subject_id = ?", [(key,) for key in gone])
        self.put("entries", ((*entry[:-1], json.dumps(entry.items, sort_keys=True)) for entry in entries))

    def entries(self, kind: SubjectKind | None = None) -> Iterator[Entry]:
        """Yield the finished subjects, species before terms, each sorted by id; few are in memory."""
        for each in ("taxon", "term") if kind is None else (kind,):
            yield from map(_entry, self._rows("entries", None, "kind = ?", each))

    def items(self, kind: SubjectKind | None = None) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """Yield id and items of the finished subjects in the order of `entries`, without comparing checksums.

        For counts and further passes: a tenth of the time, beside a reading of the whole entries.
        """
        for each in ("taxon", "term") if kind is None else (kind,):
            for rows in self.pages("SELECT subject_id, items FROM entries WHERE kind = ? ORDER BY subject_id", (each,)):
                for subject_id, items in rows:
                    try:
                        yield subject_id, json.loads(items)
                    except ValueError as error:
                        raise self.damaged(f"the items of {subject_id} cannot be read") from error

    def entry_ids(self, kind: SubjectKind) -> list[str]:
        """Return the ids of the finished subjects of a kind, sorted."""
        entries = [(row[0], row[1]) for row in self.stream("entries")]  # by their index
        if self.read("SELECT count(*) FROM entries NOT INDEXED") != [(len(entries),)]:
            raise self.damaged("rows of entries are missing")
        return [subject_id for subject_id, each in entries if each == kind]

    def entry(self, subject_id: str) -> Entry | None:
        """Return a finished subject, or None."""
        return self.entries_of([subject_id]).get(subject_id)

    def entries_of(self, ids: Sequence[str]) -> dict[str, Entry]:
        """Return subject_id -> entry, for the finished subjects among some hundreds."""
        return {row[0]: _entry(row) for row in self._rows("entries", ids)}

    def begin_generation(self) -> None:
        """Give the state a new name."""
        self.set_fact(GENERATION, secrets.token_hex(8))

    def generation(self) -> str:
        """Return the name of the current state; empty before the first entry."""
        return self.fact(GENERATION) or ""


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
