"""Memory of the process: the garbage collector of Python, and what libraries have freed."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


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
