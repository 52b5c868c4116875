"""Files of names: text, rows and known columns of tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from data.errors import BadInput
from kb.checklist.names import fold

MAX_BYTES: Final = 64 * 2**20
EPITHETS: Final = ("specificepithet", "speciesepithet", "epithet")
"""Headings of epithets, beside a column of genera."""
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "scientific": (
        "scientificname", "sciname", "scientific", "binomial", "latinname", "latin", "species", "taxon",
    ),
    "epithet": EPITHETS,
    "common": (
        "commonname", "comname", "common", "primarycomname", "englishname", "english", "vernacularname", "name",
    ),
    "code": ("speciescode", "ebirdcode", "code"),
    "class": ("class",),
    "order": ("order",),
    "family": ("family",),
    "genus": ("genus",),
}  # fmt: skip
"""Column -> its headings, folded."""
KNOWN_HEADINGS: Final = ("scientific_name", "species", "common_name", "english_name", "name", "species_code")
"""The most usual headings of names, for messages."""


def read_names_file(path: Path) -> str:
    """Return the text of a file of names.

    Raises:
        BadInput: if there is no such file, it is too large, or it is not text in UTF-8.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadInput(f"{path} is larger than {MAX_BYTES:,} bytes; expected names of species.")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise BadInput(f"File not found: {path}") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}: line {line}: expected UTF-8 text.") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    if "\0" in text:
        raise BadInput(f"{path}: expected names of species, got a binary file.")
    return text


def table_rows(text: str, path: Path | str) -> list[tuple[int, list[str]]]:
    """Return `(line number, cells)` of all rows except empty ones and comments (`#`); commas, semicolons or tabs.

    Raises:
        BadInput: if a row cannot be read.
    """
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    delimiter = max(",;\t", key=first.count)
    # With line ends, since a quoted cell may span lines.
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
                rows.append((reader.line_num, [" ".join(cell.split()) for cell in cells]))
    except csv.Error as error:
        raise BadInput(f"{path}: line {reader.line_num}: {error}.") from error
    return rows


def columns_of(heading: Sequence[str]) -> dict[str, int]:
    """Return known column -> position in a row of headings; empty if it names no species."""
    folded = [fold(cell) for cell in heading]
    found = {
        column: next(i for i, cell in enumerate(folded) if cell in headings)
        for column, headings in COLUMNS.items()
        if not set(headings).isdisjoint(folded)
    }
    has_names = {"scientific", "common", "code"} & set(found) or {"genus", "epithet"} <= set(found)
    return found if has_names else {}


def scientific_name_in(cells: Sequence[str], columns: Mapping[str, int]) -> str:
    """Return the scientific name in a row, of genus and epithet where the table gives them apart; empty without one.

    Example:
        >>> scientific_name_in(["Bufo", "Viridis"], {"genus": 0, "epithet": 1})
        'Bufo viridis'
    """
    found = {column: cells[at] for column, at in columns.items() if at < len(cells)}
    name, genus = found.get("scientific", ""), found.get("genus", "")
    if not name and genus and (epithet := found.get("epithet")):
        return f"{genus} {epithet.lower()}"
    return with_genus(name, genus)


def with_genus(name: str, genus: str) -> str:
    """Return a name with its genus before it, where a table gives genus and epithet in two columns.

    Example:
        >>> with_genus("bufo", "Bufo"), with_genus("bufo bufo", "Bufo"), with_genus("Bufo bufo", "Bufo")
        ('Bufo bufo', 'bufo bufo', 'Bufo bufo')
    """
    is_whole = " " in name and name.split()[0] == genus.lower()
    return f"{genus} {name}" if genus and name[:1].islower() and not is_whole else name
