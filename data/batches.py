"""Items in lists, of a number or of a total size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

ItemT = TypeVar("ItemT")


def grouped(items: Iterable[ItemT], n: int) -> Iterator[list[ItemT]]:
    """Yield the items in lists of `n`, the last one shorter."""
    iterator = iter(items)
    while group := list(islice(iterator, n)):
        yield group


def grouped_by_size(items: Iterable[ItemT], size: Callable[[ItemT], int], most: int) -> Iterator[list[ItemT]]:
    """Yield the items in lists of a total size of at most `most`; a larger item is alone."""
    group: list[ItemT] = []
    total = 0
    for item in items:
        n = size(item)
        if group and total + n > most:
            yield group
            group, total = [], 0
        group.append(item)
        total += n
    if group:
        yield group
