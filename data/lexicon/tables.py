"""Tables of words, one folder of text files for each group of animals: `birds/colours.txt`.

The first column of a table is a word; each other column is its meaning to one reader, `-` if that reader ignores the
word. `#` begins a comment, two spaces separate columns. Another group is another folder with the same files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

BIRDS = "birds"

_GAP = re.compile(r" {2,}")


@cache
def column(table: str, name: str, *, group: str = BIRDS) -> Mapping[str, str]:
    """Return word -> its entry in a column, in the order of the table, without empty entries.

    Example:
        >>> column("colours", "fact")["scarlet"]
        'red'

    Raises:
        ValueError: if the table has no such column.
    """
    head, *below = _rows(table, group)
    if name not in head[1:]:
        raise ValueError(f"expected one of the columns {', '.join(head[1:])} of {group}/{table}, got {name!r}")
    at = head.index(name)
    return {row[0]: row[at] for row in below if row[at] != "-"}


def rows(table: str, *, group: str = BIRDS) -> list[list[str]]:
    """Return the lines of a table below its head, in their order.

    Example:
        >>> rows("shapes")[0]
        ['bill', 'long', 'long']
    """
    return _rows(table, group)[1:]


@cache
def _rows(table: str, group: str) -> list[list[str]]:
    found = [_GAP.split(line) for line in lines_of(table, group=group)]
    for row in found:
        if len(row) != len(found[0]):
            raise ValueError(f"expected {len(found[0])} columns in {group}/{table}, got {row}")
    return found


def lines_of(table: str, *, group: str = BIRDS) -> list[str]:
    """Return the lines of a file of the lexicon without comments and empty lines."""
    text = (files("data.lexicon") / group / f"{table}.txt").read_text(encoding="utf-8")
    return [line for raw in text.splitlines() if (line := raw.partition("#")[0].strip())]
