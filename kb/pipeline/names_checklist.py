"""A table of names as the checklist of a knowledge base that has no birds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kb.checklist.avilist import AVILIST_NAME, is_bird
from kb.checklist.shelf import name_of_file
from kb.checklist.stored.of_species import checklist_of_species
from kb.checklist.wiki_checklist import WIKI, WithTaxoboxes
from kb.pipeline.selection import Selection, held_species


def with_names_as_checklist(selection: Selection, table: Path, path: Path, folder: Path) -> Selection:
    """Return a selection by a table of names with the species of that table as its checklist, unless there are birds.

    So species without a page are known by name, with their common names and lineage.

    Args:
        selection: the species of the table, looked up in AviList.
        table: the table; its name becomes that of the checklist.
        path: the knowledge base to build.
        folder: where the checklist is written.
    """
    looked_up_in = selection.checklist
    if not selection.named or any(map(is_bird, (*selection.named, *held_species(path)))):
        return selection
    name = name_of_file(table)
    name = f"names-{name}" if name.startswith(AVILIST_NAME) or name == WIKI else name
    made = checklist_of_species(selection.named, folder / "names.sqlite", name)
    return replace(selection, checklist=WithTaxoboxes(made) if isinstance(looked_up_in, WithTaxoboxes) else made)
