"""Other vector indexes, filled with the same rows, to compare look-ups with: Chroma's own, FAISS and USearch.

Chroma is used as it comes, without the rules of `kb.store.chroma` for a knowledge base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.arrays import FloatArray, IntArray

BATCH: Final = 4_000  # rows written at a time
Search = Callable[[FloatArray, int], IntArray]
"""Rows nearest to a `(dim,)` unit vector, best first."""
Fill = Callable[[FloatArray, Path], Search]


def installed() -> list[str]:
    """Return the peers that can be used here."""
    return [name for name in PEERS if find_spec(name.split()[0].lower()) is not None]


def _chroma(vectors: FloatArray, folder: Path) -> Search:
    import chromadb
    from chromadb.config import Settings

    client: Any = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("rows", embedding_function=None, configuration={"hnsw": {"space": "ip"}})
    for start in range(0, len(vectors), BATCH):
        part = np.asarray(vectors[start : start + BATCH])
        collection.upsert(ids=[str(row) for row in range(start, start + len(part))], embeddings=part)

    def search(vector: FloatArray, n: int) -> IntArray:
        found = collection.query(query_embeddings=vector[None, :], n_results=n, include=[])["ids"][0]
        return np.array([int(row) for row in found], dtype=np.intp)

    return search


def _faiss(kind: str) -> Fill:
    def fill(vectors: FloatArray, folder: Path) -> Search:
        del folder
        faiss: Any = import_module("faiss")
        index = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
        index.train(np.asarray(vectors[:: max(1, len(vectors) // 20_000)]))
        for start in range(0, len(vectors), BATCH):
            index.add(np.asarray(vectors[start : start + BATCH]))
        return lambda vector, n: np.asarray(index.search(vector[None, :], n)[1][0], dtype=np.intp)

    return fill


def _usearch(dtype: str) -> Fill:
    def fill(vectors: FloatArray, folder: Path) -> Search:
        del folder
        index = import_module("usearch.index").Index(ndim=vectors.shape[1], metric="ip", dtype=dtype)
        for start in range(0, len(vectors), BATCH):
            part = np.asarray(vectors[start : start + BATCH])
            index.add(np.arange(start, start + len(part)), part)
        return lambda vector, n: np.asarray(index.search(vector, n).keys, dtype=np.intp)

    return fill


PEERS: Final[Mapping[str, Fill]] = {
    "ChromaDB": _chroma,
    "FAISS exact": _faiss("Flat"),
    "FAISS HNSW": _faiss("HNSW32"),
    "FAISS int8": _faiss("SQ8"),
    "FAISS float16": _faiss("SQfp16"),
    "USearch": _usearch("f32"),
    "USearch int8": _usearch("i8"),
}
"""Name -> function that fills an index in memory, or in an empty folder, and returns its search."""
