"""Cells with several common names."""

from __future__ import annotations

import re
from typing import Final

SEVERAL: Final = re.compile(r"[;|]")


def common_names_in(cell: str) -> tuple[str, ...]:
    """Return the common names in a cell.

    Bars, which Darwin Core recommends, and semicolons always separate names. Commas do where each part has two words or
    more: a part of one word belongs to an inverted name, which stays whole.

    Source: Darwin Core quick reference guide: "separate the values in a list with space vertical bar space".

    Example:
        >>> common_names_in("Snowy Owl | Arctic Owl"), common_names_in("Snowy Owl, Great White Owl")
        (('Snowy Owl', 'Arctic Owl'), ('Snowy Owl', 'Great White Owl'))
        >>> common_names_in("Owl, Great Horned; Screech Owl, Eastern")
        ('Owl, Great Horned', 'Screech Owl, Eastern')
    """
    found: list[str] = []
    for text in SEVERAL.split(cell):
        parts = [name for part in text.split(",") if (name := part.strip())]
        found += parts if all(len(part.split()) > 1 for part in parts) else [", ".join(parts)]
    return tuple(found)
