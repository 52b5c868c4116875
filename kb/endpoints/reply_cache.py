"""Replies that were paid for, kept for good: the same request to the same model is never asked twice."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from data.codec import dumps, loads
from data.errors import Refused, StoreError
from data.files import sha256_hex
from data.records import ChatReply, ChatRequest
from data.storage_errors import storage_errors

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, request TEXT NOT NULL, reply TEXT, refusal TEXT,
    kept_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))) WITHOUT ROWID;
"""


def request_json(request: ChatRequest) -> str:
    """Return all that decides a reply as one line of canonical JSON; images stand in it by their sha256."""
    messages = [
        {"role": message.role, "text": message.text, "images": [_digest_of(image) for image in message.images]}
        for message in request.messages
    ]
    schema = None if request.json_schema is None else dict(request.json_schema)
    whole = {
        "messages": messages,
        "json_schema": schema,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_logprobs": request.top_logprobs,
        "seed": request.seed,
    }
    return json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=64)  # a photo goes out with several questions, and each request is looked up before it is kept
def _digest_of(image: bytes) -> str:
    return sha256_hex(image)


def request_key(model: str, request: ChatRequest) -> str:
    """Return the key of a request to a model: 64 hex digits; no secret goes into it."""
    return sha256_hex(f"{model}\n{request_json(request)}")


class ReplyCache:
    """Replies in one SQLite file, shared by many processes; what was put is there after a kill.

    Args:
        path: the file; made when it is first written to.

    Raises:
        StoreError: from every method, if the file is none of ours or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Two connections: who reads does not wait for a writer that waits for the disk.
        self._reader, self._writer = _Side(), _Side()
        self._waiting: list[_Waiting] = []
        self._is_writing = False
        self._queue_lock = threading.Lock()

    def get(self, model: str, request: ChatRequest) -> ChatReply | None:
        """Return the kept reply, marked as cached and free, or None.

        Raises:
            Refused: if what was kept is a refusal.
        """
        key = request_key(model, request)
        with self._reader.lock, storage_errors(self.path.parent):
            db = self._open(self._reader)
            row = db.execute("SELECT reply, refusal FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[1] is not None:
            raise Refused(str(row[1]))
        return as_cached(loads(ChatReply, row[0]))

    def put(self, model: str, request: ChatRequest, *, reply: ChatReply | None = None, refusal: str = "") -> None:
        """Keep a reply, or a refusal; the first one that is kept for a request stays."""
        self._write([_row_of(model, request, reply, refusal)])

    async def keep(
        self, model: str, request: ChatRequest, *, reply: ChatReply | None = None, refusal: str = ""
    ) -> None:
        """Keep a reply as `put` does, off the event loop; all that come meanwhile share the next wait for the disk."""
        loop = asyncio.get_running_loop()
        is_kept: asyncio.Future[None] = loop.create_future()
        waiting = _Waiting(_row_of(model, request, reply, refusal), loop, is_kept)
        with self._queue_lock:
            self._waiting.append(waiting)
            is_first, self._is_writing = not self._is_writing, True
        if is_first:
            # Not tied to this caller: if it is cancelled, the others' replies are written all the same.
            loop.run_in_executor(None, self._write_waiting)
        await is_kept

    def _write_waiting(self) -> None:
        while True:
            with self._queue_lock:
                batch, self._waiting = self._waiting, []
                if not batch:
                    self._is_writing = False
                    return
            failure: Exception | None = None
            try:
                self._write([waiting.row for waiting in batch])
            except Exception as error:  # handed to those who wait
                failure = error
            for waiting in batch:
                waiting.tell(failure)

    def _write(self, rows: Sequence[_Row]) -> None:
        with self._writer.lock, storage_errors(self.path.parent):
            db = self._open(self._writer)
            db.execute("BEGIN IMMEDIATE")
            try:
                db.executemany(
                    "INSERT OR IGNORE INTO replies (key, model, request, reply, refusal) VALUES (?, ?, ?, ?, ?)", rows
                )
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def __len__(self) -> int:
        with self._reader.lock, storage_errors(self.path.parent):
            return int(self._open(self._reader).execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        for side in (self._writer, self._reader):
            with side.lock:
                if side.db is not None:
                    side.db.close()
                    side.db = None

    def _open(self, side: _Side) -> sqlite3.Connection:
        if side.db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode=WAL")
                # A reply is paid for: it must outlive a power cut too.
                db.execute("PRAGMA synchronous=FULL")
                db.execute(_SCHEMA)
            except sqlite3.OperationalError:
                db.close()
                raise
            except sqlite3.DatabaseError as error:
                db.close()
                raise StoreError(
                    f"{self.path} is no cache of replies: {error}", hint="move it away; replies in it are lost"
                ) from error
            side.db = db
        return side.db


_Row = tuple[str, str, str, str | None, str | None]


def _row_of(model: str, request: ChatRequest, reply: ChatReply | None, refusal: str) -> _Row:
    text = request_json(request)
    key = sha256_hex(f"{model}\n{text}")
    return key, model, text, dumps(reply) if reply is not None else None, refusal if reply is None else None


@dataclass(slots=True)
class _Side:
    """A connection, once there is one, and whose turn it is to use it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    db: sqlite3.Connection | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A row that somebody waits to be written."""

    row: _Row
    loop: asyncio.AbstractEventLoop
    is_kept: asyncio.Future[None]

    def tell(self, failure: Exception | None) -> None:
        """Say in the waiter's own loop that it is written, or why not."""

        def settle() -> None:
            if self.is_kept.done():
                return  # cancelled meanwhile
            if failure is None:
                self.is_kept.set_result(None)
            else:
                self.is_kept.set_exception(failure)

        with suppress(RuntimeError):  # its loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(settle)


def as_cached(reply: ChatReply) -> ChatReply:
    """Return a reply marked as one that was paid for before."""
    return replace(reply, cost_usd=0.0, cached=True)
