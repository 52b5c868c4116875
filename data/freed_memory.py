"""Memory that libraries have freed."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress


def return_freed_memory() -> None:
    """Return freed memory to the system: Chroma leaves pieces with each batch, in the end as much as its index."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # a system without glibc
            ctypes.CDLL(None).malloc_trim(0)
