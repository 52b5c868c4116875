"""Cache of model replies on disk, so that the same request is never paid for twice."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from data.cache_file import CacheFile
from data.codec import dumps, loads
from data.errors import Refused, StoreError
from data.files import sha256_hex
from data.records import ChatReply, ChatRequest
from kb.endpoints.form import Form

_REFUSED: Final = "refused: "  # begins the entry of a refusal; that of a reply is JSON


def request_key(model: str, request: ChatRequest) -> str:
    """Return the key of a request to a model: 64 hex digits of all that decides the reply, without secrets."""
    messages = [
        {"role": message.role, "text": message.text, "images": [_digest_of(image) for image in message.images]}
        for message in request.messages
    ]
    whole: dict[str, object] = {
        "messages": messages,
        "json_schema": None if request.json_schema is None else dict(request.json_schema),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_logprobs": request.top_logprobs,
        "seed": request.seed,
        "first_words": request.first_words,
        "in_one": request.in_one,
    }
    return sha256_hex(f"{model}\n{json.dumps(whole, sort_keys=True, ensure_ascii=False)}")


@lru_cache(maxsize=64)  # a photo is sent with several questions
def _digest_of(image: bytes) -> str:
    return sha256_hex(image)


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

    def store(self, key: str, found: ChatReply | Refused) -> None:
        """Store the reply to a request, or its refusal: the model would decline again, and charge again."""
        self.put(key, f"{_REFUSED}{found}" if isinstance(found, Refused) else dumps(found))

    def __len__(self) -> int:
        counted = "SELECT count(*) FROM entries WHERE key NOT LIKE '% %'"
        return int(self._reader.run(lambda db: db.execute(counted).fetchone())[0])

    def cut_off_at(self, key: str) -> int:
        """Return the most tokens with which the reply to a request was cut off; 0 if it was not."""
        return _number(self.get(f"cut off {key}"))

    def store_cut_off(self, key: str, tokens: int) -> None:
        """Store with how many tokens the reply to a request was cut off."""
        self.put(f"cut off {key}", str(tokens))

    def room(self, model: str) -> int:
        """Return the tokens that a model needs beside those of a first try."""
        return _number(self.get(f"room {model}", earlier=True))

    def store_room(self, model: str, tokens: int) -> None:
        """Store the tokens that a model needs beside those of a first try."""
        self.put(f"room {model}", str(tokens))

    def form(self, model: str) -> Form | None:
        """Return the form of requests that a model's server takes, if it is known."""
        text = self.get(f"form {model}", earlier=True)
        try:
            return None if text is None else loads(Form, text)
        except StoreError:
            return None  # of another version

    def store_form(self, model: str, form: Form) -> None:
        """Store the form of requests that a model's server takes."""
        self.put(f"form {model}", dumps(form))

    def forget(self, model: str) -> None:
        """Remove the facts learnt of a model's server."""
        for fact in ("form", "room"):
            self.remove(f"{fact} {model}")


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
