"""File of an indexed checklist: its tables, and a checksum, since SQLite does not notice a changed letter or number."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

VERSION: Final = 2

ROWS: Final = """
CREATE TABLE work.raw (
    n INTEGER PRIMARY KEY, line INT, id TEXT, name TEXT, rank TEXT, status TEXT, parent TEXT, accepted TEXT,
    path TEXT, own_path TEXT, other_id TEXT, parent_n INT, accepted_n INT
);
CREATE TABLE work.raw_common (id TEXT, n INT, name TEXT, language TEXT, is_preferred INT);
"""
"""The rows of the file, in a work file that is deleted at the end."""

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE taxon (
    n INTEGER PRIMARY KEY,  -- position in the tree, depth first
    last INT,               -- the last position below it
    parent INT, id TEXT, name TEXT, rank TEXT, n_species INT
);
CREATE TABLE name (
    taxon INT,
    level INT,              -- 0 accepted, 1 provisional, 2 synonym, 3 preferred common name, 4 other common name
    nth INT,
    text TEXT, language TEXT, folded TEXT, reversed TEXT,
    PRIMARY KEY (taxon, level, nth)
) WITHOUT ROWID;
CREATE TABLE homonym (name TEXT PRIMARY KEY) WITHOUT ROWID;  -- species with the same name below different roots
"""
INDEXES: Final = """
CREATE INDEX name_folded ON name (folded);
CREATE INDEX name_reversed ON name (reversed);
"""
LEVELS: Final = {"accepted": 0, "provisional": 1, "synonym": 2}
PREFERRED: Final = 3
OTHER: Final = 4


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
