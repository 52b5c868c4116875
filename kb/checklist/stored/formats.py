"""The format of a checklist file: a Darwin Core archive or table, a ColDP folder or zip, or a plain table."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.errors import BadInput
from kb.checklist.name_files import are_named_in_parts
from kb.checklist.stored import darwin_core
from kb.checklist.stored.containers import Container
from kb.checklist.stored.tables import (
    checklist_of_tables,
    heading,
    plain_table,
    with_heading,
)
from kb.checklist.stored.usage import ChecklistFile, licence_name

EXPECTED: Final = (
    "Expected a Darwin Core archive or table (scientificName, taxonID, ...), a ColDP folder or zip, or a CSV with "
    "scientific_name; optionally class, order, family, genus, common_name, common_name_de, synonyms."
)
N_AT_A_TIME: Final = 10_000
_DARWIN_CORE: Final = frozenset(
    ("taxonid", "acceptednameusageid", "acceptednameusage", "parentnameusageid", "parentnameusage", "taxonomicstatus",
     "taxonrank")
)  # fmt: skip


def open_checklist_file(path: Path) -> ChecklistFile:
    """Return the checklist in a file, zip archive or folder; its rows are not read yet.

    Raises:
        BadInput: if the file cannot be read or is no checklist.
    """
    container = Container(path)
    meta = container.find(darwin_core.META)
    if meta is not None:
        return darwin_core.read_archive(container, meta)
    if usage := container.table("NameUsage"):
        return _coldp(container, usage)
    tables = container.names() if container.is_single else container.tables()
    named = [name for name in tables if "vernacular" in name.lower()]
    others = [name for name in tables if name not in named] or tables
    table = container.table("taxon") or container.table("taxa") or (others[0] if len(others) == 1 else None)
    if table is None:
        shown = ", ".join(tables[:5]) or "no table"
        raise BadInput(f"{path} holds {shown}, from which the checklist is not clear.", hint=EXPECTED)
    number, cells = next(container.rows(table), (1, []))
    known = {heading(cell) for cell in cells}
    if "scientificname" in known or are_named_in_parts(known):
        if known & _DARWIN_CORE:
            beside = [with_heading(container, name, coreid="id") for name in named if name != table]
            return checklist_of_tables(container, "Darwin Core", with_heading(container, table), beside)
        if "id" in known and known & {"parentid", "status"}:
            return checklist_of_tables(container, "ColDP", with_heading(container, table, status="taxonomicstatus"))
    if (plain := plain_table(container, table)) is not None:
        return checklist_of_tables(container, "CSV", plain)
    got = ", ".join(cell.strip()[:40] for cell in cells[:8])
    raise BadInput(f"{container.place(table, number)}: no column of scientific names; got {got}.", hint=EXPECTED)


def _coldp(container: Container, usage: str) -> ChecklistFile:
    """Return the checklist in a ColDP folder or archive.

    Raises:
        BadInput: if a table lacks a column.
    """
    vernacular = container.table("VernacularName")
    named = [with_heading(container, vernacular, taxonid="id", name="vernacularname")] if vernacular else []
    core = with_heading(container, usage, status="taxonomicstatus")
    found = checklist_of_tables(container, "ColDP", core, named)
    known = set(core.columns) | ({"scientificname"} if are_named_in_parts(core.columns) else set())
    if missing := [column for column in ("id", "scientificname") if column not in known]:
        got = ", ".join(core.columns)
        raise BadInput(f"{container.place(usage)}: expected the column {missing[0]}, got {got}.")
    file = container.find("metadata.yaml")
    text = container.read_text(file) if file else ""
    lines = re.findall(r"^(alias|title|version|issued|licen[cs]e):[ \t]*['\"]?([^'\"\n#]+)", text, flags=re.MULTILINE)
    stated = {key: value.strip() for key, value in lines}
    return replace(
        found,
        title=stated.get("title") or stated.get("alias") or "",
        edition=stated.get("version") or stated.get("issued") or "",
        licence=licence_name(stated.get("license") or stated.get("licence") or ""),
    )
