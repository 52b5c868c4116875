"""Projection: the only function that fills Chroma from the ledger, and the memory-mapped matrices from Chroma.

Every writer (build, add, remove, learning, import, move, verify) first changes the ledger in one transaction, which
also marks the changed subjects as pending, and then calls `project`. Nothing else writes to Chroma.

A crash loses nothing, because the ledger is the only source and SQLite commits each transaction whole or not at all.

- Killed before `project`: the pending subjects are in the ledger, and the next writer projects them.
- Killed inside: the seal, a fact of the ledger with the checksums of Chroma's index files, is deleted before Chroma is
  written to, and set in the transaction that clears the pending subjects. An embedded Chroma without a matching seal is
  deleted and filled again. Its files are never opened, because Chroma maps them unchecked and damage can crash the
  process. A Chroma server has no seal: there, pending subjects are upserted again, and a collection whose row count
  differs from the ledger's is filled again.
- Readers never open Chroma: their matrices lie in the cache. Where these are missing or damaged, they compute the same
  answers from the ledger's vectors.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace

from data.batches import grouped
from data.errors import ChromaDiffers, SourceUnavailable, StoreError
from kb.store.chroma import Collections
from kb.store.chroma.folder import blank_unset_memory, index_checksums, is_intact
from kb.store.layout import KnowledgeBaseInfo, Layout, keep_info, write_info
from kb.store.ledger import Ledger
from kb.store.matrices import warm_cache
from kb.store.rows import row_id, rows_of, subject_of

SEAL = "chroma"
"""Fact with the checksums of Chroma's index files; absent while Chroma is being written to."""


def counts(ledger: Ledger) -> dict[str, int]:
    """Return kind of collection -> number of rows of each collection of this kind."""
    found: dict[str, int] = {}
    for _, held in ledger.items():
        for kind, items in held.items():
            found[kind] = found.get(kind, 0) + len(items)
    return found


def is_sealed(layout: Layout, ledger: Ledger) -> bool:
    """Return whether the index files of an embedded Chroma are as the last writer left them."""
    seal = ledger.fact(SEAL)
    return seal is not None and json.loads(seal) == index_checksums(layout.chroma)


GROUP = 1_000  # subjects written at a time


def project(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, *, report: Callable[[int], None] = lambda _: None
) -> list[str]:
    """Update Chroma and the cache from the ledger, and return notes on what had to be filled again.

    For the holder of the writer's lock, outside a transaction. `report` gets the number of subjects written.

    Raises:
        SourceUnavailable: if the Chroma server does not answer.
        MissingRequirement: if the disk is full.
        StoreError: if the ledger is damaged.
    """
    keep_info(ledger, info)
    notes: list[str] = []
    try:
        _fill(layout, info, ledger, notes, report)
    except StoreError as error:
        notes.append(f"{error}; filled again from the ledger")
        empty(layout, info, ledger)
        _fill(layout, info, ledger, notes, report)
    return notes


def _fill(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, notes: list[str], report: Callable[[int], None]
) -> None:
    with closing(_open(layout, info, ledger, notes)) as collections:
        _write(ledger, collections, report)
        expected = counts(ledger)
        for name, (kind, _) in collections.names.items():
            if (n := collections.count(name)) != expected.get(kind, 0):
                raise ChromaDiffers(f"Chroma had {n:,} rows in {name}, expected {expected.get(kind, 0):,}")
        if ledger.pending() or not (info.chroma or ledger.fact(SEAL)):
            for name in collections.names:
                collections.settle(name)
            if not info.chroma:
                blank_unset_memory(layout.chroma)
            with ledger.transaction():
                ledger.drop_pending()
                if not info.chroma:
                    ledger.set_fact(SEAL, json.dumps(index_checksums(layout.chroma)))
        warm_cache(layout, ledger, collections)


def _open(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, notes: list[str]) -> Collections:
    if not info.chroma and not (is_sealed(layout, ledger) and is_intact(layout.chroma)):
        if ledger.fact(SEAL) is not None or layout.chroma.exists():
            notes.append("Chroma was missing, damaged or incomplete; filled again from the ledger")
        empty(layout, info, ledger)
    return Collections(layout, info)


def empty(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
    """Delete all rows from Chroma, and mark every subject as pending."""
    with ledger.transaction():
        ledger.drop_fact(SEAL)
        ledger.drop_pending()
        ledger.note_pending(subject_id for subject_id, _ in ledger.items())
    _delete(layout, info)


def _delete(layout: Layout, info: KnowledgeBaseInfo) -> None:
    if not info.chroma:
        shutil.rmtree(layout.chroma, ignore_errors=True)
        return
    with closing(Collections(layout, info)) as collections:
        for name in collections.names:
            collections.drop(name)


def _write(ledger: Ledger, collections: Collections, report: Callable[[int], None]) -> None:
    pending = ledger.pending()
    if not pending:
        return
    ledger.drop_fact(SEAL)
    for ids in grouped(pending, GROUP):
        group = ledger.pending_items(ids).items()
        subjects = list(map(subject_of, ledger.entries_of(ids).values()))
        for name, (kind, _) in collections.names.items():
            rows = [row for subject in subjects for row in rows_of(subject, ledger, name, kind)]
            wanted = {row.id for row in rows}
            held = [row_id(key, kind, item) for key, items in group for item in items.get(kind, ())]
            collections.delete(name, [row for row in held if row not in wanted])
            collections.upsert(name, rows)
        report(len(group))
    n_rows = counts(ledger)
    for name, (kind, _) in collections.names.items():
        if not n_rows.get(kind):  # readers would write to the index files of an empty collection
            collections.drop(name)


def collections_at(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, to: str | None) -> KnowledgeBaseInfo:
    """Return `kb.toml` with the collections at `to`, a server's address or empty for the folder; None: where they are.

    They are filled from the ledger, and `kb.toml` is changed when all are there. Then the old ones are deleted, if
    their server answers. For the holder of the writer's lock.

    Raises:
        ConfigError: if `to` is not an address.
        SourceUnavailable: if the server does not answer; this is found before pages are fetched for hours.
    """
    if to is None or to == info.chroma:
        if info.chroma:
            Collections(layout, info).close()
        return info
    moved = replace(info, chroma=to)
    empty(layout, moved, ledger)
    project(layout, moved, ledger)
    write_info(layout.toml, moved)
    with suppress(SourceUnavailable):  # which may be the reason for moving
        _delete(layout, info)
    return moved
