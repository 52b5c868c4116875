"""The format of a checklist file: a Darwin Core archive or table, a ColDP folder or zip, or a plain table."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from data.errors import BadInput
from kb.checklist.name_files import are_named_in_parts
from kb.checklist.stored.containers import Container
from kb.checklist.stored.tables import (
    ID,
    OF_TAXON,
    Table,
    checklist_of_tables,
    heading,
    plain_table,
    with_heading,
)
from kb.checklist.stored.usage import ChecklistFile, licence_name

META: Final = "meta.xml"


def read_archive(container: Container, meta: str) -> ChecklistFile:
    """Return the checklist in a Darwin Core archive.

    Raises:
        BadInput: if `meta.xml` is unusable, its core has other rows than taxa, or a file is missing.
    """
    root = _parsed(container, meta)
    cores = [node for node in root if _local(node.tag) == "core"]
    if not cores:
        raise BadInput(f"{container.place(meta)} has no core, expected a Darwin Core archive of taxa.")
    kind = heading(cores[0].get("rowType", ""))
    if kind not in ("taxon", ""):
        raise BadInput(
            f"{container.place(meta)}: the core has rows of {kind}, expected Taxon.",
            hint="Give the archive of a checklist; archives of occurrences have no taxonomy.",
        )
    core = _table(container, meta, cores[0])
    if not {"scientificname", "canonicalname"} & set(core.columns) and not are_named_in_parts(core.columns):
        raise BadInput(f"{container.place(meta)}: the core has no field scientificName, nor genus and specificEpithet.")
    others = [
        _table(container, meta, node)
        for node in root
        if _local(node.tag) == "extension" and heading(node.get("rowType", "")) == "vernacularname"
    ]
    named = [other for other in others if "vernacularname" in other.columns]
    stated = _metadata(container, root.get("metadata") or "eml.xml")
    title, edition, licence = (stated.get(key, "") for key in ("title", "pubDate", "licence"))
    found = checklist_of_tables(container, "Darwin Core", core, named)
    return replace(found, title=title, edition=edition, licence=licence)


def _table(container: Container, meta: str, node: ElementTree.Element) -> Table:
    found: dict[str, list[ElementTree.Element]] = {}
    for each in node.iter():
        found.setdefault(_local(each.tag), []).append(each)
    locations = [each.text.strip() for each in found.get("location", ()) if each.text]
    files = [container.find(location.rsplit("/", 1)[-1]) for location in locations]
    missing = [location for location, file in zip(locations, files, strict=True) if file is None]
    if missing or not files:
        raise BadInput(f"{container.place(meta)} names {', '.join(missing) or 'no file'}, which the archive lacks.")
    columns, defaults = {}, {}
    try:
        for each in found.get("field", ()):
            term = heading(each.get("term", ""))
            if each.get("index") is not None:
                columns[term] = int(each.get("index", ""))
            if each.get("default"):
                defaults[term] = each.get("default", "")
        for each in (*found.get("id", ()), *found.get("coreid", ())):
            columns[ID] = int(each.get("index", "0"))
        skipped = int(node.get("ignoreHeaderLines") or 0)
    except ValueError as error:
        raise BadInput(f"{container.place(meta)}: expected a number as index: {error}.") from error
    delimiter = _unescaped(node.get("fieldsTerminatedBy", ","))
    quote = _unescaped(node.get("fieldsEnclosedBy", '"'))
    if len(delimiter) != 1 or len(quote) > 1:
        raise BadInput(f"{container.place(meta)}: expected one character between fields, got {delimiter!r}.")
    return Table(
        files=tuple(file for file in files if file),
        columns=columns,
        defaults=defaults,
        skipped_lines=skipped,
        delimiter=delimiter,
        quote=quote or None,
        encoding=node.get("encoding") or "utf-8",
    )


def _metadata(container: Container, name: str) -> dict[str, str]:
    """Return title, date of publication and licence from the archive's EML, as far as it states them."""
    file = container.find(name)
    if file is None:
        return {}
    found: dict[str, str] = {}
    for each in _parsed(container, file).iter():
        tag, text = _local(each.tag), " ".join("".join(each.itertext()).split())
        if tag in ("title", "pubDate"):
            found.setdefault(tag, text)
        elif tag in ("intellectualRights", "licensed", "licenseName"):
            addresses = [node.get("url", "") or (node.text or "") for node in each.iter() if node is not each]
            found.setdefault("licence", licence_name(" ".join([text, *addresses])))
    return found


def _parsed(container: Container, name: str) -> ElementTree.Element:
    text = container.read_text(name)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # entities can expand without end
        raise BadInput(f"{container.place(name)} declares entities, expected plain XML.")
    try:
        return ElementTree.fromstring(text)  # entities are refused above
    except ElementTree.ParseError as error:
        raise BadInput(f"{container.place(name)} is not XML: {error}.") from error


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _unescaped(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n").replace('\\"', '"')


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
    meta = container.find(META)
    if meta is not None:
        return read_archive(container, meta)
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
            beside = [with_heading(container, name, ids=OF_TAXON) for name in named if name != table]
            return checklist_of_tables(container, "Darwin Core", with_heading(container, table), beside)
        if "id" in known and known & {"parentid", "status"}:
            return checklist_of_tables(container, "ColDP", with_heading(container, table, status="taxonomicstatus"))
    if (plain := plain_table(container, table)) is not None:
        return checklist_of_tables(container, "CSV", plain)
    got = ", ".join(cell.strip()[:40] for cell in cells[:8])
    raise BadInput(f"{container.place(table, number)}: no column of scientific names; got {got}.", hint=EXPECTED)


def _coldp(container: Container, usage: str) -> ChecklistFile:
    """Return the checklist in a ColDP folder or archive."""
    vernacular = container.table("VernacularName")
    named = [with_heading(container, vernacular, ids=OF_TAXON, name="vernacularname")] if vernacular else []
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
