"""Likeness of colours and of parts of the body, from `near_colours.txt` and `near_parts.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from data.lexicon.tables import BIRDS, rows


@cache
def near_colours() -> Mapping[str, Mapping[str, float]]:
    """Return basic colour -> similar colours and their likeness, itself not among them.

    Example:
        >>> near_colours()["orange"]["rufous"] == near_colours()["rufous"]["orange"] == 0.7
        True
    """
    return _both_ways("near_colours")


@cache
def near_parts(group: str = BIRDS) -> Mapping[str, Mapping[str, float]]:
    """Return part of a field mark -> parts that overlap or touch it and their likeness, itself not among them.

    Example:
        >>> near_parts()["belly"]["underparts"]
        0.8
    """
    return _both_ways("near_parts", group)


def _both_ways(table: str, group: str = BIRDS) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for one, other, likeness in rows(table, group=group):
        for a, b in ((one, other), (other, one)):
            found.setdefault(a.replace("wing-bars", "wing bars"), {})[b.replace("wing-bars", "wing bars")] = float(
                likeness
            )
    return found
