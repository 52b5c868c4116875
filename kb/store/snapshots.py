"""What a reader answers from while a writer goes on: the state that it opened, kept by SQLite in the ledger's log.

Chroma and the cache know one state only, the newest. As long as that is the reader's own they answer; once a writer has
begun to change Chroma, the reader takes vectors out of the ledger instead, which holds them all.
"""

from __future__ import annotations

import numpy as np

from data.arrays import FloatArray, rank_descending
from data.contracts import VectorTable
from kb.store.layout import CollectionKind, Layout
from kb.store.ledger import Entry, Ledger


def is_newest(layout: Layout, generation: str) -> bool:
    """Return whether `generation` is what Chroma holds: no later one is there, and no writer is changing it."""
    ledger = Ledger(layout.ledger, read_only=True)
    try:
        with ledger.snapshot():
            return (ledger.fact("generation") or "") == generation and ledger.fact("indexing") is None
    finally:
        ledger.close()


def table_of(ledger: Ledger, entries: list[Entry], collection: str, kind: CollectionKind) -> VectorTable:
    """Return a collection as the ledger has it: rows by entry, then by position; owners are places in `entries`."""
    ids: list[str] = []
    owners: list[int] = []
    vectors: list[FloatArray] = []
    for owner, entry in enumerate(entries):
        rows = entry.rows.get(collection, [])
        held = ledger.vectors(collection, entry.subject_id) if rows else {}
        for row in rows:
            item = row.removeprefix(f"{entry.subject_id}/") if kind == "anchors" else row
            if item in held:
                ids.append(item)
                owners.append(owner)
                vectors.append(held[item])
    return VectorTable(
        ids=tuple(ids),
        owners=np.asarray(owners, dtype=np.intp),
        vectors=np.stack(vectors) if vectors else np.zeros((0, 1), dtype=np.float32),
    )


def nearest(table: VectorTable, vector: FloatArray, n: int) -> list[tuple[str, float]]:
    """Return up to `n` `(id, cosine)` of the rows nearest to a `(dim,)` unit vector, best first, ties by row."""
    if not table.ids:
        return []
    scores: FloatArray = table.vectors @ np.asarray(vector, dtype=np.float32)  # (n_rows,)
    return [(table.ids[row], float(scores[row])) for row in rank_descending(scores)[:n]]
