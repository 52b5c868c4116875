"""Files of names: text, rows and known columns of tables, cells of several names, names in several columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from data.errors import BadInput
from kb.checklist.names import BELOW_SPECIES, LADDER, fold, parse_name

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
    """Return the scientific name in a row, of genus and epithet where the table gives them apart; empty without one."""
    found = {column: cells[at] for column, at in columns.items() if at < len(cells)}
    name, genus = found.get("scientific", ""), found.get("genus", "")
    if not name and genus and (epithet := found.get("epithet")):
        return f"{genus} {epithet.lower()}"
    return with_genus(name, genus)


def with_genus(name: str, genus: str) -> str:
    """Return a name with its genus before it, where a table gives genus and epithet in two columns."""
    is_whole = " " in name and name.split()[0] == genus.lower()
    return f"{genus} {name}" if genus and name[:1].islower() and not is_whole else name


SEVERAL: Final = re.compile(r"[;|]")


def common_names_in(cell: str) -> tuple[str, ...]:
    """Return the common names in a cell.

    Bars, which Darwin Core recommends, and semicolons always separate names. Commas do where each part has two words or
    more: a part of one word belongs to an inverted name, which stays whole.

    Source: Darwin Core quick reference guide: "separate the values in a list with space vertical bar space".
    """
    found: list[str] = []
    for text in SEVERAL.split(cell):
        parts = [name for part in text.split(",") if (name := part.strip())]
        found += parts if all(len(part.split()) > 1 for part in parts) else [", ".join(parts)]
    return tuple(found)


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


_GENUS: Final = ("genericname", "genus")
_LOWEST: Final = ("infraspecificepithet", "subspecies")


def are_named_in_parts(columns: Collection[str]) -> bool:
    """Return whether a table (its headings folded) has columns of genus and epithet, or of single names."""
    has_binomial = not set(_GENUS).isdisjoint(columns) and not set(EPITHETS).isdisjoint(columns)
    return has_binomial or "uninomial" in columns


def name_from_parts(row: Mapping[str, str]) -> str:
    """Return the name composed of the columns of a row, or the lowest of its higher taxa; empty if it has none."""
    genus, epithet, lowest = (_first(row, keys) for keys in (_GENUS, EPITHETS, _LOWEST))
    if genus and epithet:
        rank = (row.get("taxonrank") or row.get("rank") or "").lower().rstrip(".")
        word = BELOW_SPECIES.get(rank, rank)
        marker = {"variety": "var.", "form": "f."}.get(word, "") if lowest else ""
        sign = "×" if row.get("notho", "").lower() == "specific" else ""
        return " ".join(filter(None, (genus, sign, epithet.lower(), marker, lowest.lower())))
    return row.get("uninomial") or genus or next((row[rank] for rank in LADDER[::-1] if row.get(rank)), "")


def _first(row: Mapping[str, str], keys: Collection[str]) -> str:
    return next((row[key] for key in keys if row.get(key)), "")
