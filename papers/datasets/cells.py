"""Checked cells of JSON entries of data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from data.errors import BadInput

KindT = TypeVar("KindT")
_IN_WORDS: Final[Mapping[type, str]] = {dict: "an object", list: "a list", str: "a text"}


def cell(entry: object, key: str, kind: type[KindT], where: str) -> KindT:
    """Return a cell of an entry; `where` is its file and query for the error.

    Raises:
        BadInput: if the entry is no object, or the cell is missing or of another type.
    """
    if not isinstance(entry, Mapping):
        raise BadInput(f"{where}: expected an object with {key!r}, got {str(entry)[:80]}")
    if key not in entry:
        raise BadInput(f"{where}: {key!r} is missing; expected {_IN_WORDS.get(kind, kind.__name__)}")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadInput(f"{where}: expected {_IN_WORDS.get(kind, kind.__name__)} as {key!r}, got {str(value)[:80]}")
    return value


def text(entry: object, key: str, where: str) -> str:
    """Return a text that is not empty, with single blanks.

    Raises:
        BadInput: if it is missing, empty or no text.
    """
    found = " ".join(cell(entry, key, str, where).split())
    if not found:
        raise BadInput(f"{where}: {key!r} is empty")
    return found


def number_or_name(entry: object, key: str, where: str) -> str:
    """Return an id, a whole number or a text without blanks.

    Raises:
        BadInput: if it is missing or neither.
    """
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if (
        not isinstance(value, int | str)
        or isinstance(value, bool)
        or not str(value)
        or str(value).split() != [str(value)]
    ):
        raise BadInput(f"{where}: expected an id as {key!r}, got {value!r}")
    return str(value)


def texts(entry: object, key: str, where: str) -> Sequence[str]:
    """Return a list of texts that is not empty.

    Raises:
        BadInput: if it is missing, empty, or not of texts.
    """
    found = cell(entry, key, list, where)
    if not found or not all(isinstance(each, str) and each.strip() for each in found):
        raise BadInput(f"{where}: expected texts as {key!r}, got {str(found)[:80]}")
    return [" ".join(each.split()) for each in found]
