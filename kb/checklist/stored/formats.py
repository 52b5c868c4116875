"""Formats of checklist files: Darwin Core archives and tables, ColDP folders and zips, and plain tables.

Sources: Darwin Core quick reference guide (TDWG); ColDP guide of the Catalogue of Life.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from data.errors import BadInput
from kb.checklist.name_files import (
    COLUMNS,
    are_named_in_parts,
    common_names_in,
    name_from_parts,
    synonyms_in,
    with_genus,
)
from kb.checklist.names import LADDER
from kb.checklist.stored.containers import Container
from kb.checklist.stored.usage import (
    LANGUAGES,
    LETTERS_OF_CODE,
    ChecklistFile,
    CommonName,
    Problems,
    Usage,
    language_code,
    status_of,
)
from kb.licences import licence_in

ID: Final = "id"
OF_TAXON: Final = ("taxonid", "coreid", ID)
"""Columns with the id of the taxon in a table of common names, the first that is there."""
SYNONYMS: Final = ("synonyms", "synonym")
_NAMES: Final = ("scientificname", "canonicalname", "vernacularname")
_OTHER_TERMS: Final = {
    "taxonkey": "taxonid", "acceptedtaxonkey": "acceptednameusageid", "acceptedscientificname": "acceptednameusage",
    "parentid": "parentnameusageid", "rank": "taxonrank", "preferred": "ispreferredname",
}  # fmt: skip
"""Column of GBIF's species lists of occurrences, or of ColDP -> term of Darwin Core."""
_OF_PLAIN: Final = frozenset(
    ("taxonrank", "genericname", "specificepithet", "speciesepithet", "epithet", "infraspecificepithet", "subspecies",
     "uninomial", "notho", *LADDER, *SYNONYMS)
)  # fmt: skip
_LANGUAGE: Final = re.compile(r"^(?:common|vernacular|english)?[ _.-]?names?[ _.:\[(-]+([A-Za-z]{2,3})[\])]?$", re.I)
_OF_NAMES: Final = re.compile(r"(?:common|vernacular)?names?$")


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
    languages: Mapping[str, str] = field(default_factory=lambda: {"vernacularname": ""})
    """Column of common names -> their language; empty for that of the row."""
    doubled: Sequence[tuple[str, int]] = ()
    """Columns that may have the same term, of which a filled cell counts."""
    n_cells: int = 0
    """Of a plain table, in which longer rows are skipped and `#` begins a comment."""


def checklist_of_tables(container: Container, form: str, core: Table, others: Sequence[Table] = ()) -> ChecklistFile:
    """Return the checklist in a table of taxa and tables of their common names."""
    problems = Problems()
    return ChecklistFile(
        form=form,
        usages=partial(_usages, container, core, problems, parent_is_accepted=form == "ColDP"),
        common_names=partial(common_names, container, others),
        problems=problems,
    )


def with_heading(container: Container, file: str, /, ids: Sequence[str] = (ID, "taxonid"), **other_terms: str) -> Table:
    """Return a table whose first row names its terms; the first of `ids` is that of the taxon."""
    cells = next(container.rows(file), (0, []))[1]
    columns = {heading(cell): i for i, cell in reversed(list(enumerate(cells)))}
    terms = {term: (_OTHER_TERMS | other_terms).get(term, term) for term in columns}
    renamed = {terms[term]: at for term, at in columns.items() if terms[term] == term or terms[term] not in columns}
    found = [renamed[term] for term in ids if term in renamed]
    return Table(files=(file,), columns={**renamed, **({ID: found[0]} if found else {})})


def plain_table(container: Container, name: str) -> Table | None:
    """Return a table with a column of scientific names, or of genera and epithets; None if it has none."""
    cells = next(container.rows(name), (0, []))[1]
    found = [heading(cell) for cell in cells]
    named = next((found.index(each) for each in COLUMNS["scientific"] if each in found), None)
    if named is None and not are_named_in_parts(found):
        return None
    terms = [(_OTHER_TERMS.get(term, term), i) for i, term in enumerate(found) if i != named]
    doubled = [(term, i) for term, i in terms if term in _OF_PLAIN]
    columns = dict(doubled) | ({} if named is None else {"scientificname": named})
    languages = {i: language_of(cell) for i, cell in enumerate(cells) if i != named}
    known = {f"common name {i}": language for i, language in languages.items() if language is not None}
    columns |= {term: int(term.split()[-1]) for term in known}
    return Table(files=(name,), columns=columns, languages=known, doubled=doubled, n_cells=len(cells))


def heading(term: str) -> str:
    """Return a term without its namespace, in lower case: `dwc:taxonID` and its address give `taxonid`."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[:/#]", term.strip())[-1].lower())


def language_of(cell: str) -> str | None:
    """Return the language of a column of common names, empty if it does not say, or None for another column."""
    plain = heading(cell)
    if plain in ("englishname", "english", "primarycomname"):
        return "en"
    if plain in COLUMNS["common"]:
        return ""
    if match := _LANGUAGE.match(cell.strip()):
        return language_code(match[1])
    word = _OF_NAMES.sub("", plain)  # "German", "French name"
    return LANGUAGES.get(word) if len(word) > LETTERS_OF_CODE else None


def higher_of(row: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return rank and name of the taxa above that a row gives in columns."""
    return tuple((rank, row[rank]) for rank in LADDER if row.get(rank))


def _usages(container: Container, core: Table, problems: Problems, *, parent_is_accepted: bool) -> Iterator[Usage]:
    """Yield the names of a table; `parent_is_accepted` of a synonym in ColDP."""
    for file, number, row in rows_of(container, core, problems):
        named = row.get("canonicalname") or row.get("scientificname") or ""
        name = with_genus(named, row.get("genus", "")) or name_from_parts(row)
        place = container.place(file, number)
        if not name:
            problems.add("no scientific name", place)
            continue
        key = row.get(ID) or row.get("taxonid") or (f"line {number}" if core.n_cells else "")
        own = {key, row.get("taxonid", "")} - {""}
        accepted = row.get("acceptednameusageid", "")
        accepted = "" if accepted in own else accepted
        if not accepted and "acceptednameusageid" not in row:
            accepted = row.get("acceptednameusage", "")
            accepted = "" if accepted in (row.get("scientificname"), name) else accepted
        stated = row.get("taxonomicstatus", "")
        status = status_of(stated, has_accepted=bool(accepted), problems=problems, place=place)
        parent = row.get("parentnameusageid") or row.get("parentnameusage") or ""
        language = language_code(row.get("language", ""))
        yield Usage(
            line=number,
            id=key,
            name=name,
            rank=row.get("taxonrank", "").lower(),
            status=status,
            parent=parent,
            accepted=accepted or (parent if parent_is_accepted and status == "synonym" else ""),
            higher=higher_of(row),
            common_names=tuple(
                (text, of_column or language)
                for term, of_column in core.languages.items()
                for text in common_names_in(row.get(term, ""))
            ),
            other_id=row.get("taxonid", ""),
        )
        for synonym in (
            text for column in SYNONYMS for text in synonyms_in(row.get(column, "") if core.n_cells else "")
        ):
            yield Usage(line=number, id="", name=synonym, status="synonym", accepted=key)


def common_names(container: Container, tables: Sequence[Table]) -> Iterator[CommonName]:
    """Yield the common names in tables that refer to taxa by id."""
    for table in tables:
        for _, _, row in rows_of(container, table):
            if row.get(ID) and row.get("vernacularname"):
                preferred = row.get("ispreferredname", "").lower() in ("true", "1", "yes", "preferred")
                language = language_code(row.get("language", ""))
                for name in common_names_in(row["vernacularname"]):
                    yield CommonName(row[ID], name, language, is_preferred=preferred)


def rows_of(
    container: Container, table: Table, problems: Problems | None = None
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield file, line and term -> value of each row, empty values left out; a row of headings is skipped."""
    columns, n_cells = [*table.columns.items(), *table.doubled], table.n_cells
    for file in table.files:
        rows = container.rows(
            file, delimiter=table.delimiter, quote=table.quote, encoding=table.encoding, problems=problems
        )
        for i, (number, cells) in enumerate(rows):
            n = len(cells)
            if i < table.skipped_lines or (n_cells and cells[0].startswith("#")):
                continue
            row = {term: cell for term, at in columns if at < n and (cell := cells[at].strip())}
            if i == table.skipped_lines and any(heading(row.get(term, "")) == term for term in _NAMES):
                continue  # headings that meta.xml does not declare
            if n_cells and any(cells[n_cells:]):
                if problems is not None:
                    problems.add(f"more than {n_cells} cells", container.place(file, number))
                continue
            for term, value in table.defaults.items():
                row.setdefault(term, value)
            yield file, number, row


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


def _licence(statement: str) -> str:
    return licence_in(statement) or " ".join(statement.split())[:120]


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
            found.setdefault("licence", _licence(" ".join([text, *addresses])))
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
        licence=_licence(stated.get("license") or stated.get("licence") or ""),
    )
