"""Result cards as files: one HTML page per photo in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from data.files import sha256_hex, write_atomic
from data.records import Identification
from recognize.explanation.cards.page import AnchorStore, card
from recognize.explanation.evidence import explain

_NAME_BYTES: Final = 200  # of the photo's name in the file name of its page; file systems allow 255


def write_card(store: AnchorStore, row: Identification, folder: Path) -> Path:
    """Write the page of a photo and return its path: the photo's name and a hash, since file names repeat."""
    why = explain(store, row) if row.candidates else None
    entries = store.species([candidate.taxon_id for candidate in row.candidates])
    # A file name may be invalid UTF-8, and too long for a suffix.
    stem = os.fsencode(Path(row.image).stem)[:_NAME_BYTES].decode(errors="ignore")
    path = folder / f"{stem}-{sha256_hex(os.fsencode(row.image))[:8]}.html"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, card(row, why, entries, store.anchor_path).encode(errors="replace"))
    return path
