"""Tables of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

LEDGER_VERSION = 3
PAGE_BYTES = 8192  # vectors of 768 numbers waste less of such a page than of the usual 4096 bytes
TABLES: Mapping[str, tuple[str, str]] = {
    "facts": ("key, value", "key"),
    "subjects": ("subject_id, kind, name, record", "subject_id"),
    "steps": ("subject_id, stage, fingerprint, status, space, error, output", "stage, space, subject_id"),
    "left_out": ("name, reason, detail", "name"),
    "vectors": ("subject_id, collection, items, vectors", "collection, subject_id"),
    "entries": ("subject_id, kind, name, document, record, items", "subject_id"),
}
"""Table -> columns and primary key; each table also has the column `checksum`, over all other columns."""


def schema() -> Iterator[str]:
    """Yield the statements that create all tables."""
    yield "CREATE TABLE pending (subject_id TEXT PRIMARY KEY, items TEXT NOT NULL)"
    for table, (columns, key) in TABLES.items():
        yield f"CREATE TABLE {table} ({columns}, checksum INTEGER NOT NULL, PRIMARY KEY ({key}))"
    yield f"PRAGMA user_version = {LEDGER_VERSION}"
