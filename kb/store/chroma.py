"""Chroma, embedded in a folder or on a server: the only module that knows chromadb.

Vectors are unit rows in inner-product space, since `cosine` would normalise them again and change their last bits.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import struct
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np

from data.arrays import FloatArray
from data.batches import grouped, grouped_by_size, return_freed_memory
from data.errors import ConfigError, MissingRequirement, SourceUnavailable, StoreError
from data.files import Closing, is_panic, storage_error, storage_errors
from kb.store.layout import KnowledgeBaseInfo, collection_names

_log = logging.getLogger(__name__)
Metadata = Mapping[str, str | int | float | bool]
AnswerT = TypeVar("AnswerT")


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
SPARE_BYTES = 8 << 20  # to remain free on the disk after a batch
ANSWER_TIMEOUT_S = 120.0  # of a server; chromadb sets none
PROBE_TIMEOUT_S = 10.0  # of its first answer
# Every batch is synced to the index files, so that none is left in a queue and a copy of the folder is complete.
_SYNCED: Final = {"space": "ip", "sync_threshold": 1, "batch_size": 1}
# For the collections that are asked, a graph in which no best match was missed (`benchmarks.neighbours`), and for the
# others, which recognition scores as a whole, the least one.
_WIDE: Final = {**_SYNCED, "max_neighbors": 64, "ef_construction": 400, "ef_search": 500}
_LEAST: Final = {**_SYNCED, "max_neighbors": 2, "ef_construction": 2}
_ASKED: Final = ("species", "terms")


@cache
def _no_settings() -> Any:
    """Return chromadb's own defaults: a `.env` or variables of the working directory must not send texts elsewhere.

    Its import reads both, and fails on numbers that are none, so meanwhile settings have no source at all.
    """
    from pydantic_settings import BaseSettings

    held = BaseSettings.__dict__["settings_customise_sources"]
    BaseSettings.settings_customise_sources = classmethod(lambda *_, init_settings, **__: (init_settings,))  # type: ignore[assignment]
    try:
        from chromadb.config import Settings
    finally:
        BaseSettings.settings_customise_sources = held  # type: ignore[method-assign]
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return Settings.model_construct(anonymized_telemetry=False)


class Chroma(Closing):
    """The collections of a knowledge base: in a private folder that only this object uses, or on a server.

    On a full disk, a failed write of an embedded Chroma keeps its database locked, and the next call would wait for
    ever, deaf to Ctrl-C. So space is checked before each write, and nothing is tried again.

    Args:
        info: the description of the knowledge base, with the address of its server if it has one.
        folder: the folder of an embedded Chroma.
        root: the knowledge base, which errors name.

    Raises:
        ConfigError: if `chroma` in `kb.toml` is not an address.
        SourceUnavailable: if the server does not answer; also raised by all methods.
        StoreError: if the folder cannot be opened as Chroma.
    """

    def __init__(self, info: KnowledgeBaseInfo, folder: Path, root: Path) -> None:
        self._address, self._root = info.chroma, root
        # On a server that several knowledge bases share, the id keeps their collections apart.
        self._prefix = f"{info.id}-" if info.chroma else ""
        self.names = collection_names(info)
        self._client: Any = self._connected() if info.chroma else self._opened(folder)

    def _opened(self, folder: Path) -> Any:
        settings = _no_settings().model_copy()  # a client writes its own path into them
        import chromadb

        try:
            folder.mkdir(parents=True, exist_ok=True)
            return chromadb.PersistentClient(path=str(folder), settings=settings)
        except BaseException as error:  # exceptions of chromadb and of its Rust core share no base class
            if isinstance(error, Exception) or is_panic(error):
                raise storage_error(folder, error) from error
            raise

    def _connected(self) -> Any:
        parts = urlsplit(self._address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"chroma = {self._address!r}: expected http://HOST:PORT")
        settings, is_secure = _no_settings().model_copy(), parts.scheme == "https"
        import chromadb
        import httpx

        with self._errors():
            httpx.get(f"{self._address.rstrip('/')}/api/v2/heartbeat", timeout=PROBE_TIMEOUT_S)
            client: Any = chromadb.HttpClient(
                host=parts.hostname,
                port=parts.port or (443 if is_secure else 8000),
                ssl=is_secure,
                settings=settings,
            )
        session = getattr(client._server, "_session", None)  # chromadb has no setting for it
        if session is not None:
            session.timeout = ANSWER_TIMEOUT_S
        return client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Translate errors of Chroma, and of the connection to a server."""
        if not self._address:
            try:
                with storage_errors(self._root):
                    yield
            except StoreError:
                self._check_space(0)  # which may be the reason
                raise
            return
        from chromadb.errors import ChromaError
        from httpx import HTTPError

        try:
            yield
        except (ValueError, HTTPError, ChromaError) as error:  # ValueError: no server, or not a Chroma server
            what = "refuses a request" if isinstance(error, ChromaError) else "does not answer"
            shown = self._address.rsplit("@", 1)[-1]  # without user and password
            _log.debug("Chroma: %s", error)
            raise SourceUnavailable(
                f"The Chroma server at {shown} {what}",
                hint="Nothing is lost; run the same command again when the server answers.",
            ) from error

    def _check_space(self, n_bytes: int) -> None:
        """Raise `MissingRequirement` if the disk has too little space for a batch of so many bytes."""
        if self._address:  # its disk is its own affair
            return
        needed, free = SPARE_BYTES + 4 * n_bytes, shutil.disk_usage(self._root).free
        if free < needed:
            raise MissingRequirement(
                f"{self._root}: {free / 2**20:.0f} MiB are free on this disk, "
                f"expected at least {needed / 2**20:.0f} MiB",
                hint="Nothing is lost; free some space and run the same command again.",
            )

    def _run(self, name: str, work: Callable[[Any], AnswerT]) -> AnswerT | None:
        """Return `work(collection)`, or None if the collection does not exist."""
        from chromadb.errors import NotFoundError

        with self._errors():
            try:
                collection = self._client.get_collection(self._prefix + name, embedding_function=None)
            except NotFoundError:
                return None
            return work(collection)

    def _largest_batch(self) -> int:
        with self._errors():
            return int(self._client.get_max_batch_size())

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Add or replace rows in batches; a replaced row keeps metadata whose keys are not given."""
        if not rows:
            return
        graph = _WIDE if self.names[name][0] in _ASKED else _LEAST
        share = -(-BATCH_BYTES // self._largest_batch())  # the least that a row counts, so that a batch has few rows
        for batch in grouped_by_size(rows, lambda row: max(size_of(row), share), BATCH_BYTES):
            self._check_space(sum(map(size_of, batch)))
            with self._errors():
                self._client.get_or_create_collection(
                    self._prefix + name, embedding_function=None, configuration={"hnsw": graph}
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
            self._check_space(0)
            self._run(name, methodcaller("delete", ids=batch))

    def nearest(self, name: str, vectors: FloatArray, n: int) -> list[list[str]]:
        """Return the ids of about the `n` nearest rows to each of `(q, dim)` vectors; the order is Chroma's."""
        found = self._run(name, methodcaller("query", query_embeddings=vectors, n_results=n, include=[]))
        return found["ids"] if found else [[] for _ in vectors]

    def ids(self, name: str) -> Iterator[str]:
        """Yield the ids of all rows."""
        for start in range(0, self.count(name), PAGE):
            page = self._run(name, methodcaller("get", limit=PAGE, offset=start, include=[]))
            yield from page["ids"] if page else ()

    def mark(self, name: str, state: str) -> None:
        """Write the name of the state that a collection holds."""
        self._run(name, methodcaller("modify", metadata={"state": state}))

    def is_at(self, name: str, state: str, n: int) -> bool:
        """Return whether a collection holds that state, with all of its `n` rows."""

        def look(collection: Any) -> bool:
            return (collection.metadata or {}).get("state") == state and collection.count() == n

        return bool(self._run(name, look))

    def count(self, name: str) -> int:
        """Return the number of rows."""
        return int(self._run(name, methodcaller("count")) or 0)

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

    def drop(self, name: str) -> None:
        """Delete a collection."""
        from chromadb.errors import NotFoundError

        with self._errors(), suppress(NotFoundError):
            self._client.delete_collection(self._prefix + name)

    def close(self) -> None:
        """Close the folder or the connection."""
        self._client.close()
        return_freed_memory()


_NEVER_SET: Final = "length.bin"  # room for the length of each vector, which the index neither sets nor reads
_VECTORS: Final = "data_level0.bin"  # a slot for each vector; the slots after the last vector are not set
_HEADER: Final = struct.Struct("<iQQQQ")  # version, offset of links, number of slots, of vectors, bytes of a slot
_PART: Final = 1 << 20  # bytes looked at in one go


def index_folders(folder: Path, names: Container[str] | None = None) -> set[str]:
    """Return the names of the folders that hold the indices of some collections (None: all) in a closed Chroma."""
    query = (
        "SELECT collections.name, segments.id FROM segments JOIN collections ON segments.collection = collections.id"
    )
    path = f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?immutable=1"
    with storage_errors(folder), closing(sqlite3.connect(path, uri=True)) as db:
        return {segment for name, segment in db.execute(query) if names is None or name in names}


def n_slots(folder: Path) -> int:
    """Return the number of vectors in the index files, which keep deleted ones."""
    return sum(_HEADER.unpack(header.read_bytes()[: _HEADER.size])[3] for header in folder.glob("*/header.bin"))


def tidy(folder: Path) -> None:
    """Make a closed Chroma ready for publication: without memory that it never set, dropped indices and empty room.

    Its index allocates room for more vectors than it holds and writes the whole to its files, so that these would
    hold freed memory of the process, keys included. Its database keeps the room of the queue of all vectors.
    """
    with storage_errors(folder), closing(sqlite3.connect(folder / "chroma.sqlite3", isolation_level=None)) as db:
        db.execute("VACUUM")
    held = index_folders(folder)
    for index in folder.iterdir():
        if index.is_dir() and index.name not in held:
            shutil.rmtree(index)
    for header in folder.glob("*/header.bin"):
        _blank(header.with_name(_NEVER_SET), 0)
        _, _, slots, vectors, slot = _HEADER.unpack(header.read_bytes()[: _HEADER.size])
        stored = header.with_name(_VECTORS)
        if stored.stat().st_size == slots * slot:  # of another form, the file would lose vectors
            _blank(stored, vectors * slot)


def _blank(path: Path, start: int) -> None:
    with path.open("rb+") as file:
        file.seek(start)
        while part := file.read(_PART):
            if part.strip(b"\0"):
                file.seek(-len(part), 1)
                file.write(bytes(len(part)))
