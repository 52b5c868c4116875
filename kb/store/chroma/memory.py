"""Memory that Chroma has freed."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress


def return_freed_memory() -> None:
    """Return to the system what Chroma has freed: each batch leaves pieces, as much again as the index in the end."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # a system without glibc
            ctypes.CDLL(None).malloc_trim(0)
