"""The format of a checklist file."""

from __future__ import annotations

from pathlib import Path

from data.errors import BadInput
from kb.checklist.name_files import are_named_in_parts
from kb.checklist.stored import coldp, darwin_core, plain
from kb.checklist.stored.containers import Container
from kb.checklist.stored.usage import ChecklistFile

EXPECTED = (
    "Expected a Darwin Core archive or table (scientificName, taxonID, ...), a ColDP folder or zip, or a CSV with "
    f"{plain.EXPECTED}."
)


def open_checklist_file(path: Path) -> ChecklistFile:
    """Return the checklist in a file, zip archive or folder; its rows are not read yet.

    Raises:
        BadInput: if the file cannot be read or is no checklist.
    """
    container = Container(path)
    meta = container.find(darwin_core.META)
    if meta is not None:
        return darwin_core.read_archive(container, meta)
    if coldp.is_coldp(container):
        return coldp.read_coldp(container)
    tables = container.names() if container.is_single else container.tables()
    others = [name for name in tables if "vernacular" not in name.lower()] or tables
    table = container.table("taxon") or container.table("taxa") or (others[0] if len(others) == 1 else None)
    if table is None:
        named = ", ".join(tables[:5]) or "no table"
        raise BadInput(f"{path} holds {named}, from which the checklist is not clear.", hint=EXPECTED)
    number, cells = next(container.rows(table), (1, []))
    columns = {darwin_core.heading(cell): i for i, cell in reversed(list(enumerate(cells)))}
    known = set(columns)
    has_names = "scientificname" in known or are_named_in_parts(known)
    if has_names and known & {
        *("taxonid", "acceptednameusageid", "acceptednameusage", "parentnameusageid", "parentnameusage"),
        *("taxonomicstatus", "taxonrank"),
    }:
        return darwin_core.read_table(container, table, columns)
    if has_names and "id" in known and known & {"parentid", "status"}:
        return coldp.read_usage_table(container, table)
    if plain.name_column(cells) is not None or are_named_in_parts(known):
        return plain.read_plain(container, table)
    got = ", ".join(cell.strip()[:40] for cell in cells[:8])
    raise BadInput(f"{container.place(table, number)}: no column of scientific names; got {got}.", hint=EXPECTED)
