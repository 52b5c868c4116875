"""Miniature data sets in one folder, marked so that no other folder is overwritten."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from data.errors import UsageError
from data.files import sha256_hex
from papers.miniature.birds import write
from papers.miniature.retrieval import RETRIEVAL
from papers.miniature.species import SPECIES

MARK: Final = "MINIATURE.txt"
WRITERS: Final = {**SPECIES, **RETRIEVAL}
"""Folder below the root -> its writer."""


def write_data_sets(root: Path, folders: Iterable[str]) -> None:
    """Write data sets unless this version has written them.

    Raises:
        UsageError: if the root holds other files.
    """
    if root.is_dir() and any(root.iterdir()) and not (root / MARK).exists():
        raise UsageError(f"{root} is not empty.", hint="Give an empty or new folder with --data for the miniature.")
    write(
        root / MARK,
        "Drawings in the layouts of published data sets, made by python -m papers PAPER TABLE --miniature.\n",
    )
    version = _version()
    for name in dict.fromkeys(folders):
        mark = root / name / MARK
        if not mark.is_file() or mark.read_text(encoding="utf-8") != version:
            shutil.rmtree(root / name, ignore_errors=True)
            WRITERS[name](root / name)
            write(mark, version)  # last, so that a stopped run writes the folder again


def _version() -> str:
    """Return a digest of the code that writes the data sets."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return sha256_hex("".join(file.read_text(encoding="utf-8") for file in sources))
