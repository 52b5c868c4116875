"""A checksum in the file of an indexed checklist: SQLite does not notice a changed letter or number."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

_AT: Final = 60  # where a SQLite file has a number for its users
_N_BYTES: Final = 4
_BLOCK: Final = 1 << 20
LARGEST_CHECKED: Final = 512 * _BLOCK  # about a second; what knowledge bases keep is smaller


def seal(path: Path) -> None:
    """Write the checksum of a finished file into it."""
    checksum = _checksum(path)
    with path.open("r+b") as file:
        file.seek(_AT)
        file.write(checksum.to_bytes(_N_BYTES, "big"))


def is_intact(path: Path) -> bool:
    """Return whether a file has its checksum, or none from an earlier version, or is too large to be read whole."""
    if path.stat().st_size > LARGEST_CHECKED:
        return True
    with path.open("rb") as file:
        file.seek(_AT)
        stated = int.from_bytes(file.read(_N_BYTES), "big")
    return stated in (0, _checksum(path))


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        found = zlib.crc32(file.read(_AT), found)
        file.seek(_AT + _N_BYTES)
        while block := file.read(_BLOCK):
            found = zlib.crc32(block, found)
    return found or 1
