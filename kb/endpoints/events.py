"""Streamed answers (server-sent events) put together to the answer that is not streamed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from data.errors import ReplyLost
from data.foreign_json import parse_json

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def chat_of_events(content: str, where: str) -> dict[str, Any]:
    """Return the chat completion in the events of a stream; an event with an error is returned alone.

    Raises:
        ReplyLost: if the stream ended before the reply did.
        ValueError: if an event is not JSON.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    tokens: list[object] = []
    is_done = False
    for line in re.split(r"\r\n|\r|\n", content):  # JSON may hold other ends of lines
        name, _, data = line.partition(":")
        if name.strip() != "data" or not data.strip():
            continue
        if data.strip() == "[DONE]":
            is_done = True
            break
        event = parse_json(data)
        if not isinstance(event, Mapping):
            continue
        if event.get("error") and not event.get("choices"):
            return dict(event)
        whole |= {field: value for field, value in event.items() if value is not None and field != "choices"}
        for part in event.get("choices") or ():
            if not isinstance(part, Mapping) or part.get("index"):
                continue  # of another choice
            choice |= {field: value for field, value in part.items() if value is not None and field != "delta"}
            delta = part.get("delta") or part.get("message") or {}
            for field, value in delta.items() if isinstance(delta, Mapping) else ():
                is_text = field in _TEXTS and isinstance(value, str)
                message[field] = f"{message.get(field) or ''}{value}" if is_text else value
            logprobs = part.get("logprobs")
            found = logprobs.get("content") if isinstance(logprobs, Mapping) else None
            tokens += found if isinstance(found, list) else []
    if not is_done and "finish_reason" not in choice:
        raise ReplyLost(f"{where}: the stream ended before the reply did")
    if not choice and not message:
        return whole
    return whole | {"choices": [choice | {"message": message, "logprobs": {"content": tokens} if tokens else None}]}
