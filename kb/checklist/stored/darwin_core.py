"""Darwin Core taxa: an archive with `meta.xml`, or a table with Darwin Core's terms as its heading.

Source: Darwin Core quick reference guide and text guide (TDWG). The core is read with its extension of vernacular
names; other extensions are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from xml.etree import ElementTree

from data.errors import BadInput
from kb.checklist.name_files import are_named_in_parts, common_names_in, name_from_parts
from kb.checklist.scientific_names import LADDER
from kb.checklist.stored.containers import Container
from kb.checklist.stored.usage import (
    ChecklistFile,
    CommonName,
    Problems,
    Usage,
    language_code,
    licence_name,
    status_of,
)

META: Final = "meta.xml"
_ID: Final = "id"
_NAMES: Final = ("scientificname", "canonicalname", "vernacularname")
_DOWNLOADED: Final = {
    "taxonkey": "taxonid", "acceptedtaxonkey": "acceptednameusageid", "acceptedscientificname": "acceptednameusage",
}  # fmt: skip
"""Column of a species list that GBIF makes of occurrences -> term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of an archive: files, format, and columns by term."""

    files: tuple[str, ...]
    columns: Mapping[str, int]
    defaults: Mapping[str, str] = field(default_factory=dict)
    skipped_lines: int = 1
    delimiter: str | None = None
    quote: str | None = None
    encoding: str = "utf-8"


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
    return replace(_file(container, core, named), title=title, edition=edition, licence=licence)


def read_table(container: Container, name: str, columns: Mapping[str, int]) -> ChecklistFile:
    """Return the checklist in a table with Darwin Core's terms, and in the tables of vernacular names beside it."""
    others = []
    for other in container.tables():
        if "vernacular" in other.lower() and other != name:
            cells = next(container.rows(other), (0, []))[1]
            found = {heading(cell): i for i, cell in enumerate(cells)}
            if "vernacularname" in found and ("taxonid" in found or "id" in found or "coreid" in found):
                key = next(term for term in ("taxonid", "coreid", "id") if term in found)
                others.append(Table(files=(other,), columns={**found, _ID: found[key]}))
    columns = {_DOWNLOADED.get(term, term) if _DOWNLOADED.get(term) not in columns else term: at
               for term, at in columns.items()}  # fmt: skip
    ids = [columns[term] for term in (_ID, "taxonid") if term in columns]  # both refer to a row
    core = Table(files=(name,), columns={**columns, **({_ID: ids[0]} if ids else {})})
    return _file(container, core, others)


def heading(term: str) -> str:
    """Return a term without its namespace, in lower case: `dwc:taxonID` and its address give `taxonid`."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[:/#]", term.strip())[-1].lower())


def higher_of(row: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return rank and name of the taxa above that a row gives in columns."""
    return tuple((rank, row[rank]) for rank in LADDER if row.get(rank))


def _file(container: Container, core: Table, others: list[Table]) -> ChecklistFile:
    problems = Problems()
    return ChecklistFile(
        form="Darwin Core",
        usages=partial(_usages, container, core, problems),
        common_names=partial(_common_names, container, others),
        problems=problems,
    )


def _usages(container: Container, core: Table, problems: Problems) -> Iterator[Usage]:
    for file, number, row in _rows(container, core, problems):
        name = row.get("canonicalname") or row.get("scientificname") or name_from_parts(row)
        place = container.place(file, number)
        if not name:
            problems.add("no scientific name", place)
            continue
        key = row.get(_ID) or row.get("taxonid") or ""
        own = {key, row.get("taxonid", "")} - {""}
        accepted = row.get("acceptednameusageid", "")
        accepted = "" if accepted in own else accepted
        if not accepted and "acceptednameusageid" not in row:
            accepted = row.get("acceptednameusage", "")
            accepted = "" if accepted in (row.get("scientificname"), name) else accepted
        language = language_code(row.get("language", ""))
        yield Usage(
            line=number,
            id=key,
            name=name,
            rank=row.get("taxonrank", "").lower(),
            status=status_of(
                row.get("taxonomicstatus", ""), has_accepted=bool(accepted), problems=problems, place=place
            ),
            parent=row.get("parentnameusageid") or row.get("parentnameusage") or "",
            accepted=accepted,
            higher=higher_of(row),
            common_names=tuple((name, language) for name in common_names_in(row.get("vernacularname", ""))),
            other_id=row.get("taxonid", ""),
        )


def _common_names(container: Container, tables: list[Table]) -> Iterator[CommonName]:
    for table in tables:
        for _, _, row in _rows(container, table):
            if row.get(_ID) and row.get("vernacularname"):
                preferred = row.get("ispreferredname", "").lower() in ("true", "1", "yes", "preferred")
                language = language_code(row.get("language", ""))
                for name in common_names_in(row["vernacularname"]):
                    yield CommonName(row[_ID], name, language, is_preferred=preferred)


def _rows(
    container: Container, table: Table, problems: Problems | None = None
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield file, line and term -> value of each row, empty values left out; a row of headings is skipped."""
    columns = list(table.columns.items())
    for file in table.files:
        rows = container.rows(
            file, delimiter=table.delimiter, quote=table.quote, encoding=table.encoding, problems=problems
        )
        for i, (number, cells) in enumerate(rows):
            if i < table.skipped_lines:
                continue
            n = len(cells)
            row = {term: cell for term, at in columns if at < n and (cell := cells[at].strip())}
            if i == table.skipped_lines and any(heading(row.get(term, "")) == term for term in _NAMES):
                continue  # headings that meta.xml does not declare
            for term, value in table.defaults.items():
                row.setdefault(term, value)
            yield file, number, row


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
            columns[_ID] = int(each.get("index", "0"))
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
