"""The JSON object in a text, such as a model's reply with words around it."""

from __future__ import annotations

import json
import re
from typing import Final

from data.foreign_json import parse_json, parse_json_at

_START: Final = re.compile(r'\{\s*["}]')
_MOST_PASSES: Final = 20  # over a text in all: objects without an end would be read once for each level
_LINE_COUNTING: Final = 100  # times as fast as parsing; an error counts the lines before it


def json_object(text: str) -> tuple[dict[str, object] | None, bool]:
    r"""Return the last complete JSON object in a text; and whether other text surrounds it.

    None without one, or if two objects give different values of the same key: two answers are none.

    Example:
        >>> json_object('Here it is:\n```json\n{"ranking": [2, 1]}\n```')
        ({'ranking': [2, 1]}, True)
        >>> json_object('{"answer": "A"} No, {"answer": "B"}')
        (None, True)
        >>> json_object('{"a": {"b": 1}}'), json_object("[1]")
        (({'a': {'b': 1}}, False), (None, False))
    """
    try:
        whole = parse_json(text)
    except ValueError:
        return _last(text), True
    return (whole if isinstance(whole, dict) else None), False


def _last(text: str) -> dict[str, object] | None:
    found: dict[str, object] | None = None
    values: dict[str, object] = {}
    start, left = _START.search(text), _MOST_PASSES * len(text)
    while start:
        at = start.start()
        try:
            payload, end = parse_json_at(text, at)
        except ValueError as error:
            stop = error.pos if isinstance(error, json.JSONDecodeError) else len(text)
            left -= stop - at + at // _LINE_COUNTING
            if left < 0:
                return None
            start = _START.search(text, at + 1)
            continue
        if isinstance(payload, dict):
            if any(values.get(key, value) != value for key, value in payload.items()):
                return None
            found = payload
            values |= payload
        start = _START.search(text, end)
    return found
