"""The format of a checklist file: a Darwin Core archive or table, a ColDP folder or zip, or a plain table.

ColDP: either `NameUsage` has names and taxa, or `Name`, `Taxon` and `Synonym` share them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from data.batches import grouped
from data.errors import BadInput
from kb.checklist.name_files import are_named_in_parts, name_from_parts
from kb.checklist.stored import darwin_core
from kb.checklist.stored.containers import Container
from kb.checklist.stored.tables import (
    Table,
    checklist_of_tables,
    heading,
    higher_of,
    plain_table,
    rows_of,
    with_heading,
)
from kb.checklist.stored.usage import ChecklistFile, Problems, Status, Usage, licence_name, status_of

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
    if container.table("NameUsage") or (container.table("Taxon") and container.table("Name")):
        return _coldp(container)
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


def _coldp(container: Container) -> ChecklistFile:
    """Return the checklist in a ColDP folder or archive.

    Raises:
        BadInput: if a table lacks a column.
    """
    vernacular = container.table("VernacularName")
    named = [with_heading(container, vernacular, taxonid="id", name="vernacularname")] if vernacular else []
    usage, taxa = container.table("NameUsage"), container.table("Taxon")
    core = with_heading(container, usage or container.table("Name") or "", status="taxonomicstatus")
    found = checklist_of_tables(container, "ColDP", core, named)
    if not usage and taxa:
        _require(container, with_heading(container, taxa), "nameid")
        problems = found.problems
        found = replace(found, usages=partial(_from_parts, container, core, taxa, problems))
    _require(container, core, "id", "scientificname")
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


def _from_parts(container: Container, names: Table, taxa: str, problems: Problems) -> Iterator[Usage]:
    """Yield taxa and synonyms; their names are looked up in a temporary file, since `Name` may have millions."""
    synonyms = container.table("Synonym")
    with closing(sqlite3.connect("")) as db:
        db.execute("CREATE TABLE name (id TEXT PRIMARY KEY, name TEXT, rank TEXT) WITHOUT ROWID")
        rows = (
            (row.get("id"), row.get("scientificname") or name_from_parts(row), row.get("taxonrank", ""))
            for _, _, row in rows_of(container, names, problems)
        )
        for batch in grouped(rows, N_AT_A_TIME):
            db.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?)", [each for each in batch if each[0]])
        for table in filter(None, (taxa, synonyms)):
            for _, number, row in rows_of(container, with_heading(container, table), problems):
                found = db.execute("SELECT name, rank FROM name WHERE id = ?", (row.get("nameid", ""),)).fetchone()
                if found is None or not found[0]:
                    problems.add("no row in Name", container.place(table, number))
                    continue
                is_taxon = table == taxa
                provisional = row.get("provisional", "").lower() in ("true", "1")
                status: Status = "provisional" if provisional else "accepted"
                yield Usage(
                    line=number,
                    id=row.get("id", "") if is_taxon else "",
                    name=found[0],
                    rank=found[1].lower(),
                    status=status if is_taxon else status_of(row.get("status", ""), has_accepted=True),
                    parent=row.get("parentnameusageid", "") if is_taxon else "",
                    accepted="" if is_taxon else row.get("taxonid", ""),
                    higher=higher_of(row) if is_taxon else (),
                )


def _require(container: Container, table: Table, *columns: str) -> None:
    found = set(table.columns) | ({"scientificname"} if are_named_in_parts(table.columns) else set())
    if missing := [column for column in columns if column not in found]:
        number, cells = next(container.rows(table.files[0]), (1, []))
        got = ", ".join(cells[:8])
        raise BadInput(f"{container.place(table.files[0], number)}: expected the column {missing[0]}, got {got}.")
