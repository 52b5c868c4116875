"""The checklist of a knowledge base: what it keeps of it, AviList, or its own species."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.avilist import AVILIST_NAME, load_checklist
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.checklist.wiki_checklist import AND_WIKI, WikiChecklist, WithTaxoboxes


def kept_checklist(file: Path, name: str, digest: str, *, language: str = "en") -> Checklist | None:
    """Return the checklist that a knowledge base records by name and digest; None where it keeps no file of it.

    Args:
        file: what `kb.checklist.stored.part.keep` wrote, if it did.
        name: name and edition, empty if none is recorded.
        digest: SHA-256 of the checklist's file.
        language: language of the common names that come first.

    Raises:
        StoreError: if the file is damaged.
    """
    if name.lower().startswith(AVILIST_NAME):  # of whatever edition
        return load_checklist()
    if not digest or not file.is_file():
        return None
    found = StoredChecklist(file, language=language)
    if found.digest == digest:
        return found
    found.close()
    return None


def checklist_for(
    file: Path, name: str, digest: str, taxa: Callable[[], Sequence[Taxon]], *, language: str = "en"
) -> Checklist:
    """Return the same, or else the species of the knowledge base as a checklist of their own.

    A knowledge base without a record is one of birds, by AviList, unless none of its species is a bird.

    Raises:
        StoreError: if the file is damaged.
    """
    found = kept_checklist(file, name, digest, language=language)
    if found is not None:
        return WithTaxoboxes(found, taxa()) if name.endswith(AND_WIKI) else found
    held = taxa()
    is_of_birds = not name and (not held or any(taxon.lineage.get("class") == "Aves" for taxon in held))
    return load_checklist() if is_of_birds else WikiChecklist(held)
