"""Chroma: the collections of a knowledge base, in its folder or on a server. The only module that imports chromadb.

Vectors are always given and are unit rows, kept in an inner-product space: `cosine` would normalise them once more, and
what comes back would differ from what went in by a rounding. Distances become similarities here and nowhere else.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import numpy as np

from data.arrays import FloatArray
from data.errors import ConfigError, SourceUnavailable, StoreError
from data.storage_errors import storage_errors
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names

PAGE = 2_000  # rows read at a time; bounds memory, and a page stays under every server's answer limit
# A batch has as many rows as this Chroma takes, and not more than these bytes: a server refuses a request of more than
# 40 MiB, and vectors and texts grow in JSON.
BATCH_BYTES = 8 << 20
# Version, offset of level 0, most elements, elements, bytes an element, then eight more of no concern here.
HNSW_HEADER = struct.Struct("<iQQQQQQiiQQQdQ")
WAITS_S = (0.05, 0.1, 0.2)  # before Chroma is asked again what it failed at inside
ANSWER_TIMEOUT_S = 120.0  # chromadb itself would wait for a server without end
# Recall of the exact top 30 among 22,000 sentence vectors is .93 with Chroma's own ef_search, .999 with this one.
EF_SEARCH = 400

AnswerT = TypeVar("AnswerT")
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
        ConfigError: if `chroma` in `kb.toml` is no address.
        SourceUnavailable: if the server named there does not answer; so do all methods.
        StoreError: if the folder cannot be opened as Chroma.
    """

    def __init__(self, layout: Layout, info: KnowledgeBaseInfo, *, forget: bool = False) -> None:
        # On a server that several knowledge bases share, the id keeps their collections apart.
        self._prefix = f"{info.id}-" if info.chroma else ""
        self._folder = layout.root
        self.server = info.chroma
        self._client = _server(info.chroma) if info.chroma else _embedded(layout.chroma, forget=forget)
        self.names = collection_names(info)
        self._opened: dict[str, Any] = {}

    def _collection(self, name: str, *, make: bool = False) -> Any | None:  # chromadb's type stays inside this module
        """Return the collection, or None where there is none and none is to be made: who reads makes nothing."""
        if name not in self._opened:
            if make:
                self._opened[name] = self._client.get_or_create_collection(
                    self._prefix + name,
                    embedding_function=None,
                    configuration={"hnsw": {"space": "ip", "ef_search": EF_SEARCH}},
                )
            else:
                from chromadb.errors import NotFoundError

                try:
                    self._opened[name] = self._client.get_collection(self._prefix + name, embedding_function=None)
                except NotFoundError:
                    return None
        return self._opened[name]

    def _run(self, name: str, work: Callable[[Any], AnswerT], *, make: bool = False) -> AnswerT | None:
        """Return what `work` does with a collection, or None where there is none; errors come as ours.

        A collection that somebody removed and made again has another inner id: it is then looked up once more. Chroma
        fails inside when a row goes away between its look into texts and its look into vectors: then it is asked again.
        """
        from chromadb.errors import InternalError, NotFoundError

        with self._errors():
            for wait_s in (*WAITS_S, None):
                try:
                    found = self._collection(name, make=make)
                    return None if found is None else work(found)
                except NotFoundError:
                    self._opened.pop(name, None)
                    if wait_s is None:
                        raise
                except InternalError:
                    if wait_s is None:
                        raise
                    time.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if not self.server:
            with storage_errors(self._folder):
                yield
            return
        from chromadb.errors import ChromaError
        from httpx import HTTPError

        try:
            yield
        except HTTPError as error:
            raise _unavailable(self.server, "does not answer", error) from error
        except ChromaError as error:
            raise _unavailable(self.server, "failed", error) from error

    def _largest_batch(self) -> int:
        with self._errors():
            return int(self._client.get_max_batch_size())

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Add rows, in batches as large as this Chroma takes; a row that is there keeps metadata it had beside."""
        if rows:
            for batch in _batches(rows, self._largest_batch()):
                self._run(name, partial(_upsert, batch), make=True)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are passed over."""
        step = self._largest_batch() if ids else 1
        for start in range(0, len(ids), step):
            self._run(name, partial(_delete, list(ids[start : start + step])))

    def count(self, name: str) -> int:
        """Return the number of rows."""
        return int(self._run(name, lambda collection: collection.count()) or 0)

    def read(self, name: str, ids: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield all rows, or those of `ids` that are there, a page at a time."""
        if ids is not None:
            for start in range(0, len(ids), PAGE):
                wanted = list(ids[start : start + PAGE])
                yield self._run(name, partial(_get, ids=wanted)) or []
            return
        offset = 0
        while page := self._run(name, partial(_get, limit=PAGE, offset=offset)):
            yield page
            offset += len(page)

    def query(self, name: str, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(id, cosine)` nearest to a `(dim,)` unit vector, best first, ties by id."""
        found = self._run(name, partial(_query, vector=vector, n=n)) or []
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder or the server."""
        self._client.close()

    def drop(self, name: str) -> None:
        """Remove a whole collection."""
        from chromadb.errors import NotFoundError

        self._opened.pop(name, None)
        with self._errors(), suppress(NotFoundError):
            self._client.delete_collection(self._prefix + name)


def _batches(rows: Sequence[Row], n_most: int) -> Iterator[list[Row]]:
    """Yield the rows in batches of at most `n_most` rows and, but for a single giant, `BATCH_BYTES` bytes."""
    batch: list[Row] = []
    n_bytes = 0
    for row in rows:
        texts = (row.id, row.document, *(value for value in row.metadata.values() if isinstance(value, str)))
        size = row.vector.nbytes + sum(map(len, texts))
        if batch and (len(batch) >= n_most or n_bytes + size > BATCH_BYTES):
            yield batch
            batch, n_bytes = [], 0
        batch.append(row)
        n_bytes += size
    if batch:
        yield batch


def _upsert(batch: Sequence[Row], collection: Any) -> None:
    collection.upsert(
        ids=[row.id for row in batch],
        documents=[row.document for row in batch],
        metadatas=[dict(row.metadata) for row in batch],
        embeddings=np.stack([row.vector for row in batch]),
    )


def _delete(ids: list[str], collection: Any) -> None:
    collection.delete(ids=ids)


def _get(collection: Any, **which: Any) -> list[Row]:
    return _rows(collection.get(**which, include=["embeddings", "documents", "metadatas"]))


def _query(collection: Any, *, vector: FloatArray, n: int) -> list[tuple[str, float]]:
    count = min(n, collection.count())
    if count <= 0:
        return []
    vectors = [np.asarray(vector, dtype=np.float32)]
    found = collection.query(query_embeddings=vectors, n_results=count, include=["distances"])
    pairs = zip(found["ids"][0], found["distances"][0], strict=True)
    return [(row_id, 1.0 - float(distance)) for row_id, distance in pairs]


def damaged_index(folder: Path) -> str | None:
    """Return the name of a file of an embedded Chroma's search index that is cut short or garbled, or None.

    Chroma itself maps these files unchecked: a short one ends the whole process, a wrong count keeps it busy without
    end. Judged are the counts in the header (of hnswlib, version 1) against each other and the lengths of the files.
    """
    for header in sorted(folder.glob("*/header.bin")):
        content = header.read_bytes()
        if len(content) != HNSW_HEADER.size:
            return str(header.relative_to(folder))
        version, _, n_most, n_held, row_bytes, *_ = HNSW_HEADER.unpack(content)
        if 1 < version < 100:  # another format, which this does not know
            continue
        if version != 1 or n_held > n_most:
            return str(header.relative_to(folder))
        for name, size in (("data_level0.bin", row_bytes), ("length.bin", 4)):
            file = header.with_name(name)
            if not file.is_file() or file.stat().st_size < n_held * size:
                return str(file.relative_to(folder))
    return None


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
    from chromadb.errors import ChromaError
    from httpx import HTTPError

    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"chroma = {address!r}: expected http://HOST:PORT")
    try:
        client: Any = chromadb.HttpClient(
            host=parts.hostname,
            port=parts.port or (443 if parts.scheme == "https" else 8000),
            ssl=parts.scheme == "https",
            settings=_settings(),
        )
    except (ValueError, ChromaError, HTTPError) as error:  # ValueError: nobody there, or something that is no Chroma
        raise _unavailable(address, "does not answer", error) from error
    session = getattr(client._server, "_session", None)  # there is no setting for it
    if session is not None:
        session.timeout = ANSWER_TIMEOUT_S
    return client


def _unavailable(address: str, what: str, error: Exception) -> SourceUnavailable:
    shown = address.rsplit("@", 1)[-1]  # an address may hold a password
    return SourceUnavailable(
        f"the Chroma server at {shown} {what}: {error or type(error).__name__}",
        hint="what is done is kept; run the same command again when the server answers",
    )
