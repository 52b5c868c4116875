"""Caches on disk of replies and drawings, so that the same request is never paid for twice."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from data.cache_file import CacheFile
from data.codec import dumps, loads
from data.errors import BadImage, Refused, StoreError
from data.files import sha256_hex, write_atomic
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.form import Form

_REFUSED: Final = "refused: "  # begins the entry of a refusal; others are JSON or PNG files


def request_key(model: str, request: ChatRequest) -> str:
    """Return the key of a request to a model: 64 hex digits of all that decides the reply, without secrets."""
    whole = {each.name: getattr(request, each.name) for each in fields(request) if each.compare}
    whole["messages"] = [
        {"role": message.role, "text": message.text, "images": [sha256_hex(image) for image in message.images]}
        for message in request.messages
    ]
    return sha256_hex(f"{model}\n{json.dumps(whole, sort_keys=True, ensure_ascii=False, default=dict)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """Facts learnt of a model's server."""

    form: Form = field(default_factory=Form)
    room: int = 0
    """Tokens that requests begin with, beside those of a first try; below 0 if the server refuses so many."""


class ReplyCache(CacheFile):
    """Replies and refusals by `request_key`, and facts learnt of requests and servers by keys with blanks.

    With `fresh`, the facts of servers are still read. The length is the number of replies and refusals.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        super().__init__(path, lost="its replies are asked for again", fresh=fresh)

    def find(self, key: str) -> ChatReply | Refused | None:
        """Return the reply to a request, marked as cached and free, or the refusal; None without one."""
        text = self.get(key)
        if text is None or text.startswith(_REFUSED):
            return None if text is None else Refused(text.removeprefix(_REFUSED))
        try:
            return replace(loads(ChatReply, text), cost_usd=0.0, cached=True)
        except StoreError:
            return None  # of another version

    def store(self, key: str, found: ChatReply | Refused | int) -> None:
        """Store the reply to a request, its refusal (the model would decline again, and charge again), or its limit.

        A number is the limit of tokens at which the reply was cut off.
        """
        if isinstance(found, int):
            self.put(f"cut off {key}", str(found))
        else:
            self.put(key, f"{_REFUSED}{found}" if isinstance(found, Refused) else dumps(found))

    def __len__(self) -> int:
        counted = "SELECT count(*) FROM entries WHERE key NOT LIKE '% %'"
        return int(self._reader.run(lambda db: db.execute(counted).fetchone())[0])

    def cut_off_at(self, key: str) -> int:
        """Return the most tokens with which the reply to a request was cut off; 0 if it was not."""
        return int(self.get(f"cut off {key}") or 0)

    def learnt(self, endpoint: Endpoint) -> Learnt:
        """Return the facts learnt of an endpoint."""
        try:
            return loads(Learnt, self.get(f"learnt {endpoint.key}", earlier=True) or "{}")
        except StoreError:
            return Learnt()  # of another version

    def learn(self, endpoint: Endpoint, **changes: Any) -> None:  # noqa: ANN401
        """Store some facts learnt of an endpoint, beside the others, which another connection may have learnt."""
        self.put(f"learnt {endpoint.key}", dumps(replace(self.learnt(endpoint), **changes)))

    def forget(self, endpoint: Endpoint) -> None:
        """Remove the facts learnt of an endpoint."""
        self.remove(f"learnt {endpoint.key}")


class DrawingCache:
    """Drawings in a folder, a file for each, shared by processes and safe against kills.

    A file that was deleted or damaged is drawn again. With `fresh`, files of earlier runs are not read, but replaced.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder
        self._written: set[Path] | None = set() if fresh else None

    def get(self, model: str, prompt: str, n: int) -> list[Path]:
        """Return the first `n` drawings of a prompt that are stored, in order, up to the first that is missing.

        Raises:
            Refused: if the model has refused the prompt.
        """
        from data.images.decode import read_image

        found: list[Path] = []
        while len(found) < n:
            path = self._path(model, prompt, len(found))
            if not path.is_file() or (self._written is not None and path not in self._written):
                break
            content = path.read_bytes()
            if content.startswith(_REFUSED.encode()):
                raise Refused(content.decode().removeprefix(_REFUSED))
            try:
                read_image(content)
            except BadImage:
                break
            found.append(path)
        return found

    def put(self, model: str, prompt: str, place: int, content: bytes) -> Path:
        """Store a drawing, a PNG file, at its place among those of the prompt, and return its file."""
        path = self._path(model, prompt, place)
        write_atomic(path, content)
        if self._written is not None:
            self._written.add(path)
        return path

    def refuse(self, model: str, prompt: str, refusal: str) -> None:
        """Store the refusal of a prompt: the model would decline again, and may charge again."""
        self.put(model, prompt, 0, _REFUSED.encode() + refusal.encode())

    def _path(self, model: str, prompt: str, place: int) -> Path:
        key = sha256_hex(f"{model}\n{place}\n{prompt}")
        return self._folder / key[:2] / f"{key}.png"
