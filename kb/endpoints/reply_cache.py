"""Cache of model replies in SQLite, so that the same request is never paid for twice."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from data.closing import Closing
from data.codec import dumps, loads
from data.errors import Refused, StoreError
from data.files import sha256_hex
from data.records import ChatReply, ChatRequest
from data.sqlite import use_write_ahead_log
from data.storage_errors import storage_errors

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, request TEXT NOT NULL, reply TEXT, refusal TEXT,
    stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cut_offs (key TEXT PRIMARY KEY, max_tokens INTEGER NOT NULL) WITHOUT ROWID;
"""


def request_json(request: ChatRequest) -> str:
    """Return a request as one line of canonical JSON, images by their sha256."""
    messages = [
        {"role": message.role, "text": message.text, "images": [_digest_of(image) for image in message.images]}
        for message in request.messages
    ]
    schema = None if request.json_schema is None else dict(request.json_schema)
    whole: dict[str, object] = {
        "messages": messages,
        "json_schema": schema,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_logprobs": request.top_logprobs,
        "seed": request.seed,
    }
    # Later fields enter where they are used, so that stored replies stay valid.
    if request.first_words:
        whole["first_words"] = request.first_words
    if request.in_one:
        whole["in_one"] = True
    return json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=64)  # a photo is sent with several questions, each looked up and then stored
def _digest_of(image: bytes) -> str:
    return sha256_hex(image)


def request_key(model: str, request: ChatRequest) -> str:
    """Return the key of a request to a model: 64 hex digits, without secrets."""
    return sha256_hex(f"{model}\n{request_json(request)}")


class ReplyCache(Closing):
    """Replies in one SQLite file, shared by many processes and safe against kills; a context manager, to be closed.

    The file is created on first use.

    Raises:
        StoreError: from every method, if the file is not a reply cache or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Two connections: reads do not wait for a write that waits for the disk.
        self._reader, self._writer = _LockedConnection(), _LockedConnection()
        self._queue: list[tuple[_Row, Future[None]]] = []
        self._queue_lock = threading.Lock()

    def get(self, model: str, request: ChatRequest) -> ChatReply | None:
        """Return the cached reply, marked as cached and free, or None.

        Raises:
            Refused: if a refusal is cached.
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
        """Store a reply or a refusal; the first one stored for a request stays."""
        with self._writer.lock:
            self._write([_row_of(model, request, reply, refusal)])

    async def store(
        self, model: str, request: ChatRequest, *, reply: ChatReply | None = None, refusal: str = ""
    ) -> None:
        """Store a reply as `put` does, off the event loop; replies that arrive meanwhile share the next disk write."""
        stored: Future[None] = Future()
        with self._queue_lock:
            self._queue.append((_row_of(model, request, reply, refusal), stored))
        # Independent of this caller: its reply is written even if it is cancelled.
        asyncio.get_running_loop().run_in_executor(None, self._write_queue)
        await asyncio.shield(asyncio.wrap_future(stored))

    def cut_off_at(self, model: str, request: ChatRequest) -> int:
        """Return the most tokens at which a reply to the request was cut off; 0 if none was."""
        with self._reader.lock, storage_errors(self.path.parent):
            found = self._open(self._reader).execute(
                "SELECT max_tokens FROM cut_offs WHERE key = ?", (request_key(model, request),)
            )
            return int((found.fetchone() or (0,))[0])

    def store_cut_off(self, model: str, request: ChatRequest, max_tokens: int) -> None:
        """Store the tokens at which a reply was cut off."""
        with self._writer.lock, storage_errors(self.path.parent):
            self._open(self._writer).execute(
                "INSERT INTO cut_offs VALUES (?, ?) "
                "ON CONFLICT DO UPDATE SET max_tokens = max(max_tokens, excluded.max_tokens)",
                (request_key(model, request), max_tokens),
            )

    def _write_queue(self) -> None:
        with self._writer.lock:
            with self._queue_lock:
                batch, self._queue = self._queue, []
            if not batch:
                return  # written by an earlier call
            try:
                self._write([row for row, _ in batch])
            except Exception as error:  # raised to the waiting callers
                for _, stored in batch:
                    stored.set_exception(error)
            else:
                for _, stored in batch:
                    stored.set_result(None)

    def _write(self, rows: Sequence[_Row]) -> None:
        with storage_errors(self.path.parent):
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
        """Write replies of callers that were cancelled, and close the file; the next use opens it again."""
        self._write_queue()
        for connection in (self._writer, self._reader):
            with connection.lock:
                if connection.db is not None:
                    connection.db.close()
                    connection.db = None

    def _open(self, connection: _LockedConnection) -> sqlite3.Connection:
        if connection.db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            try:
                use_write_ahead_log(db)
                # A reply costs money: it must survive a power cut.
                db.execute("PRAGMA synchronous=FULL")
                db.executescript(_SCHEMA)
            except sqlite3.OperationalError:
                db.close()
                raise
            except sqlite3.DatabaseError as error:
                db.close()
                raise StoreError(
                    f"{self.path} is not a reply cache: {error}.", hint="Move the file away; its replies are lost."
                ) from error
            connection.db = db
        return connection.db


_Row = tuple[str, str, str, str | None, str | None]


def _row_of(model: str, request: ChatRequest, reply: ChatReply | None, refusal: str) -> _Row:
    text = request_json(request)
    key = sha256_hex(f"{model}\n{text}")
    return key, model, text, dumps(reply) if reply is not None else None, refusal if reply is None else None


@dataclass(slots=True)
class _LockedConnection:
    """A connection, opened on first use, and its lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    db: sqlite3.Connection | None = None


def as_cached(reply: ChatReply) -> ChatReply:
    """Return a reply marked as cached and free."""
    return replace(reply, cost_usd=0.0, cached=True)
