"""Agreement of Chroma with the ledger: the seal of its index files, and numbers of rows."""

from __future__ import annotations

import json
from contextlib import closing

from data.errors import ChromaDiffers
from kb.store.chroma import Collections
from kb.store.chroma.index_files import index_checksums
from kb.store.layout import Layout
from kb.store.ledger import Ledger

SEAL = "chroma"
"""Fact with the checksums of Chroma's index files; absent while Chroma is being written to."""


def check_counts(ledger: Ledger, collections: Collections) -> None:
    """Raise `ChromaDiffers` unless every collection has as many rows as the ledger has items for it."""
    expected = counts(ledger)
    for name, (kind, _) in collections.names.items():
        if (n := collections.count(name)) != expected.get(kind, 0):
            raise ChromaDiffers(f"Chroma had {n:,} rows in {name}, expected {expected.get(kind, 0):,}")


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


def is_newest(layout: Layout, generation: str) -> bool:
    """Return whether `generation` is still the newest state, and no writer is projecting another one."""
    with closing(Ledger(layout.ledger, read_only=True)) as ledger:
        ledger.hold()
        return ledger.generation() == generation and not ledger.pending()
