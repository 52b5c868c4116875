"""API answers in known types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from data.errors import MalformedAnswer

Json: TypeAlias = dict[str, Any]
LARGEST_NUMBER: Final = 2**63 - 1  # what a database holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The merged answer to a query: each page is an object with a title (text) and a namespace (number)."""

    fields: Json
    pages: tuple[Json, ...]

    def steps(self, *keys: str) -> dict[str, str]:
        """Return from -> to of normalised and redirected titles."""
        return {text(step, "from"): text(step, "to") for key in keys for step in records(self.fields, key)}


# Each raises MalformedAnswer if the item has something else there.


def record(item: Json, key: str) -> Json:
    """Return an object of an item, empty if missing; the API writes empty ones as lists."""
    value = item.get(key, {})
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise _unexpected("an object", key, value)
    return value


def records(item: Json, key: str) -> list[Json]:
    """Return a list of objects of an item, empty if missing."""
    value = item.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _unexpected("a list of objects", key, value)
    return value


def text(item: Json, key: str) -> str:
    """Return a text of an item, empty if missing."""
    value = item.get(key, "")
    if not isinstance(value, str):
        raise _unexpected("a text", key, value)
    return value


def number(item: Json, key: str) -> int | None:
    """Return a whole number of an item, None if missing."""
    value = item.get(key)
    if (value is None and key not in item) or (type(value) is int and abs(value) <= LARGEST_NUMBER):
        return value
    raise _unexpected("a whole number", key, value)


def merged(parts: Iterable[Json]) -> Answer:
    """Return the parts of a continued query as one answer: lists joined, pages merged by title."""
    fields: Json = {}
    pages: dict[tuple[int, str], Json] = {}
    for part in parts:
        _join(fields, {key: value for key, value in part.items() if key != "pages"})
        for page in records(part, "pages"):
            page["ns"] = number(page, "ns") or 0
            if not text(page, "title").split():
                raise MalformedAnswer("Expected a title of each page in the wiki's answer")
            _join(pages.setdefault((page["ns"], page["title"]), {}), page)
    return Answer(fields=fields, pages=tuple(pages.values()))


def _join(known: Json, fresh: Json) -> None:
    for name, field in fresh.items():
        held = known.get(name)
        if isinstance(field, list) and isinstance(held, list):
            known[name] = held + [item for item in field if item not in held]
        else:
            known[name] = field


def _unexpected(expected: str, key: str, value: object) -> MalformedAnswer:
    kind = "null" if value is None else type(value).__name__
    return MalformedAnswer(f"Expected {expected} as {key!r} in the wiki's answer, got {kind}")
