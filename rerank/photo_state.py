"""State of a photo file, the key of in-memory caches of its vectors."""

from __future__ import annotations

from pathlib import Path

PhotoState = tuple[Path, int, int]


def photo_state(path: Path) -> PhotoState:
    """Return path, size and time of change, which differ once the file is edited; -1 for a file that is missing."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return path, -1, -1
    return path, found.st_size, found.st_mtime_ns
