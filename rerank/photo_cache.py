"""In-memory cache of values computed from photo files, valid until the file changes."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class PhotoCache(Generic[ValueT]):
    """Path -> value; an entry is dropped when the file is changed or missing.

    Example:
        >>> import tempfile
        >>> photos = PhotoCache()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.jpg"
        ...     _ = path.write_bytes(b"one")
        ...     photos.put(path, 1)
        ...     before = photos.get(path)
        ...     _ = path.write_bytes(b"another one")
        ...     before, photos.get(path)
        (1, None)
    """

    def __init__(self) -> None:
        self._values: dict[tuple[Path, int, int], ValueT] = {}

    def get(self, path: Path) -> ValueT | None:
        """Return the value of the photo as the file is now, or None."""
        state = _state(path)
        return None if state is None else self._values.get(state)

    def put(self, path: Path, value: ValueT) -> None:
        """Store the value of the photo as the file is now."""
        state = _state(path)
        if state is not None:
            self._values[state] = value


def _state(path: Path) -> tuple[Path, int, int] | None:
    """Return path, size and time of change; None if the file is not there."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return path, found.st_size, found.st_mtime_ns
