"""Chroma: the collections of a knowledge base, in its folder or on a server. The only module that imports chromadb.

Vectors are always given and are unit rows, kept in an inner-product space: `cosine` would normalise them once more, and
what comes back would differ from what went in by a rounding. Distances become similarities here and nowhere else.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import numpy as np

from data.arrays import FloatArray
from data.errors import ConfigError, MissingRequirement, SourceUnavailable, StoreError
from data.storage_errors import storage_errors
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names

PAGE = 2_000  # rows read at a time; bounds memory, and a page stays under every server's answer limit
# A batch has as many rows as this Chroma takes, and not more than these bytes: a server refuses a request of more than
# 40 MiB, and vectors and texts grow in JSON.
BATCH_BYTES = 8 << 20
WAITS_S = (0.05, 0.1, 0.2)  # before Chroma is asked again what it failed at inside
ANSWER_TIMEOUT_S = 120.0  # chromadb itself would wait for a server without end
# Recall of the exact top 30 among 22,000 sentence vectors is .93 with Chroma's own ef_search, .999 with this one.
EF_SEARCH = 400
# Every batch is written to the index files at once: nothing is left in Chroma's queue, which readers would replay, and
# readers change no file. Chunks and anchors are scored as matrices and never searched here: a poor graph is enough.
_INDEX: dict[str, Any] = {"space": "ip", "sync_threshold": 1, "batch_size": 1}
_SEARCHED = {**_INDEX, "ef_search": EF_SEARCH}
_STORED = {**_INDEX, "max_neighbors": 2, "ef_construction": 2}
SPARE_BYTES = 8 << 20  # left on the disk beside what a batch needs; Chroma waits without end on a full one

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

    Raises:
        ConfigError: if `chroma` in `kb.toml` is no address.
        SourceUnavailable: if the server named there does not answer; so do all methods.
        StoreError: if the folder cannot be opened as Chroma.
    """

    def __init__(self, layout: Layout, info: KnowledgeBaseInfo) -> None:
        # On a server that several knowledge bases share, the id keeps their collections apart.
        self._prefix = f"{info.id}-" if info.chroma else ""
        self._folder = layout.root
        self.server = info.chroma
        self._client = _server(info.chroma) if info.chroma else _borrow(layout.chroma)
        self._is_open = True
        self.names = collection_names(info)
        self._opened: dict[str, Any] = {}

    def _collection(self, name: str, *, make: bool = False) -> Any | None:  # chromadb's type stays inside this module
        """Return the collection, or None where there is none and none is to be made: who reads makes nothing."""
        if name not in self._opened:
            if make:
                self._opened[name] = self._client.get_or_create_collection(
                    self._prefix + name,
                    embedding_function=None,
                    configuration={"hnsw": _SEARCHED if self.names[name][0] in ("species", "terms") else _STORED},
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
                self._check_space(batch)
                self._run(name, partial(_upsert, batch), make=True)

    def _check_space(self, batch: Sequence[Row]) -> None:
        """Raise `MissingRequirement` unless the disk has room for a batch: Chroma would wait on a full one for ever."""
        if self.server:
            return
        needed = SPARE_BYTES + 4 * sum(_size(row) for row in batch)
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise MissingRequirement(
                f"{self._folder}: {free / 2**20:.0f} MiB are free on this disk, expected at least "
                f"{needed / 2**20:.0f} MiB",
                hint="the work done so far is kept; make room and run the same command again",
            )

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are passed over."""
        step = self._largest_batch() if ids else 1
        for start in range(0, len(ids), step):
            self._run(name, partial(_delete, list(ids[start : start + step])))

    def count(self, name: str) -> int:
        """Return the number of rows."""
        return int(self._run(name, lambda collection: collection.count()) or 0)

    def settle(self, name: str) -> None:
        """Let Chroma write everything that it holds of a collection to its index files."""
        self._run(name, lambda collection: collection.get(limit=1, include=["embeddings"]))

    def texts(self, name: str, ids: Sequence[str]) -> dict[str, tuple[str, Metadata]]:
        """Return id -> document and metadata of the rows of `ids` that are there."""
        return self._run(name, partial(_texts, list(ids))) or {}

    def vectors(self, name: str, ids: Sequence[str]) -> dict[str, FloatArray]:
        """Return id -> `(dim,)` float32 vector of the rows of `ids` that are there."""
        return self._run(name, partial(_vectors, list(ids))) or {}

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
        if self._is_open:
            self._is_open = False
            if self.server:
                self._client.close()
            else:
                _give_back(self._folder / "chroma", self._client)

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
        size = _size(row)
        if batch and (len(batch) >= n_most or n_bytes + size > BATCH_BYTES):
            yield batch
            batch, n_bytes = [], 0
        batch.append(row)
        n_bytes += size
    if batch:
        yield batch


def _size(row: Row) -> int:
    texts = (row.id, row.document, *(value for value in row.metadata.values() if isinstance(value, str)))
    return row.vector.nbytes + sum(map(len, texts))


def _upsert(batch: Sequence[Row], collection: Any) -> None:
    collection.upsert(
        ids=[row.id for row in batch],
        # None are given where all are empty, as those of anchors are: Chroma indexes even an empty text.
        documents=[row.document for row in batch] if any(row.document for row in batch) else None,
        metadatas=[dict(row.metadata) for row in batch],
        embeddings=np.stack([row.vector for row in batch]),
    )


def _delete(ids: list[str], collection: Any) -> None:
    collection.delete(ids=ids)


def _texts(ids: list[str], collection: Any) -> dict[str, tuple[str, Metadata]]:
    found = collection.get(ids=ids, include=["documents", "metadatas"])
    columns = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
    return {row: (document or "", metadata or {}) for row, document, metadata in columns}


def _vectors(ids: list[str], collection: Any) -> dict[str, FloatArray]:
    found = collection.get(ids=ids, include=["embeddings"])
    return dict(zip(found["ids"], np.asarray(found["embeddings"], dtype=np.float32), strict=True))


def _query(collection: Any, *, vector: FloatArray, n: int) -> list[tuple[str, float]]:
    count = min(n, collection.count())
    if count <= 0:
        return []
    vectors = [np.asarray(vector, dtype=np.float32)]
    found = collection.query(query_embeddings=vectors, n_results=count, include=["distances"])
    pairs = zip(found["ids"][0], found["distances"][0], strict=True)
    return [(row_id, 1.0 - float(distance)) for row_id, distance in pairs]


def _settings() -> Any:
    from chromadb.config import Settings

    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return Settings(anonymized_telemetry=False)


_LOCK = Lock()
_OPEN: dict[Path, tuple[Any, int]] = {}
"""Folder -> its only client in this process, and how many `Collections` use it. chromadb's own sharing races when one
client is closed while another one of the same folder starts."""


def _borrow(folder: Path) -> Any:
    with _LOCK:
        client, n = _OPEN.get(folder.resolve(), (None, 0))
        if client is None:
            client = _embedded(folder)
        _OPEN[folder.resolve()] = client, n + 1
        return client


def _give_back(folder: Path, client: Any) -> None:
    with _LOCK:
        held, n = _OPEN.get(folder.resolve(), (None, 0))
        if held is not client:  # the folder was thrown away meanwhile, and its client closed
            return
        if n > 1:
            _OPEN[folder.resolve()] = client, n - 1
        else:
            del _OPEN[folder.resolve()]
            client.close()


def throw_away(folder: Path) -> None:
    """Remove the folder of an embedded Chroma, whoever of this process has it open."""
    with _LOCK:
        client, _ = _OPEN.pop(folder.resolve(), (None, 0))
        if client is not None:
            client.close()
        shutil.rmtree(folder, ignore_errors=True)


def _embedded(folder: Path) -> Any:
    import chromadb

    try:
        folder.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(path=str(folder), settings=_settings())
    except Exception as error:  # chromadb raises its own and its Rust core's exceptions, which share no base class
        raise StoreError(
            f"{folder} cannot be opened as Chroma: {error}", hint="kb verify fills it again from the ledger"
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
