"""The JSON object in a text, such as a model's reply with words around it."""

from __future__ import annotations

from data.foreign_json import parse_json, parse_json_at


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
    at = text.find("{")
    while at >= 0:
        try:
            payload, end = parse_json_at(text, at)
        except ValueError:
            at = text.find("{", at + 1)
            continue
        if isinstance(payload, dict):
            if any(values.get(key, value) != value for key, value in payload.items()):
                return None
            found = payload
            values |= payload
        at = text.find("{", end)
    return found
