"""Projection: the one function that fills Chroma from the ledger, and the mapped matrices that are read from Chroma.

Every writer (build, add, remove, learning, import, move, verify) changes the ledger in a transaction, in which the
ledger notes the changed subjects as pending, and then calls `project`. Nothing else writes to Chroma.

Why a crash loses nothing: the ledger alone is the truth, and SQLite keeps its transactions whole.

- Killed before `project`: the pending subjects stand in the ledger, Chroma is what it was, and the next
  writer adds them.
- Killed inside: the seal, a fact of the ledger with the checksums of Chroma's index files, is dropped before Chroma is
  touched and set in the transaction that clears the pending subjects. An embedded Chroma without its seal, or with
  files that do not fit it, is thrown away and filled again; its files are never opened, since Chroma maps them
  unchecked and damage there can end the process. A Chroma server has no seal: there pending subjects are written again,
  which is the same the second time, and a collection that has another number of rows than the ledger is filled again.
- Readers take Chroma's word only for the state that they opened, with nothing pending and the seal in place; else they
  compute the same answers from the ledger's vectors.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from data.arrays import FloatArray
from data.checksums import file_checksum
from data.contracts import VectorTable
from data.errors import ChromaDiffers, SourceUnavailable, StoreError
from data.files import turn
from data.vectors import read_table, write_tables
from kb.store.chroma import PAGE, Collections, throw_away
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, Layout, info_text, parse_info, write_info
from kb.store.ledger import Entry, Ledger
from kb.store.rows import row_id, rows_of, subject_of

INFO = "kb.toml"
"""The fact of the ledger that holds the text of `kb.toml`."""
SEAL = "chroma"
"""The fact of the ledger that holds the checksums of Chroma's index files; absent while Chroma is written to."""
GROUP = 1_000  # subjects written at a time


def project(
    layout: Layout,
    info: KnowledgeBaseInfo,
    ledger: Ledger,
    subjects: Iterable[str] | None = None,
    *,
    report: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """Make Chroma and the cache hold what the ledger holds, and return notes on what had to be filled again.

    Only for the holder of the writer's lock.

    Args:
        layout: the knowledge base.
        info: contents of its `kb.toml`.
        ledger: open for writing, outside a transaction.
        subjects: ids to write again beside the pending ones.
        report: called with the number of subjects written.

    Raises:
        SourceUnavailable: if a Chroma server does not answer.
        MissingRequirement: if the disk is full.
        StoreError: if the ledger is damaged.
    """
    keep_info(ledger, info)
    if subjects is not None:
        with ledger.transaction():
            ledger.note_pending(subjects)
    notes: list[str] = []
    try:
        _fill(layout, info, ledger, notes, report)
    except ChromaDiffers as error:
        notes.append(f"{error}; filled again from the ledger")
        empty(layout, info, ledger)
        _fill(layout, info, ledger, notes, report)
    return notes


def _fill(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, notes: list[str], report: Callable[[int], None]
) -> None:
    with closing(_open(layout, info, ledger, notes)) as collections:
        _write(ledger, collections, report)
        _check_counts(ledger, collections)
        _seal(layout, info, ledger, collections)
        warm_cache(layout, ledger, collections)


def keep_info(ledger: Ledger, info: KnowledgeBaseInfo) -> None:
    """Keep a copy of `kb.toml` in the ledger, from which `verify` can write it again."""
    if ledger.fact(INFO) != info_text(info):
        ledger.set_fact(INFO, info_text(info))


def check_info(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
    """Raise `StoreError` unless `kb.toml` is as it was written; `chroma` alone may have been changed by hand."""
    kept = ledger.fact(INFO)
    if kept is not None and replace(parse_info(kept, layout.toml), chroma=info.chroma) != info:
        raise StoreError(
            f"{layout.toml} is damaged: it is not what was written", hint=f"kb verify --kb {layout.root} restores it"
        )


def _open(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, notes: list[str]) -> Collections:
    """Return the collections; an embedded Chroma that is not as it was left is emptied first, and that is noted."""
    if info.chroma:
        return Collections(layout, info)
    if not is_sealed(layout, ledger) or not _is_database(layout.chroma / "chroma.sqlite3"):
        if ledger.fact(SEAL) is not None or layout.chroma.exists():
            notes.append("Chroma was missing, damaged or half written; filled again from the ledger")
        empty(layout, info, ledger)
    try:
        collections = Collections(layout, info)
        for name in collections.names:
            collections.count(name)
    except StoreError:
        notes.append("Chroma could not be read; filled again from the ledger")
        empty(layout, info, ledger)
        return Collections(layout, info)
    return collections


def _is_database(file: Path) -> bool:
    """Return whether SQLite finds no fault with a file, or there is none."""
    if not file.exists():
        return True
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    except sqlite3.Error:
        return False


def empty(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
    """Throw away what Chroma holds, and note every subject as pending."""
    with ledger.transaction():
        ledger.drop_fact(SEAL)
        ledger.drop_pending()
        ledger.note_pending(entry.subject_id for entry in ledger.all_entries())
    if not info.chroma:
        throw_away(layout.chroma)
        return
    with closing(Collections(layout, info)) as collections:
        for name in collections.names:
            collections.drop(name)


def _write(ledger: Ledger, collections: Collections, report: Callable[[int], None]) -> None:
    pending = ledger.pending()
    if pending:
        ledger.drop_fact(SEAL)
    for group in (pending[start : start + GROUP] for start in range(0, len(pending), GROUP)):
        entries = (ledger.entry(subject_id) for subject_id, _ in group)
        subjects = [subject_of(entry) for entry in entries if entry is not None]
        for name, (kind, _) in collections.names.items():
            rows = [row for subject in subjects for row in rows_of(subject, ledger, name, kind)]
            wanted = {row.id for row in rows}
            held = [row_id(key, kind, item) for key, items in group for item in items.get(kind, ())]
            collections.delete(name, [row for row in held if row not in wanted])
            collections.upsert(name, rows)
        report(len(group))
    expected = counts(ledger) if pending else {}
    for name, (kind, _) in collections.names.items():
        if pending and not expected.get(kind):  # readers would write to the index files of one without any row
            collections.drop(name)


def _check_counts(ledger: Ledger, collections: Collections) -> None:
    expected = counts(ledger)
    for name, (kind, _) in collections.names.items():
        if (n := collections.count(name)) != expected.get(kind, 0):
            raise ChromaDiffers(f"Chroma had {n:,} rows in {name}, expected {expected.get(kind, 0):,}")


def counts(ledger: Ledger) -> dict[str, int]:
    """Return kind of collection -> how many rows each collection of the kind has."""
    found: dict[str, int] = {}
    for entry in ledger.all_entries():
        for kind, items in entry.items.items():
            found[kind] = found.get(kind, 0) + len(items)
    return found


def _seal(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, collections: Collections) -> None:
    if not ledger.is_pending() and (info.chroma or ledger.fact(SEAL) is not None):
        return
    for name in collections.names:
        collections.settle(name)
    seal = {} if info.chroma else _index_files(layout)
    with ledger.transaction():
        ledger.drop_pending()
        if not info.chroma:
            ledger.set_fact(SEAL, json.dumps(seal, sort_keys=True))


def _index_files(layout: Layout) -> dict[str, str]:
    return {
        str(file.relative_to(layout.chroma)): file_checksum(file)
        for file in sorted(layout.chroma.glob("*/*"))
        if file.is_file()
    }


def is_sealed(layout: Layout, ledger: Ledger) -> bool:
    """Return whether the index files of an embedded Chroma are those that the last writer left."""
    seal = ledger.fact(SEAL)
    return seal is not None and json.loads(seal) == _index_files(layout)


# --- the matrices ------------------------------------------------------------------------------------------------


def matrix_names(collections: Collections) -> list[str]:
    """Return the collections that are mirrored as matrices: those that photos are scored against."""
    return [name for name, (kind, _) in collections.names.items() if kind in ("chunks", "anchors")]


def warm_cache(layout: Layout, ledger: Ledger, collections: Collections) -> None:
    """Write the matrices of the present generation unless they are there; of several processes one does it."""
    with turn(layout.cache_lock):
        generation = ledger.generation()
        names = matrix_names(collections)
        if any(read_table(layout.cache, generation, name) is None for name in names):
            entries = ledger.entries("taxon")
            tables = ((name, _table(entries, collections, name)) for name in names)
            write_tables(layout.cache, generation, tables)


def _table(entries: list[Entry], collections: Collections, name: str) -> VectorTable:
    """Return a collection as Chroma has it: rows by species, then in the order of the species' items.

    Raises:
        ChromaDiffers: if Chroma lacks a row.
    """
    kind, _ = collections.names[name]
    places = [
        (owner, entry.subject_id, item) for owner, entry in enumerate(entries) for item in entry.items.get(kind, ())
    ]
    vectors: FloatArray = np.zeros((0, 1), dtype=np.float32)
    for start in range(0, len(places), PAGE):
        ids = [row_id(key, kind, item) for _, key, item in places[start : start + PAGE]]
        found = collections.vectors(name, ids)
        if len(found) < len(set(ids)):
            raise ChromaDiffers(f"Chroma lacked rows of {name}")
        page = np.stack([found[row] for row in ids])
        if start == 0:
            vectors = np.empty((len(places), page.shape[1]), dtype=np.float32)
        vectors[start : start + len(ids)] = page
    return VectorTable(
        ids=tuple(item for _, _, item in places),
        owners=np.asarray([owner for owner, _, _ in places], dtype=np.intp),
        vectors=vectors,
    )


def ledger_table(ledger: Ledger, entries: list[Entry], collection: str, kind: CollectionKind) -> VectorTable:
    """Return a collection as the ledger has it, in the same order; owners are places in `entries`."""
    places: list[tuple[int, str]] = []
    vectors: list[FloatArray] = []
    for owner, entry in enumerate(entries):
        items = entry.items.get(kind, [])
        held = ledger.vectors(collection, entry.subject_id) if items else {}
        places += [(owner, item) for item in items]
        if lost := [item for item in items if item not in held]:
            raise ledger.damaged(f"it has no vector of {lost[0]} of {entry.subject_id} in {collection}")
        vectors += [held[item] for item in items]
    return VectorTable(
        ids=tuple(item for _, item in places),
        owners=np.asarray([owner for owner, _ in places], dtype=np.intp),
        vectors=np.stack(vectors) if vectors else np.zeros((0, 1), dtype=np.float32),
    )


def is_newest(layout: Layout, generation: str) -> bool:
    """Return whether Chroma holds the state `generation`: no later one is there, and no writer is changing it."""
    with closing(Ledger(layout.ledger, read_only=True)) as ledger, ledger.snapshot():
        return ledger.generation() == generation and not ledger.is_pending()


# --- moving ------------------------------------------------------------------------------------------------------


def collections_at(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, to: str | None) -> KnowledgeBaseInfo:
    """Return `kb.toml` with the collections at `to`, moved there if need be; None leaves them where they are.

    Raises:
        SourceUnavailable: if the server that has them, or shall, does not answer: before hours are spent on fetching.
    """
    if to is not None and to != info.chroma:
        return move_collections(layout, info, ledger, to=to)
    if info.chroma:
        Collections(layout, info).close()
    return info


def move_collections(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, *, to: str) -> KnowledgeBaseInfo:
    """Return `kb.toml` once the collections lie at `to`: the address of a Chroma server, or empty for the folder.

    They are filled from the ledger, and `kb.toml` names the new place only when everything is there. Only then the old
    one is emptied, if it can be reached. For the holder of the lock.

    Raises:
        ConfigError: if `to` is no address.
        SourceUnavailable: if the server there does not answer.
    """
    moved = replace(info, chroma=to)
    empty(layout, moved, ledger)
    project(layout, moved, ledger)
    write_info(layout.toml, moved)
    if not info.chroma:
        throw_away(layout.chroma)
        return moved
    with suppress(SourceUnavailable), closing(Collections(layout, info)) as source:  # that it is gone may be why
        for name in source.names:
            source.drop(name)
    return moved
