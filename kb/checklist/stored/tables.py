"""Tables of names with the terms of Darwin Core, ColDP or a plain heading, read as one kind of rows.

Sources: Darwin Core quick reference guide (TDWG); ColDP guide of the Catalogue of Life.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kb.checklist.name_files import (
    COLUMNS,
    are_named_in_parts,
    common_names_in,
    name_from_parts,
    synonyms_in,
    with_genus,
)
from kb.checklist.scientific_names import LADDER
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
