"""Cards as files: one page of HTML a photo, in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cli.verbs.identify.cards.page import card
from data.files import sha256_hex, write_atomic
from data.records import Identification

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

MOST_OF_A_NAME = 200  # bytes of a photo's name in that of its page; file systems take 255


def write_card(store: KnowledgeBase, row: Identification, folder: Path) -> Path:
    """Write the page of a photo and return its path: the photo's name, and a hash, since names come again."""
    import recognize

    why = recognize.explain(store, row) if row.candidates else None
    entries = store.species([candidate.taxon_id for candidate in row.candidates])
    # A name of a file may be no UTF-8, and so long that nothing can be added to it.
    stem = os.fsencode(Path(row.image).stem)[:MOST_OF_A_NAME].decode(errors="ignore")
    path = folder / f"{stem}-{sha256_hex(os.fsencode(row.image))[:8]}.html"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, card(row, why, entries, store.anchor_path).encode(errors="replace"))
    return path
