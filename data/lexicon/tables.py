"""Tables of words, one folder of text files for each group of organisms: `birds/parts.txt`, `common/colours.txt`.

The first column of a table is a word; each other column is its meaning to one reader, `-` if that reader ignores the
word. `#` begins a comment, two spaces separate columns. A group extends others (`groups.txt`): their tables hold for it
too, and where it has a word of its own, that row counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

BIRDS: Final = "birds"
COMMON: Final = "common"
"""Colours, patterns and sizes, and words on other topics; every group extends it."""

_GAP = re.compile(r" {2,}")


@cache
def column(table: str, name: str, *, group: str = BIRDS) -> Mapping[str, str]:
    """Return word -> its entry in a column, in the order of the tables, without empty entries.

    Raises:
        ValueError: if no table of the group has such a column.
    """
    found: dict[str, str] = {}
    known: list[str] = []
    for folder in folders(group):
        head, *below = _rows(table, folder) or [[]]
        known += head[1:]
        if name in head[1:]:
            at = head.index(name)
            found = {row[0]: row[at] for row in below} | found
    if name not in known:
        raise ValueError(f"expected one of the columns {', '.join(known)} of {group}/{table}, got {name!r}")
    return {word: entry for word, entry in found.items() if entry != "-"}


def rows(table: str, *, group: str = BIRDS) -> list[list[str]]:
    """Return the lines of a group's tables below their heads, its own first."""
    return [row for folder in folders(group) for row in _rows(table, folder)[1:]]


@cache
def _rows(table: str, folder: str) -> list[list[str]]:
    found = [_GAP.split(line) for line in lines_of(table, folder)]
    for row in found:
        if len(row) != len(found[0]):
            raise ValueError(f"expected {len(found[0])} columns in {folder}/{table}, got {row}")
    return found


def lines_of(table: str, folder: str) -> list[str]:
    """Return the lines of a folder's own file, without comments and empty lines; none if it has no such file."""
    file = files("data.lexicon") / folder / f"{table}.txt"
    if not file.is_file():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for raw in lines if (line := raw.partition("#")[0].strip())]


@cache
def folders(group: str) -> tuple[str, ...]:
    """Return the folders of a group's words: its own, those of the groups that it extends, and the common one."""
    above = {row[0]: row[1] for row in _rows("groups", "")[1:]}
    found = [group]
    while (parent := above.get(found[-1])) is not None:
        found.append(parent)
    return (*found, COMMON) if COMMON not in found else tuple(found)


def group_names() -> list[str]:
    """Return the groups of organisms with words of their own."""
    return [row[0] for row in _rows("groups", "")[1:]]


@cache
def near_colours() -> Mapping[str, Mapping[str, float]]:
    """Return basic colour -> similar colours and their likeness, itself not among them."""
    return _both_ways("near_colours")


@cache
def near_parts(group: str = BIRDS) -> Mapping[str, Mapping[str, float]]:
    """Return part of a field mark -> parts that overlap or touch it and their likeness, itself not among them."""
    return _both_ways("near_parts", group)


def _both_ways(table: str, group: str = BIRDS) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in rows(table, group=group):
        one, other, likeness = (each.replace("wing-bars", "wing bars") for each in row)
        found.setdefault(one, {})[other] = found.setdefault(other, {})[one] = float(likeness)
    return found
