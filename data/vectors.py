"""Memory-mapped matrices: rows of vectors with their ids and species.

The manifest of a folder is written last and atomically. It names the files of each table, with checksums and the
generation of their source. While a writer is at work, readers therefore get undamaged matrices of one generation, or
none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np

from data.arrays import FloatArray, IntArray
from data.contracts import VectorTable
from data.files import file_checksum, sha256_hex, write_atomic

MANIFEST = "manifest.json"


def write_tables(
    folder: Path,
    generations: Mapping[str, str],
    tables: Iterable[tuple[str, VectorTable]],
    *,
    keep: Callable[[str], bool] = lambda _: False,
) -> None:
    """Write tables, and remove the files of earlier generations and of killed writers.

    For one process at a time. With an iterator, one table is in memory at a time.

    Args:
        folder: where they are.
        generations: generation of every table. A table of that generation which is not written stays.
        tables: name and contents of each table to write.
        keep: whether a file of this name, which belongs to no table, stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: dict(held) for name, each in generations.items() if (held := files_of(folder, each, name))}
    for name, table in tables:
        matrix = folder / f"{name}.{sha256_hex(generations[name])[:12]}.npy"
        # np.save into bytes would hold the matrix twice.
        temporary = folder / f".part-{matrix.name}"
        try:
            np.save(temporary, np.ascontiguousarray(table.vectors, dtype=np.float32))
            temporary.replace(matrix)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        index = {"ids": list(table.ids), "owners": [int(owner) for owner in table.owners]}
        content = json.dumps(index, separators=(",", ":")).encode()
        rows = folder / f"rows-{sha256_hex(content)[:20]}.json"  # tables of the same rows share it
        write_atomic(rows, content)
        files[name] = {path.name: file_checksum(path) for path in (matrix, rows)}
    manifest = {name: {"generation": generations[name], "files": held} for name, held in files.items()}
    write_atomic(folder / MANIFEST, json.dumps(manifest).encode())
    own = {MANIFEST}.union(*files.values())
    for path in folder.iterdir():
        if path.name not in own and not keep(path.name):
            path.unlink(missing_ok=True)


_HEADERS = Lock()
"""For NumPy, which parses headers as Python source: on CPython 3.11 two threads doing so at once can fail."""


def read_table(folder: Path, generation: str, name: str) -> VectorTable | None:
    """Return a table with its matrix mapped read-only, or None if it is missing, damaged or of another generation."""
    files = files_of(folder, generation, name)
    if not files:
        return None
    try:
        if any(file_checksum(folder / file) != checksum for file, checksum in files.items()):
            return None
        matrix, rows = (folder / file for file in files)
        with _HEADERS:
            vectors: FloatArray = np.load(matrix, mmap_mode="r", allow_pickle=False)
        ids, owners = _read_rows(rows, files[rows.name])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if vectors.ndim != 2 or vectors.dtype != np.float32 or not vectors.shape[0] == len(ids) == owners.shape[0]:
        return None
    return VectorTable(ids=ids, owners=owners, vectors=vectors)


@lru_cache(maxsize=4)
def _read_rows(path: Path, checksum: str) -> tuple[tuple[str, ...], IntArray]:
    index = json.loads(path.read_bytes())
    owners: IntArray = np.asarray(index["owners"], dtype=np.intp)
    owners.flags.writeable = False
    return tuple(index["ids"]), owners


def files_of(folder: Path, generation: str, name: str) -> Mapping[str, str]:
    """Return file -> checksum of a table of this generation; empty if the folder does not hold it."""
    try:
        held = json.loads((folder / MANIFEST).read_bytes())[name]
        return dict(held["files"]) if held["generation"] == generation else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
