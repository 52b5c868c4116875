"""API answers in known types, so that an item of another shape fails alone and not the pages beside it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from data.errors import MalformedAnswer

Json: TypeAlias = dict[str, Any]
LARGEST_NUMBER: Final = 2**63 - 1  # what a database holds

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The merged answer to a query: each page is an object with a title (text) and a namespace (number)."""

    fields: Json
    pages: tuple[Json, ...]
    n_unusable: int
    """Pages and steps to them that were dropped."""


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


def usable(items: object, *, texts: tuple[str, ...], where: str) -> tuple[list[Json], int]:
    """Return the objects of a list that have these texts, and how many items were dropped, of which a warning tells.

    Raises:
        MalformedAnswer: if it is no list.
    """
    if not isinstance(items, list):
        raise _unexpected("a list", where, items)
    found = [each for each in items if isinstance(each, dict) and all(_is_text(each.get(key)) for key in texts)]
    if n_dropped := len(items) - len(found):
        _log.warning("Skipped %d malformed entries of %r in an answer of the wiki.", n_dropped, where)
    return found, n_dropped


def merged(parts: Iterable[Json]) -> Answer:
    """Return the parts of a continued query as one answer: lists joined, pages merged by title.

    Raises:
        MalformedAnswer: if a part has no list of pages where pages are expected.
    """
    fields: Json = {}
    pages: dict[tuple[int, str], Json] = {}
    n_unusable = 0
    for part in parts:
        for key, value in part.items():
            if key == "pages":
                found, n_dropped = usable(value, texts=("title",), where=key)
                sound = [page for page in found if type(page.setdefault("ns", 0)) is int]
                n_unusable += n_dropped + len(found) - len(sound)
                for page in sound:
                    _join(pages.setdefault((page["ns"], page["title"]), {}), page)
            else:
                _join(fields, {key: value})
    return Answer(fields=fields, pages=tuple(pages.values()), n_unusable=n_unusable)


def steps(answer: Answer, *keys: str) -> tuple[dict[str, str], int]:
    """Return from -> to of normalised and redirected titles, and how many steps are unusable."""
    found: dict[str, str] = {}
    n_unusable = 0
    for key in keys:
        try:
            each, n_dropped = usable(answer.fields.get(key, []), texts=("from", "to"), where=key)
        except MalformedAnswer:
            each, n_dropped = [], 1
        found |= {step["from"]: step["to"] for step in each}
        n_unusable += n_dropped
    return found, n_unusable


def _join(known: Json, fresh: Json) -> None:
    for name, field in fresh.items():
        held = known.get(name)
        if isinstance(field, list) and isinstance(held, list):
            known[name] = held + [item for item in field if item not in held]
        else:
            known[name] = field


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.split())


def _unexpected(expected: str, key: str, value: object) -> MalformedAnswer:
    kind = "null" if value is None else type(value).__name__
    return MalformedAnswer(f"Expected {expected} as {key!r} in the wiki's answer, got {kind}")
