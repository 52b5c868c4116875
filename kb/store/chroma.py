"""Chroma collections, embedded in the knowledge base's folder or on a server; only `kb bench` imports chromadb too.

Vectors are unit rows in inner-product space, since `cosine` would normalise them again and change their last bits.
"""

from __future__ import annotations

import ctypes
import logging
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from operator import methodcaller
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from data.arrays import FloatArray
from data.batches import grouped, grouped_by_size
from data.closing import Closing
from data.errors import ConfigError, MissingRequirement, SourceUnavailable, StoreError
from data.storage_errors import is_full, is_panic, storage_error, storage_errors
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names

PAGE = 2_000  # rows read at a time, below the answer limit of every server
BATCH_BYTES = 8 << 20  # written at a time: a server refuses requests above 40 MiB, and JSON is larger than this
WAITS_S = (0.05, 0.1, 0.2)  # between retries after internal errors of Chroma
ANSWER_TIMEOUT_S = 120.0  # chromadb sets none
# Every batch is synced to the index files, so that no queue is left for readers to replay and readers write no file.
# Nothing is searched in Chroma, so a minimal graph is enough: graphs differ from build to build, and even wide ones
# (`ef_search` 1,500, 48 neighbours) now and then missed the best match among the species that ship.
_GRAPH: dict[str, Any] = {
    "space": "ip",
    "sync_threshold": 1,
    "batch_size": 1,
    "max_neighbors": 2,
    "ef_construction": 2,
}
SPARE_BYTES = 8 << 20  # to remain free after a batch

AnswerT = TypeVar("AnswerT")
Metadata = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a collection; `vector` is float32 `(dim,)`, a unit vector."""

    id: str
    document: str
    metadata: Metadata
    vector: FloatArray


class Collections(Closing):
    """The collections of one knowledge base.

    Raises:
        ConfigError: if `chroma` in `kb.toml` is not an address.
        SourceUnavailable: if the server does not answer; also raised by all methods.
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

    def _collection(self, name: str, *, create: bool) -> Any:  # chromadb's type stays inside this module
        if name not in self._opened:
            if create:
                self._opened[name] = self._client.get_or_create_collection(
                    self._prefix + name,
                    embedding_function=None,
                    configuration={"hnsw": _GRAPH},
                )
            else:
                self._opened[name] = self._client.get_collection(self._prefix + name, embedding_function=None)
        return self._opened[name]

    def _run(self, name: str, work: Callable[[Any], AnswerT], *, create: bool = False) -> AnswerT | None:
        """Return `work(collection)`, or None if the collection does not exist.

        A collection that another process deleted and created again has a new inner id and is looked up once more.
        Chroma raises an internal error when a row is deleted while it reads; such work is repeated, but never on a full
        disk: there a failed write of an embedded Chroma keeps its database locked, and the next call would wait for
        ever, deaf to Ctrl-C.
        """
        from chromadb.errors import InternalError, NotFoundError

        with self._errors():
            for wait_s in (*WAITS_S, None):
                was_open = name in self._opened
                try:
                    return work(self._collection(name, create=create))
                except NotFoundError:
                    self._opened.pop(name, None)
                    if not was_open and not create:
                        return None
                    if wait_s is None:
                        raise
                except InternalError:
                    if wait_s is None or self._has_little_space():
                        raise
                    time.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Translate errors of Chroma and of its server into ours."""
        if not self.server:
            if not _is_in_use(self._folder / "chroma", self._client):
                raise StoreError(f"The Chroma of {self._folder} was closed after an error", hint="kb verify repairs it")
            try:
                with storage_errors(self._folder):
                    yield
            except (MissingRequirement, StoreError) as error:
                if not self._has_little_space():
                    raise
                _close(self._folder / "chroma", self._client)
                raise self._no_space() from error
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
        """Add or replace rows in batches; a replaced row keeps metadata whose keys are not given.

        Raises:
            MissingRequirement: if the disk has too little space for a batch.
        """
        if not rows:
            return
        share = -(-BATCH_BYTES // self._largest_batch())  # the least that a row counts, so that a batch has few rows
        for batch in grouped_by_size(rows, lambda row: max(_size(row), share), BATCH_BYTES):
            self._check_space(batch)
            columns = {
                "ids": [row.id for row in batch],
                # Chroma indexes even empty documents, so where all are empty none are given.
                "documents": [row.document for row in batch] if any(row.document for row in batch) else None,
                "metadatas": [dict(row.metadata) for row in batch],
                "embeddings": np.stack([row.vector for row in batch]),
            }
            self._run(name, methodcaller("upsert", **columns), create=True)
            _return_freed_memory()

    def _check_space(self, batch: Sequence[Row]) -> None:
        needed = SPARE_BYTES + 4 * sum(_size(row) for row in batch)
        if self._has_little_space(needed):
            raise self._no_space(needed)

    def _has_little_space(self, needed: int = SPARE_BYTES) -> bool:
        return not self.server and shutil.disk_usage(self._folder).free < needed

    def _no_space(self, needed: int = SPARE_BYTES) -> MissingRequirement:
        free = shutil.disk_usage(self._folder).free
        return MissingRequirement(
            f"{self._folder}: {free / 2**20:.0f} MiB are free on this disk, expected at least {needed / 2**20:.0f} MiB",
            hint="Nothing is lost; free some space and run the same command again.",
        )

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        for batch in grouped(ids, self._largest_batch()) if ids else ():
            self._check_space(())
            self._run(name, methodcaller("delete", ids=batch))

    def count(self, name: str) -> int:
        """Return the number of rows."""
        return int(self._run(name, methodcaller("count")) or 0)

    def settle(self, name: str) -> None:
        """Make Chroma write all pending rows of a collection to its index files."""
        self._get(name, None, "embeddings")

    def texts(self, name: str, ids: Sequence[str]) -> dict[str, tuple[str, Metadata]]:
        """Return id -> document and metadata of existing rows."""
        found = self._get(name, ids, "documents", "metadatas")
        columns = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return {row: (document or "", metadata or {}) for row, document, metadata in columns}

    def vectors(self, name: str, ids: Sequence[str]) -> dict[str, FloatArray]:
        """Return id -> `(dim,)` float32 vector of existing rows."""
        found = self._get(name, ids, "embeddings")
        return dict(zip(found["ids"], np.asarray(found["embeddings"], dtype=np.float32), strict=True))

    def _get(self, name: str, ids: Sequence[str] | None, *columns: str) -> dict[str, Any]:
        which: dict[str, Any] = {"limit": 1} if ids is None else {"ids": list(ids)}
        is_nothing = ids is not None and not ids  # which Chroma refuses
        found = None if is_nothing else self._run(name, methodcaller("get", **which, include=list(columns)))
        if ids is not None:
            _return_freed_memory()
        return found or {column: [] for column in ("ids", *columns)}

    def close(self) -> None:
        """Close the folder or the connection."""
        if self._is_open:
            self._is_open = False
            if self.server:
                self._client.close()
            else:
                _give_back(self._folder / "chroma", self._client)

    def drop(self, name: str) -> None:
        """Delete a collection."""
        from chromadb.errors import NotFoundError

        self._opened.pop(name, None)
        with self._errors(), suppress(NotFoundError):
            self._client.delete_collection(self._prefix + name)


def _size(row: Row) -> int:
    texts = (row.id, row.document, *(value for value in row.metadata.values() if isinstance(value, str)))
    return row.vector.nbytes + sum(map(len, texts))


def _settings() -> Any:
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return _environment().model_copy()  # a client writes its own path into them


@cache
def _environment() -> Any:
    """Return chromadb's settings; reading them takes longer than opening a small Chroma."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


_LOCK = Lock()
_OPEN: dict[Path, tuple[Any, int]] = {}
"""Folder -> its only client in this process, and the number of users. Two clients of one folder, one closing while the
other opens, break chromadb's own sharing."""


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
        if held is not client:  # `throw_away` has closed it
            return
        if n > 1:
            _OPEN[folder.resolve()] = client, n - 1
        else:
            del _OPEN[folder.resolve()]
            client.close()
            _return_freed_memory()


def _is_in_use(folder: Path, client: Any) -> bool:
    return _OPEN.get(folder.resolve(), (None, 0))[0] is client


def _close(folder: Path, client: Any) -> None:
    """Close a client, whoever else uses it."""
    with _LOCK:
        if _is_in_use(folder, client):
            del _OPEN[folder.resolve()]
            client.close()


def throw_away(folder: Path) -> None:
    """Delete the folder of an embedded Chroma, after closing its client."""
    with _LOCK:
        client, _ = _OPEN.pop(folder.resolve(), (None, 0))
        if client is not None:
            client.close()
        shutil.rmtree(folder, ignore_errors=True)


def _return_freed_memory() -> None:
    """Return to the system what Chroma has freed: each batch leaves pieces, as much again as the index in the end."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # a system without glibc
            ctypes.CDLL(None).malloc_trim(0)


def is_intact(folder: Path, check: str = "SELECT iif(count(*) >= 0, 'ok', '') FROM sqlite_master") -> bool:
    """Return whether SQLite can read the database in a Chroma folder; True if there is none yet.

    Args:
        folder: the folder.
        check: a query with the answer `ok`; by default the schema alone, in less than a millisecond.
    """
    file = folder / "chroma.sqlite3"
    if not file.exists():
        return True
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(check).fetchall() == [("ok",)]
    except (sqlite3.Error, UnicodeDecodeError):  # the latter in SQLite's own message
        return False


def _embedded(folder: Path) -> Any:
    import chromadb

    if not is_intact(folder):  # Chroma's core would end the process
        raise StoreError(f"{folder}: its database is damaged", hint="kb verify repairs it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(path=str(folder), settings=_settings())
    except BaseException as error:  # exceptions of chromadb and of its Rust core share no base class
        if not (isinstance(error, Exception) or is_panic(error)):
            raise
        if is_full(folder):
            raise storage_error(folder, error) from error
        raise StoreError(f"{folder} cannot be opened as Chroma: {error}", hint="kb verify repairs it") from error


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
    except (ValueError, ChromaError, HTTPError) as error:  # ValueError: no server, or not a Chroma server
        raise _unavailable(address, "does not answer", error) from error
    session = getattr(client._server, "_session", None)  # chromadb has no setting for it
    if session is not None:
        session.timeout = ANSWER_TIMEOUT_S
    return client


def _unavailable(address: str, what: str, error: Exception) -> SourceUnavailable:
    shown = address.rsplit("@", 1)[-1]  # without user and password
    return SourceUnavailable(
        f"The Chroma server at {shown} {what}: {error or type(error).__name__}",
        hint="Nothing is lost; run the same command again when the server answers.",
    )
