"""Checked cells of JSON entries of data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from data.errors import BadInput

KindT = TypeVar("KindT")


def cell(entry: object, key: str, kind: type[KindT], file: Path) -> KindT:
    """Return a cell of an entry.

    Raises:
        BadInput: if the entry is no object, or the cell is missing or of another type.
    """
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadInput(f"{file.name}: expected {key!r} as {kind.__name__}, got {value!r}")
    return value


def text(entry: object, key: str, file: Path) -> str:
    """Return a text that is not empty, with single blanks.

    Raises:
        BadInput: if it is missing, empty or no text.
    """
    found = " ".join(cell(entry, key, str, file).split())
    if not found:
        raise BadInput(f"{file.name}: {key!r} is empty")
    return found


def number_or_name(entry: object, key: str, file: Path) -> str:
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
        raise BadInput(f"{file.name}: expected an id as {key!r}, got {value!r}")
    return str(value)


def texts(entry: object, key: str, file: Path) -> Sequence[str]:
    """Return a list of texts that is not empty.

    Raises:
        BadInput: if it is missing, empty, or not of texts.
    """
    found = cell(entry, key, list, file)
    if not found or not all(isinstance(each, str) and each.strip() for each in found):
        raise BadInput(f"{file.name}: expected texts as {key!r}, got {str(found)[:80]}")
    return [" ".join(each.split()) for each in found]
