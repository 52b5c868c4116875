"""JSON: records and back by their type hints, and JSON of servers, models and files of others.

Pydantic checks the records. The JSON of others never crashes the parser and is always text that can be written; a reply
of a model may have words around its JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from data.errors import StoreError

RecordT = TypeVar("RecordT")


_adapters: dict[type[Any], Any] = {}  # class -> pydantic.TypeAdapter, which is slow to make


def _adapter(kind: type[Any]) -> Any:
    if kind not in _adapters:
        from pydantic import TypeAdapter  # imported late: it costs 0.1 s

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_json(record: object) -> dict[str, Any]:
    """Return the record as plain JSON values, every field present, under the field's own name."""
    payload: dict[str, Any] = _adapter(type(record)).dump_python(record, mode="json")
    return payload


def from_json(kind: type[RecordT], payload: object) -> RecordT:
    """Return the record of class `kind` in parsed JSON; unknown fields are ignored.

    Raises:
        StoreError: if a field is missing or of another type.
    """
    return _valid(kind, _adapter(kind).validate_python, payload)


def _valid(kind: type[RecordT], validate: Callable[[Any], RecordT], payload: object) -> RecordT:
    from pydantic import ValidationError

    try:
        return validate(payload)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise StoreError(f"{first['msg']}.") from error
        expected = first["msg"].replace("Input should be", "expected") + f", got {repr(first['input'])[:60]}"
        if not first["loc"]:
            raise StoreError(f"Invalid {kind.__name__}: {expected}.") from error
        field = ".".join(map(str, first["loc"]))
        problem = " is missing" if first["type"] == "missing" else f": {expected}"
        raise StoreError(f'Field "{field}"{problem}.') from error


def dumps(record: object) -> str:
    """Return the record as one line of canonical JSON: sorted keys, no spaces, so equal records have equal bytes."""
    return json.dumps(to_json(record), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def loads(kind: type[RecordT], line: str) -> RecordT:
    """Return the record of class `kind` in a line of JSON.

    Raises:
        StoreError: if it is not JSON, or not such a record.
    """
    return _valid(kind, _adapter(kind).validate_json, line)  # half the time of `json.loads` and `from_json`


MAX_DEPTH: Final = 100
Pairs = Callable[[list[tuple[str, Any]]], Any]
_LONGEST_INTEGER: Final = 19  # digits of the largest id that a database holds


def parse_json(content: str | bytes, *, text: Callable[[str], str] = str) -> object:
    r"""Return the values in JSON; half of a surrogate pair becomes U+FFFD, NaN None, an integer over 19 digits a float.

    Args:
        content: the JSON, as UTF-8 if it is bytes.
        text: applied to every string and key, to mask a secret for example.

    Raises:
        ValueError: if it is not JSON, nested deeper than `MAX_DEPTH`, or has a number beyond all bounds.
    """
    whole = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    found, end = parse_json_at(whole, len(whole) - len(whole.lstrip()), text=text)
    if rest := whole[end:].strip():
        raise ValueError(f"expected the end of the JSON, got {rest[:20]!r}")
    return found


def load_json(content: str | bytes, *, object_pairs_hook: Pairs | None = None) -> Any:  # JSON values
    """Return what `json.loads` returns, for values of any depth and size that are checked by the caller.

    Raises:
        ValueError: if it is not JSON, or nested deeper than the parser can go.
    """
    try:
        return json.loads(content, object_pairs_hook=object_pairs_hook)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def parse_json_at(content: str, at: int, *, text: Callable[[str], str] = str) -> tuple[object, int]:
    """Return the values in the JSON that begins at a position of a text, and the position of its end.

    Raises:
        ValueError: as `parse_json`.
    """
    try:
        found, end = _DECODER.raw_decode(content, at)
    except RecursionError:
        raise ValueError(f"expected JSON of at most {MAX_DEPTH} levels") from None
    return _clean(found, text, MAX_DEPTH), end


def _clean(value: object, text: Callable[[str], str], levels: int) -> object:
    if isinstance(value, str):
        return text(value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    if not isinstance(value, dict | list):
        return value
    if not levels:
        raise ValueError(f"expected JSON of at most {MAX_DEPTH} levels")
    if isinstance(value, list):
        return [_clean(each, text, levels - 1) for each in value]
    return {str(_clean(key, text, levels)): _clean(each, text, levels - 1) for key, each in value.items()}


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else _number(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if abs(number) == float("inf"):
        raise ValueError(f"expected a number, got {digits[:20]}")
    return number


def _constant(name: str) -> float | None:
    if name == "-Infinity":  # the log-probability of a token that is impossible
        return float("-inf")
    if name == "NaN":  # of a log-probability: no number
        return None
    raise ValueError(f"expected a number, got {name}")


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_constant)


_START: Final = re.compile(r'\{\s*["}]')
_MOST_PASSES: Final = 20  # over a text in all: objects without an end would be read once for each level
_LINE_COUNTING: Final = 100  # times as fast as parsing; an error counts the lines before it


def json_object(text: str) -> tuple[dict[str, object] | None, bool]:
    r"""Return the last complete JSON object in a text; and whether other text surrounds it.

    None without one, or if two objects give different values of the same key: two answers are none.
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
