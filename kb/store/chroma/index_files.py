"""Index files of an embedded Chroma: their checksums, and memory of the process that Chroma writes into them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from data.checksums import file_checksum

_NEVER_SET: Final = "length.bin"  # room for the length of each vector, which the index neither sets nor reads
_VECTORS: Final = "data_level0.bin"  # a slot for each vector; the slots after the last vector are not set
_HEADER: Final = struct.Struct("<iQQQQ")  # version, offset of links, number of slots, of vectors, bytes of a slot
_PART: Final = 1 << 20  # bytes looked at in one go


def index_checksums(folder: Path) -> dict[str, str]:
    """Return file -> checksum of the index files of a Chroma folder."""
    files = (file for file in sorted(folder.glob("*/*")) if file.is_file())
    return {str(file.relative_to(folder)): file_checksum(file) for file in files}


def blank_unset_memory(folder: Path) -> None:
    """Overwrite bytes with zeros where Chroma wrote memory that it never set.

    Its index allocates room for more vectors than it holds and writes the whole to its files, so that these would
    hold freed memory of the process, keys included.
    """
    for header in folder.glob("*/header.bin"):
        _blank(header.with_name(_NEVER_SET), 0)
        _, _, slots, vectors, slot = _HEADER.unpack(header.read_bytes()[: _HEADER.size])
        stored = header.with_name(_VECTORS)
        if stored.stat().st_size == slots * slot:  # of another form, the file would lose vectors
            _blank(stored, vectors * slot)


def _blank(path: Path, start: int) -> None:
    with path.open("rb+") as file:
        file.seek(start)
        while part := file.read(_PART):
            if part.strip(b"\0"):
                file.seek(-len(part), 1)
                file.write(bytes(len(part)))
