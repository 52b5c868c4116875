"""Index files of an embedded Chroma: their checksums, and memory of the process that Chroma writes into them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from data.checksums import file_checksum

_NEVER_SET: Final = "*/length.bin"


def index_checksums(folder: Path) -> dict[str, str]:
    """Return file -> checksum of the index files of a Chroma folder."""
    files = (file for file in sorted(folder.glob("*/*")) if file.is_file())
    return {str(file.relative_to(folder)): file_checksum(file) for file in files}


def blank_unset_memory(folder: Path) -> None:
    """Overwrite the files that Chroma never sets with zeros; they hold freed memory of the process, keys included.

    Its index allocates room for the length of each vector, writes it to a file, and never sets or reads a value.
    """
    for file in folder.glob(_NEVER_SET):
        content = file.read_bytes()
        if content.strip(b"\0"):
            file.write_bytes(bytes(len(content)))
