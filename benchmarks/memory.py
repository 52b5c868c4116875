"""Memory of this process."""

from __future__ import annotations

import gc
from pathlib import Path

from data.batches import return_freed_memory


def anonymous_mib() -> float | None:
    """Return the MiB that the system cannot take back, without what is free, or None where Linux does not tell.

    Mapped files do not count: the system can take their pages back.
    """
    gc.collect()
    return_freed_memory()
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    kib = dict(line.split(":", 1) for line in lines).get("RssAnon")
    return None if kib is None else int(kib.split()[0]) / 1024


def growth(before: float | None, after: float | None) -> float | None:
    """Return the MiB from before to after, or None if one is unknown."""
    return None if before is None or after is None else max(0.0, after - before)
