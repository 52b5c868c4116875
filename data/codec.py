"""Records to JSON and back, by their type hints (pydantic does the checking)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

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
