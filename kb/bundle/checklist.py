"""The kept checklist of a knowledge base as tables of a bundle, and back.

The index is written anew from the tables, so that no database of a stranger is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from data.codec import parse_json
from data.errors import BadInput
from data.frames import Columns
from kb.bundle import manifest as bundle
from kb.bundle.manifest import Manifest
from kb.bundle.read_table import read_rows
from kb.bundle.tables import Row, write_table
from kb.checklist.shelf import kept_checklist
from kb.checklist.stored.index_file import OWN_META, NameRow, TaxonRow, name_rows, taxon_rows, write_rows
from kb.checklist.stored.stored_checklist import StoredChecklist, read_only
from kb.store.layout import KnowledgeBaseInfo, Layout

_ABOUT: Final[Columns] = {"key": "text", "value": "text"}
_TAXA: Final[Columns] = {
    **dict.fromkeys(("n", "last", "parent"), "integer"), **dict.fromkeys(("id", "name", "rank"), "text"),
    "is_shared": "integer",
}  # fmt: skip
_NAMES: Final[Columns] = {"taxon": "integer", "level": "integer", "nth": "integer", "text": "text", "language": "text"}
_MAX_ABOUT: Final = 100_000  # characters


def export_checklist(layout: Layout, info: KnowledgeBaseInfo, work: Path) -> None:
    """Write the tables of the kept checklist, if there is one."""
    kept = kept_checklist(layout.checklist, info.checklist, info.checklist_digest)
    if not isinstance(kept, StoredChecklist) or kept.path != layout.checklist:
        return
    about = [{"key": key, "value": kept.meta[key]} for key in OWN_META if key in kept.meta]
    kept.close()
    write_table(work / bundle.CHECKLIST_ABOUT, about, _ABOUT)
    with closing(read_only(layout.checklist)) as db:
        taxa = ({**row._asdict(), "is_shared": int(row.is_shared)} for row in taxon_rows(db))
        write_table(work / bundle.CHECKLIST_TAXA, taxa, _TAXA)
        write_table(work / bundle.CHECKLIST_NAMES, (row._asdict() for row in name_rows(db)), _NAMES)


def import_checklist(source: Path, manifest: Manifest, layout: Layout) -> None:
    """Write the kept checklist from the tables of a bundle, if it has them.

    Raises:
        BadInput: if they are no tree of taxa with names, or are of another checklist than the manifest names.
    """
    tables = (bundle.CHECKLIST_ABOUT, bundle.CHECKLIST_TAXA, bundle.CHECKLIST_NAMES)
    given = [name for name in tables if name in manifest.files]
    if not given:
        return
    if missing := [name for name in tables if name not in given]:
        raise BadInput(f"{source} has a part of a checklist, but not {missing[0]}")
    about = {row["key"]: row["value"] for row in _rows(source, bundle.CHECKLIST_ABOUT, _ABOUT)}
    if about.get("digest") != manifest.checklist_digest or not about.get("name"):
        raise BadInput(f"{source}: its checklist is not {manifest.checklist}, which the manifest names")
    if sum(map(len, about.values())) > _MAX_ABOUT:
        raise BadInput(f"{source}: the description of its checklist is too long")
    problems = parse_json(about.get("problems", "[]"))
    if not isinstance(problems, list) or not all(isinstance(line, str) for line in problems):
        raise BadInput(f"{source}: the description of its checklist is damaged")
    write_rows(
        layout.checklist,
        lambda: dict.fromkeys(OWN_META, "") | {"problems": "[]"} | about,
        (
            TaxonRow(**{**row, "is_shared": bool(row["is_shared"])})
            for row in _rows(source, bundle.CHECKLIST_TAXA, _TAXA)
        ),
        (NameRow(**row) for row in _rows(source, bundle.CHECKLIST_NAMES, _NAMES)),
    )


def _rows(source: Path, table: str, columns: Columns) -> Iterator[Row]:
    """Yield the rows of a table, of which no value may be missing or of another type."""
    for row in read_rows(source, table, tuple(columns)):
        for column, kind in columns.items():
            if not isinstance(row[column], int if kind == "integer" else str):
                raise BadInput(f"expected a {kind} in the checklist, got {str(row[column])[:40]!r}")
        yield row
