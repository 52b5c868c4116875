"""Cache of model replies in SQLite, so that the same request is never paid for twice."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from data.cache_file import CacheFile, checked
from data.closing import Closing
from data.codec import dumps, loads
from data.errors import Refused, StoreError
from data.files import sha256_hex
from data.records import ChatReply, ChatRequest
from data.sqlite import transaction
from kb.endpoints.form import Form

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, request TEXT NOT NULL, reply TEXT, refusal TEXT,
    stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cut_offs (key TEXT PRIMARY KEY, max_tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forms (model TEXT PRIMARY KEY, form TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checksums (key TEXT PRIMARY KEY, checksum TEXT NOT NULL) WITHOUT ROWID;
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

    The file is created on first use. A damaged one is set aside; a damaged entry counts as missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Two connections: reads do not wait for a write that waits for the disk.
        self._reader, self._writer = _connection(path), _connection(path)

    def get(self, model: str, request: ChatRequest) -> ChatReply | None:
        """Return the cached reply, marked as cached and free, or None.

        Raises:
            Refused: if a refusal is cached.
        """
        key = request_key(model, request)
        row = self._reader.run(lambda db: db.execute(_FIND, (key,)).fetchone())
        if row is None:
            return None
        found = _read(*row)
        if isinstance(found, Refused):
            raise found
        return found

    def put(
        self,
        model: str,
        request: ChatRequest,
        *,
        reply: ChatReply | None = None,
        refusal: str = "",
        replaces: bool = False,
    ) -> None:
        """Store a reply or a refusal; the first one for a request stays, unless it is damaged or to be replaced."""
        text = request_json(request)
        key, stored = sha256_hex(f"{model}\n{text}"), dumps(reply) if reply is not None else None

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                held = db.execute(_FIND, (key,)).fetchone()
                if held is not None and not replaces and _read(*held) is not None:
                    return
                values = (key, model, text, stored, refusal if stored is None else None)
                db.execute(_PUT, values)
                db.execute("INSERT OR REPLACE INTO checksums VALUES (?, ?)", (key, checked(stored or refusal)))

        self._writer.run(write)

    def cut_off_at(self, model: str, request: ChatRequest) -> int:
        """Return the most tokens at which a reply to the request was cut off; 0 if none was."""
        key, query = request_key(model, request), "SELECT max_tokens FROM cut_offs WHERE key = ?"
        found = self._reader.run(lambda db: db.execute(query, (key,)).fetchone()) or (0,)
        return found[0] if isinstance(found[0], int) else 0

    def store_cut_off(self, model: str, request: ChatRequest, max_tokens: int) -> None:
        """Store the tokens at which a reply was cut off."""
        statement = (
            "INSERT INTO cut_offs VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET max_tokens = max(max_tokens, excluded.max_tokens)"
        )
        values = (request_key(model, request), max_tokens)
        self._writer.run(lambda db: db.execute(statement, values))

    def form(self, model: str) -> Form | None:
        """Return the form of requests that a model's server takes, if it is known."""
        query = "SELECT form FROM forms WHERE model = ?"
        found = self._reader.run(lambda db: db.execute(query, (model,)).fetchone())
        try:
            return loads(Form, found[0]) if found else None
        except StoreError:
            return None  # of another version

    def store_form(self, model: str, form: Form | None) -> None:
        """Store the form of requests that a model's server takes; None forgets it."""
        values = (model, dumps(form) if form is not None else "")
        self._writer.run(lambda db: db.execute("INSERT OR REPLACE INTO forms VALUES (?, ?)", values))

    def __len__(self) -> int:
        return int(self._reader.run(lambda db: db.execute("SELECT count(*) FROM replies").fetchone())[0])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._writer.close()
        self._reader.close()


_PUT = "INSERT OR REPLACE INTO replies (key, model, request, reply, refusal) VALUES (?, ?, ?, ?, ?)"
_FIND = "SELECT reply, refusal, checksum FROM replies LEFT JOIN checksums USING (key) WHERE key = ?"


def _connection(path: Path) -> CacheFile:
    return CacheFile(path, schema=_SCHEMA, synchronous="FULL", lost="its replies are asked for again")


def _read(reply: object, refusal: object, checksum: object) -> ChatReply | Refused | None:
    """Return the entry in a row, None if it is damaged."""
    texts = [each for each in (reply, refusal) if isinstance(each, str)]
    # No checksum: stored by an earlier version.
    if len(texts) != 1 or checksum not in (None, checked(*texts)):
        return None
    if refusal is not None:
        return Refused(texts[0])
    try:
        return as_cached(loads(ChatReply, texts[0]))
    except StoreError:
        return None


def as_cached(reply: ChatReply) -> ChatReply:
    """Return a reply marked as cached and free."""
    return replace(reply, cost_usd=0.0, cached=True)
