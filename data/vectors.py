"""Memory-mapped matrices: rows of vectors with their ids and species.

A folder of such matrices has one manifest, written last and atomically, which names the files of one generation of
their source with their checksums. So a reader sees a whole generation, undamaged, or none, whoever writes beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import numpy as np

from data.arrays import FloatArray, IntArray
from data.checksums import file_checksum
from data.contracts import VectorTable
from data.files import sha256_hex, write_atomic

MANIFEST = "manifest.json"


def write_tables(folder: Path, generation: str, tables: Iterable[tuple[str, VectorTable]]) -> None:
    """Write the tables as `generation`, and remove what earlier generations and killed writers left.

    One process at a time: what it removes may be what another one is writing. Of tables that are made one by one, one
    is in memory at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notes: dict[str, dict[str, str]] = {}
    for name, table in tables:
        stem = f"{name}.{sha256_hex(generation)[:12]}"
        # np.save into bytes would hold the matrix twice; a temporary name and a rename hold it once.
        temporary = folder / f".part-{stem}.npy"
        np.save(temporary, np.ascontiguousarray(table.vectors, dtype=np.float32))
        temporary.replace(folder / f"{stem}.npy")
        index = {"ids": list(table.ids), "owners": [int(owner) for owner in table.owners]}
        write_atomic(folder / f"{stem}.json", json.dumps(index, separators=(",", ":")).encode())
        checksums = {suffix: file_checksum(folder / f"{stem}.{suffix}") for suffix in ("npy", "json")}
        notes[name] = {"stem": stem, **checksums}
    write_atomic(folder / MANIFEST, json.dumps({"generation": generation, "tables": notes}, sort_keys=True).encode())
    keep = {MANIFEST} | {f"{note['stem']}.{suffix}" for note in notes.values() for suffix in ("npy", "json")}
    for path in folder.iterdir():
        if path.name not in keep:
            path.unlink(missing_ok=True)


_HEADERS = Lock()
"""NumPy reads a header as Python source, at which CPython 3.11 can fail where two threads do so at once."""


def read_table(folder: Path, generation: str, name: str) -> VectorTable | None:
    """Return a table with its matrix mapped read-only, or None if that generation of it is not there, or is damaged."""
    note = tables_of(folder, generation).get(name)
    if note is None:
        return None
    try:
        stem = note["stem"]
        if any(file_checksum(folder / f"{stem}.{suffix}") != note[suffix] for suffix in ("npy", "json")):
            return None
        index = json.loads((folder / f"{stem}.json").read_bytes())
        with _HEADERS:
            vectors: FloatArray = np.load(folder / f"{stem}.npy", mmap_mode="r", allow_pickle=False)
        ids = tuple(str(item) for item in index["ids"])
        owners: IntArray = np.asarray(index["owners"], dtype=np.intp)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if vectors.ndim != 2 or vectors.dtype != np.float32 or not vectors.shape[0] == len(ids) == owners.shape[0]:
        return None
    return VectorTable(ids=ids, owners=owners, vectors=vectors)


def tables_of(folder: Path, generation: str) -> dict[str, dict[str, str]]:
    """Return the tables that a folder holds of a generation, each with its files and their checksums."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        tables = {str(name): dict(note) for name, note in content["tables"].items()}
        return tables if content["generation"] == generation else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
