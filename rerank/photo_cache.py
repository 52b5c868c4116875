"""What was made of a photo, remembered until the file changes: many queries find the same one."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class RememberedPhotos(Generic[ValueT]):
    """Path -> what was made of the photo there; one that was written since, or is not there, is forgotten.

    Example:
        >>> import tempfile
        >>> photos = RememberedPhotos()
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
        self._made: dict[tuple[Path, int, int], ValueT] = {}

    def get(self, path: Path) -> ValueT | None:
        """Return what was made of the photo as it is now, or None."""
        state = _state(path)
        return None if state is None else self._made.get(state)

    def put(self, path: Path, made: ValueT) -> None:
        """Remember what was made of the photo as it is now."""
        state = _state(path)
        if state is not None:
            self._made[state] = made


def _state(path: Path) -> tuple[Path, int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return path, found.st_size, found.st_mtime_ns
