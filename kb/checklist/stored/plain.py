"""A plain table as a checklist: `scientific_name`, and optionally ranks, common names by language and synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from kb.checklist.name_files import COLUMNS, SEVERAL, are_named_in_parts, common_names_in, name_from_parts, with_genus
from kb.checklist.scientific_names import LADDER, parse_name
from kb.checklist.stored.containers import Container
from kb.checklist.stored.darwin_core import heading
from kb.checklist.stored.usage import LANGUAGES, LETTERS_OF_CODE, ChecklistFile, Problems, Usage, language_code

EXPECTED: Final = "scientific_name; optionally class, order, family, genus, common_name, common_name_de, synonyms"
_LANGUAGE: Final = re.compile(r"^(?:common|vernacular|english)?[ _.-]?names?[ _.:\[(-]+([A-Za-z]{2,3})[\])]?$", re.I)
_OF_NAMES: Final = re.compile(r"(?:common|vernacular)?names?$")
SYNONYMS: Final = ("synonyms", "synonym")


def name_column(cells: Sequence[str]) -> int | None:
    """Return the position of the column of scientific names."""
    found = [heading(cell) for cell in cells]
    return next((found.index(each) for each in COLUMNS["scientific"] if each in found), None)


def read_plain(container: Container, name: str) -> ChecklistFile:
    """Return the checklist in a table with a column of scientific names."""
    problems = Problems()
    usages = partial(_usages, container, name, problems)
    return ChecklistFile(form="CSV", usages=usages, common_names=lambda: iter(()), problems=problems)


def _usages(container: Container, name: str, problems: Problems) -> Iterator[Usage]:
    rows = container.rows(name, problems=problems)
    heads = next(rows)[1]
    columns = [heading(cell) for cell in heads]
    named = name_column(heads)
    is_in_parts = named is None and are_named_in_parts(columns)
    languages = {i: language_of(cell) for i, cell in enumerate(heads) if i != named and language_of(cell) is not None}
    for number, cells in rows:
        if cells[0].startswith("#"):
            continue
        row = {column: cell.strip() for column, cell in zip(columns, cells, strict=False) if cell.strip()}
        scientific = cells[named].strip() if named is not None and named < len(cells) else ""
        scientific = name_from_parts(row) if is_in_parts else with_genus(scientific, row.get("genus", ""))
        if not scientific:
            problems.add("no scientific name", container.place(name, number))
            continue
        if len(cells) > len(heads) and any(cells[len(heads) :]):
            problems.add(f"more than {len(heads)} cells", container.place(name, number))
            continue
        key = f"line {number}"
        yield Usage(
            line=number,
            id=key,
            name=scientific,
            rank=(row.get("rank") or row.get("taxonrank") or "").lower(),
            higher=tuple((rank, row[rank]) for rank in LADDER if rank in row and row[rank] != scientific),
            common_names=tuple(
                (text, language or "")
                for i, language in languages.items()
                if i < len(cells)
                for text in common_names_in(cells[i])
            ),
        )
        for synonym in (text for column in SYNONYMS for text in synonyms_in(row.get(column, ""))):
            yield Usage(line=number, id="", name=synonym, status="synonym", accepted=key)


def synonyms_in(cell: str) -> Iterator[str]:
    """Yield the names in a cell; a comma separates them where a binomial follows, not before a year or an author."""
    for text in SEVERAL.split(cell):
        name = ""
        for part in text.split(","):
            if name and parse_name(part.strip()).rank in ("species", "subspecies", "variety", "form"):
                yield name
                name = ""
            name = f"{name}, {part.strip()}" if name else part.strip()
        if name:
            yield name


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
