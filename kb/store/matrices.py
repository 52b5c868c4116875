"""Memory-mapped matrices in `cache/`, which writers fill from Chroma.

Photos and queries are scored against them, exactly. A reader whose state they do not hold reads the ledger's vectors.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from data.arrays import FloatArray
from data.contracts import VectorTable
from data.errors import ChromaDiffers, MissingRequirement
from data.vectors import MANIFEST, files_of, read_table, write_tables
from kb.store.chroma import Collections
from kb.store.chroma.collections import PAGE
from kb.store.layout import CollectionKind, Layout, subject_kind
from kb.store.ledger import Ledger
from kb.store.rows import row_id

_log = logging.getLogger(__name__)
Place = tuple[str, str]
"""Subject id and item id of a row of a matrix."""


def warm_cache(layout: Layout, ledger: Ledger, collections: Collections) -> None:
    """Write the matrices of all collections, unless they are there; a learnt term leaves those of the species."""
    names = {name: kind for name, (kind, _) in collections.names.items()}
    try:
        generations = {name: ledger.generation(subject_kind(kind)) for name, kind in names.items()}
        missing = [name for name, each in generations.items() if read_table(layout.cache, each, name) is None]
        if missing:
            tables = ((name, _chroma_table(layout, ledger, collections, name, names[name])) for name in missing)
            lookups = prefix_of_lookups(ledger)
            write_tables(layout.cache, generations, tables, keep=lambda file: file.startswith(lookups))
    except OSError as error:
        raise MissingRequirement(
            f"{layout.cache} cannot be written: {error}", hint="Make room, or allow writing, and run the command again."
        ) from error


def prefix_of_lookups(ledger: Ledger) -> str:
    """Return how the names of the look-up files in the cache begin that hold for the present species.

    A learnt term changes none of them.
    """
    return f"lookup-{ledger.state_of_species()[:20]}-"


def _chroma_table(
    layout: Layout, ledger: Ledger, collections: Collections, name: str, kind: CollectionKind
) -> VectorTable:
    def read(places: Sequence[Place]) -> list[FloatArray]:
        ids = [row_id(key, kind, item) for key, item in places]
        found = collections.vectors(name, ids)
        if len(found) < len(ids):
            raise ChromaDiffers(f"Chroma lacked rows of {name}")
        return [found[row] for row in ids]

    return _table(ledger, kind, read, folder=layout.cache)


def matrix(layout: Layout, ledger: Ledger, collection: str, kind: CollectionKind) -> VectorTable:
    """Return a collection in the state of a reader's ledger: mapped from the cache, or in memory from the ledger."""
    generation = ledger.generation(subject_kind(kind))
    table = read_table(layout.cache, generation, collection)
    if table is not None:
        return table
    is_of_another_state = (layout.cache / MANIFEST).is_file() and not files_of(layout.cache, generation, collection)
    if not is_of_another_state and os.access(layout.root, os.W_OK):
        _warn_once(layout.cache)

    def read(places: Sequence[Place]) -> list[FloatArray]:
        found: list[FloatArray] = []
        for key, group in groupby(places, key=itemgetter(0)):  # the vectors of a subject are one row of the ledger
            found += ledger.vectors.of_items(collection, key, [item for _, item in group])
        return found

    return _table(ledger, kind, read)


@cache  # each collection would say so
def _warn_once(folder: Path) -> None:
    _log.warning("%s is missing or damaged. The ledger is used instead, which is slower; kb verify repairs it.", folder)


def _table(
    ledger: Ledger,
    kind: CollectionKind,
    read: Callable[[Sequence[Place]], list[FloatArray]],
    *,
    folder: Path | None = None,
) -> VectorTable:
    """Return a table with rows by species, in an unnamed file in `folder`, else in memory.

    Owners are positions in the species or terms.

    Raises:
        OSError: if `folder` has no room.
    """
    owners: list[int] = []
    places: list[Place] = []
    for owner, entry in enumerate(ledger.entries(subject_kind(kind))):
        items = entry.items.get(kind, ())
        owners += [owner] * len(items)
        places += [(entry.subject_id, item) for item in items]
    vectors: FloatArray = np.zeros((0, 1), dtype=np.float32)
    for start in range(0, len(places), PAGE):
        page = np.stack(read(places[start : start + PAGE]))
        if start == 0:
            vectors = _empty((len(places), page.shape[1]), folder)
        vectors[start : start + len(page)] = page
    return VectorTable(ids=tuple(item for _, item in places), owners=np.asarray(owners, dtype=np.intp), vectors=vectors)


def _empty(shape: tuple[int, int], folder: Path | None) -> FloatArray:
    if folder is None:
        return np.empty(shape, dtype=np.float32)
    with TemporaryFile(dir=folder) as file:  # the map keeps it open
        # Its room is taken at once, since a write to a map on a full disk kills the process.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, 4 * shape[0] * shape[1])
        matrix: FloatArray = np.memmap(file, dtype=np.float32, mode="w+", shape=shape)
        return matrix
