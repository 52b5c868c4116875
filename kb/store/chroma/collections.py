"""Collections of a knowledge base: rows written, read and deleted.

Vectors are unit rows in inner-product space, since `cosine` would normalise them again and change their last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np

from data.arrays import FloatArray
from data.batches import grouped, grouped_by_size, return_freed_memory
from data.files import Closing
from kb.store.chroma.folder import ChromaFolder
from kb.store.chroma.server import ChromaServer
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names

Metadata = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a collection; `vector` is float32 `(dim,)`, a unit vector."""

    id: str
    document: str
    metadata: Metadata
    vector: FloatArray


def size_of(row: Row) -> int:
    """Return about how many bytes a row takes: those of its vector and the letters of its texts."""
    texts = (row.id, row.document, *(value for value in row.metadata.values() if isinstance(value, str)))
    return row.vector.nbytes + sum(map(len, texts))


PAGE = 2_000  # rows read at a time, below the answer limit of every server
BATCH_BYTES = 8 << 20  # written at a time: a server refuses requests above 40 MiB, and JSON is larger than this
# Every batch is synced to the index files, so that no queue is left and their checksums hold.
# Nothing is searched in Chroma, so a minimal graph is enough: graphs differ from build to build, and even wide ones
# (`ef_search` 1,500, 48 neighbours) now and then missed the best match among the species that ship.
_GRAPH: dict[str, Any] = {"space": "ip", "sync_threshold": 1, "batch_size": 1, "max_neighbors": 2, "ef_construction": 2}

AnswerT = TypeVar("AnswerT")


class Collections(Closing):
    """The collections of one knowledge base, for the holder of the writer's lock.

    Raises:
        ConfigError: if `chroma` in `kb.toml` is not an address.
        SourceUnavailable: if the server does not answer; also raised by all methods.
        StoreError: if the folder cannot be opened as Chroma.
    """

    def __init__(self, layout: Layout, info: KnowledgeBaseInfo) -> None:
        # On a server that several knowledge bases share, the id keeps their collections apart.
        self._prefix = f"{info.id}-" if info.chroma else ""
        self._chroma: ChromaFolder | ChromaServer = (
            ChromaServer(info.chroma) if info.chroma else ChromaFolder(layout.root, layout.chroma)
        )
        self._client = self._chroma.client
        self.names = collection_names(info)

    def _run(self, name: str, work: Callable[[Any], AnswerT]) -> AnswerT | None:
        """Return `work(collection)`, or None if the collection does not exist."""
        from chromadb.errors import NotFoundError

        with self._chroma.errors():
            try:
                collection = self._client.get_collection(self._prefix + name, embedding_function=None)
            except NotFoundError:
                return None
            return work(collection)

    def _largest_batch(self) -> int:
        with self._chroma.errors():
            return int(self._client.get_max_batch_size())

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Add or replace rows in batches; a replaced row keeps metadata whose keys are not given."""
        if not rows:
            return
        share = -(-BATCH_BYTES // self._largest_batch())  # the least that a row counts, so that a batch has few rows
        for batch in grouped_by_size(rows, lambda row: max(size_of(row), share), BATCH_BYTES):
            self._chroma.check_space(sum(map(size_of, batch)))
            with self._chroma.errors():
                self._client.get_or_create_collection(
                    self._prefix + name, embedding_function=None, configuration={"hnsw": _GRAPH}
                ).upsert(
                    ids=[row.id for row in batch],
                    # Chroma indexes even empty documents, so where all are empty none are given.
                    documents=[row.document for row in batch] if any(row.document for row in batch) else None,
                    metadatas=[dict(row.metadata) for row in batch],
                    embeddings=np.stack([row.vector for row in batch]),
                )
            return_freed_memory()

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        for batch in grouped(ids, self._largest_batch()) if ids else ():
            self._chroma.check_space(0)
            self._run(name, methodcaller("delete", ids=batch))

    def count(self, name: str) -> int:
        """Return the number of rows."""
        return int(self._run(name, methodcaller("count")) or 0)

    def settle(self, name: str) -> None:
        """Make Chroma write all pending rows of a collection to its index files."""
        self._run(name, methodcaller("get", limit=1, include=["embeddings"]))

    def texts(self, name: str, ids: Sequence[str]) -> dict[str, tuple[str, Metadata]]:
        """Return id -> document and metadata of existing rows."""
        found = self._get(name, ids, "documents", "metadatas")
        columns = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return {row: (document or "", metadata or {}) for row, document, metadata in columns}

    def vectors(self, name: str, ids: Sequence[str]) -> dict[str, FloatArray]:
        """Return id -> `(dim,)` float32 vector of existing rows."""
        found = self._get(name, ids, "embeddings")
        return dict(zip(found["ids"], np.asarray(found["embeddings"], dtype=np.float32), strict=True))

    def _get(self, name: str, ids: Sequence[str], *columns: str) -> dict[str, Any]:
        found = self._run(name, methodcaller("get", ids=list(ids), include=list(columns))) if ids else None
        return_freed_memory()
        return found or {column: [] for column in ("ids", *columns)}

    def close(self) -> None:
        """Close the folder or the connection."""
        self._client.close()
        return_freed_memory()

    def drop(self, name: str) -> None:
        """Delete a collection."""
        from chromadb.errors import NotFoundError

        with self._chroma.errors(), suppress(NotFoundError):
            self._client.delete_collection(self._prefix + name)
