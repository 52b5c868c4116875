"""Chroma: the collections of a knowledge base, in its folder or on a server. The only module that imports chromadb.

Vectors are always given and are unit rows, kept in an inner-product space: `cosine` would normalise them once more, and
what comes back would differ from what went in by a rounding. Distances become similarities here and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from data.arrays import FloatArray
from data.errors import ConfigError, SourceUnavailable, StoreError
from kb.layout import KnowledgeBaseInfo, Layout, collection_names
from kb.storage import storage_errors

PAGE = 2_000  # rows read at a time; bounds memory, and a page stays under every server's answer limit
# Recall of the exact top 30 among 22,000 sentence vectors is .93 with Chroma's own ef_search, .999 with this one.
EF_SEARCH = 400

Metadata = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a collection; `vector` is float32 `(dim,)`, a unit vector."""

    id: str
    document: str
    metadata: Metadata
    vector: FloatArray


class Collections:
    """The collections of one knowledge base.

    Args:
        layout: where the knowledge base lies.
        info: its `kb.toml`.
        forget: whether the folder was replaced under an earlier client of this process.

    Raises:
        SourceUnavailable: if the server named in `kb.toml` does not answer.
        StoreError: if the folder cannot be opened as Chroma.
    """

    def __init__(self, layout: Layout, info: KnowledgeBaseInfo, *, forget: bool = False) -> None:
        # On a server that several knowledge bases share, the id keeps their collections apart.
        self._prefix = f"{info.id}-" if info.chroma else ""
        self._client = _server(info.chroma) if info.chroma else _embedded(layout.chroma, forget=forget)
        self.names = collection_names(info)
        self._opened: dict[str, Any] = {}
        self._folder = layout.root

    def _collection(self, name: str) -> Any:  # chromadb's type stays inside this module
        if name not in self._opened:
            self._opened[name] = self._client.get_or_create_collection(
                self._prefix + name,
                embedding_function=None,
                configuration={"hnsw": {"space": "ip", "ef_search": EF_SEARCH}},
            )
        return self._opened[name]

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Add rows, in batches as large as this Chroma takes; a row that is there keeps metadata it had beside."""
        step = self._client.get_max_batch_size()
        for start in range(0, len(rows), step):
            batch = rows[start : start + step]
            with storage_errors(self._folder):
                self._collection(name).upsert(
                    ids=[row.id for row in batch],
                    documents=[row.document for row in batch],
                    metadatas=[dict(row.metadata) for row in batch],
                    embeddings=np.stack([row.vector for row in batch]),
                )

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are passed over."""
        step = self._client.get_max_batch_size()
        for start in range(0, len(ids), step):
            with storage_errors(self._folder):
                self._collection(name).delete(ids=list(ids[start : start + step]))

    def count(self, name: str) -> int:
        """Return the number of rows."""
        return int(self._collection(name).count())

    def read(self, name: str, ids: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield all rows, or those of `ids` that are there, a page at a time."""
        collection = self._collection(name)
        include = ["embeddings", "documents", "metadatas"]
        if ids is not None:
            for start in range(0, len(ids), PAGE):
                yield _rows(collection.get(ids=list(ids[start : start + PAGE]), include=include))
            return
        offset = 0
        while True:
            page = _rows(collection.get(limit=PAGE, offset=offset, include=include))
            if not page:
                return
            yield page
            offset += len(page)

    def query(self, name: str, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(id, cosine)` nearest to a `(dim,)` unit vector, best first, ties by id."""
        collection = self._collection(name)
        count = min(n, collection.count())
        if count <= 0:
            return []
        found = collection.query(
            query_embeddings=[np.asarray(vector, dtype=np.float32)], n_results=count, include=["distances"]
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return sorted(
            ((row_id, 1.0 - float(distance)) for row_id, distance in pairs), key=lambda pair: (-pair[1], pair[0])
        )

    def close(self) -> None:
        """Let go of the folder or the server."""
        self._client.close()

    def drop(self, name: str) -> None:
        """Remove a whole collection."""
        self._opened.pop(name, None)
        if self._prefix + name in {collection.name for collection in self._client.list_collections()}:
            self._client.delete_collection(self._prefix + name)


def _rows(found: Any) -> list[Row]:  # chromadb's GetResult
    vectors = np.asarray(found["embeddings"], dtype=np.float32)
    columns = zip(found["ids"], found["documents"], found["metadatas"], vectors, strict=True)
    return [
        Row(id=row_id, document=document or "", metadata=metadata or {}, vector=vector)
        for row_id, document, metadata, vector in columns
    ]


def _settings() -> Any:
    from chromadb.config import Settings

    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return Settings(anonymized_telemetry=False)


def _embedded(folder: Path, *, forget: bool) -> Any:
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    if forget:
        # chromadb keeps one open system a folder; after the folder was replaced, that one must not be met again.
        SharedSystemClient.clear_system_cache()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return chromadb.PersistentClient(path=str(folder), settings=_settings())
    except Exception as error:  # chromadb raises its own and its Rust core's exceptions, which share no base class
        raise StoreError(
            f"{folder} cannot be opened as Chroma: {error}", hint="kb verify rebuilds it from the ledger"
        ) from error


def _server(address: str) -> Any:
    import chromadb

    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"chroma = {address!r}: expected http://HOST:PORT")
    try:
        return chromadb.HttpClient(
            host=parts.hostname,
            port=parts.port or (443 if parts.scheme == "https" else 8000),
            ssl=parts.scheme == "https",
            settings=_settings(),
        )
    except ValueError as error:  # what chromadb raises when nobody answers
        raise SourceUnavailable(f"no Chroma server answers at {address}: {error}") from error
