"""ColDP, the Catalogue of Life's data package: a folder or zip of tables.

Source: the ColDP guide of the Catalogue of Life. Either `NameUsage` has names and taxa, or `Name`, `Taxon` and
`Synonym` share them; `VernacularName` adds common names.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial

from data.batches import grouped
from data.errors import BadInput
from kb.checklist.name_files import are_named_in_parts, name_from_parts
from kb.checklist.stored.containers import Container
from kb.checklist.stored.darwin_core import heading, higher_of
from kb.checklist.stored.usage import (
    ChecklistFile,
    CommonName,
    Problems,
    Status,
    Usage,
    language_code,
    licence_name,
    status_of,
)

METADATA = "metadata.yaml"
N_AT_A_TIME = 10_000


def is_coldp(container: Container) -> bool:
    """Return whether a folder or archive has the tables of ColDP."""
    has_parts = container.table("Taxon") is not None and container.table("Name") is not None
    return container.table("NameUsage") is not None or has_parts


def read_coldp(container: Container) -> ChecklistFile:
    """Return the checklist in a ColDP folder or archive.

    Raises:
        BadInput: if a table lacks a column.
    """
    problems = Problems()
    usage = container.table("NameUsage")
    if usage is not None:
        _require(container, usage, "id", "scientificname")
        usages = partial(_from_usages, container, usage, problems)
    else:
        usages = partial(_from_parts, container, problems)
        for stem, columns in (("Name", ("id", "scientificname")), ("Taxon", ("id", "nameid"))):
            _require(container, container.table(stem) or "", *columns)
    stated = _metadata(container)
    return ChecklistFile(
        form="ColDP",
        usages=usages,
        common_names=partial(_common_names, container),
        problems=problems,
        title=stated.get("title") or stated.get("alias") or "",
        edition=stated.get("version") or stated.get("issued") or "",
        licence=licence_name(stated.get("license") or stated.get("licence") or ""),
    )


def read_usage_table(container: Container, name: str) -> ChecklistFile:
    """Return the checklist in a single table with the columns of ColDP's `NameUsage`."""
    problems = Problems()
    usages = partial(_from_usages, container, name, problems)
    return ChecklistFile(form="ColDP", usages=usages, common_names=lambda: iter(()), problems=problems)


def _from_usages(container: Container, table: str, problems: Problems) -> Iterator[Usage]:
    for number, row in _rows(container, table, problems):
        name, place = row.get("scientificname") or name_from_parts(row), container.place(table, number)
        if not name:
            problems.add("no scientific name", place)
            continue
        status = status_of(row.get("status", ""), has_accepted=False, problems=problems, place=place)
        above, named = row.get("parentid", ""), (name, row.get("rank", ""))
        yield _usage(number, row, named, status=status, parent=above, accepted=above if status == "synonym" else "")


def _from_parts(container: Container, problems: Problems) -> Iterator[Usage]:
    """Yield taxa and synonyms; their names are looked up in a temporary file, since `Name` may have millions."""
    names, taxa, synonyms = (container.table(stem) for stem in ("Name", "Taxon", "Synonym"))
    with closing(sqlite3.connect("")) as db:
        db.execute("CREATE TABLE name (id TEXT PRIMARY KEY, name TEXT, rank TEXT) WITHOUT ROWID")
        rows = (
            (row.get("id"), row.get("scientificname") or name_from_parts(row), row.get("rank", ""))
            for _, row in _rows(container, names, problems)
        )
        for batch in grouped(rows, N_AT_A_TIME):
            db.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?)", [each for each in batch if each[0]])
        for table, key in ((taxa, "parentid"), (synonyms, "taxonid")):
            for number, row in _rows(container, table, problems) if table else ():
                found = db.execute("SELECT name, rank FROM name WHERE id = ?", (row.get("nameid", ""),)).fetchone()
                if found is None or not found[0]:
                    problems.add("no row in Name", container.place(table or "", number))
                    continue
                if key == "parentid":
                    provisional = row.get("provisional", "").lower() in ("true", "1")
                    status: Status = "provisional" if provisional else "accepted"
                    yield _usage(number, row, found, status=status, parent=row.get(key, ""), accepted="")
                else:
                    status = status_of(row.get("status", ""), has_accepted=True)
                    yield _usage(number, {}, found, status=status, parent="", accepted=row.get(key, ""))


def _usage(
    number: int, row: Mapping[str, str], named: tuple[str, str], *, status: Status, parent: str, accepted: str
) -> Usage:
    """Return a row as a usage; `named` are its name and rank."""
    return Usage(
        line=number,
        id=row.get("id", ""),
        name=named[0],
        rank=named[1].lower(),
        status=status,
        parent=parent,
        accepted=accepted,
        higher=higher_of(row),
    )


def _common_names(container: Container) -> Iterator[CommonName]:
    table = container.table("VernacularName")
    for _, row in _rows(container, table) if table else ():
        if row.get("taxonid") and row.get("name"):
            preferred = row.get("preferred", "").lower() in ("true", "1")
            yield CommonName(
                row["taxonid"], row["name"], language_code(row.get("language", "")), is_preferred=preferred
            )


def _rows(
    container: Container, table: str | None, problems: Problems | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    rows = container.rows(table or "", problems=problems)
    columns = [heading(cell) for cell in next(rows, (0, []))[1]]
    for number, cells in rows:
        yield number, {term: text for term, cell in zip(columns, cells, strict=False) if (text := cell.strip())}


def _require(container: Container, table: str, *columns: str) -> None:
    number, cells = next(container.rows(table), (1, []))
    found = {heading(cell) for cell in cells}
    found |= {"scientificname"} if are_named_in_parts(found) else set()
    if missing := [column for column in columns if column not in found]:
        got = ", ".join(cells[:8])
        raise BadInput(f"{container.place(table, number)}: expected the column {missing[0]}, got {got}.")


def _metadata(container: Container) -> dict[str, str]:
    """Return what the file of metadata states of title, edition and licence."""
    file = container.find(METADATA)
    text = container.read_text(file) if file else ""
    stated = r"^(alias|title|version|issued|licen[cs]e):[ \t]*['\"]?([^'\"\n#]+)"
    return {key: value.strip() for key, value in re.findall(stated, text, flags=re.MULTILINE)}
