"""Batches: items in lists of a number or of a total size, and what batches leave in the memory of the process."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the garbage collector while millions of records are read: its passes over them double the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def return_freed_memory() -> None:
    """Return freed memory to the system: Chroma leaves pieces with each batch, in the end as much as its index."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # a system without glibc
            ctypes.CDLL(None).malloc_trim(0)
