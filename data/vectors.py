"""Memory-mapped matrices: rows of vectors with their ids and species.

A folder of such matrices has one manifest, written last and atomically, which names the files of one generation of
their source. So a reader sees a whole generation or none, whoever writes beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from data.arrays import FloatArray, IntArray
from data.contracts import VectorTable
from data.files import sha256_hex, write_atomic

MANIFEST = "manifest.json"


def write_tables(folder: Path, generation: str, tables: Mapping[str, VectorTable]) -> None:
    """Write the tables as `generation`, and remove what earlier generations and killed writers left.

    One process at a time: what it removes may be what another one is writing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    for name, table in tables.items():
        stem = f"{name}.{sha256_hex(generation)[:12]}"
        # np.save into bytes would hold the matrix twice; a temporary name and a rename hold it once.
        temporary = folder / f".part-{stem}.npy"
        np.save(temporary, np.ascontiguousarray(table.vectors, dtype=np.float32))
        temporary.replace(folder / f"{stem}.npy")
        index = {"ids": list(table.ids), "owners": [int(owner) for owner in table.owners]}
        write_atomic(folder / f"{stem}.json", json.dumps(index, separators=(",", ":")).encode())
        names[name] = stem
    write_atomic(folder / MANIFEST, json.dumps({"generation": generation, "tables": names}, sort_keys=True).encode())
    keep = {MANIFEST} | {stem + suffix for stem in names.values() for suffix in (".npy", ".json")}
    for path in folder.iterdir():
        if path.name not in keep:
            path.unlink(missing_ok=True)


def read_table(folder: Path, generation: str, name: str) -> VectorTable | None:
    """Return a table with its matrix mapped read-only, or None if that generation of it is not there whole."""
    manifest = _manifest(folder)
    if manifest is None or manifest[0] != generation or name not in manifest[1]:
        return None
    stem = manifest[1][name]
    try:
        index = json.loads((folder / f"{stem}.json").read_bytes())
        vectors: FloatArray = np.load(folder / f"{stem}.npy", mmap_mode="r", allow_pickle=False)
        ids = tuple(str(item) for item in index["ids"])
        owners: IntArray = np.asarray(index["owners"], dtype=np.intp)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if vectors.ndim != 2 or vectors.dtype != np.float32 or not vectors.shape[0] == len(ids) == owners.shape[0]:
        return None
    return VectorTable(ids=ids, owners=owners, vectors=vectors)


def _manifest(folder: Path) -> tuple[str, dict[str, str]] | None:
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        return str(content["generation"]), {str(name): str(stem) for name, stem in content["tables"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
