"""The report of `kb taxa --file`: what became of each name of a list."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import delimited
from cli.common.delimited import disarmed
from cli.common.output import as_table
from data.errors import BadInput

if TYPE_CHECKING:
    from kb.checklist.reconcile import Reconciled

COLUMNS = (
    "name", "scientific_name", "common_name", "taxon_id", "rule", "met", "elsewhere", "why", "suggestions"
)  # fmt: skip
LISTS = ("elsewhere", "suggestions")
TABLES = (".csv", ".tsv", ".json")  # other files are names, one a line, whatever commas they have


def read_rows(file: Path) -> list[tuple[str, ...]]:
    """Return the names of each bird of a list, the surest first: tables as `--species-list` takes them, else lines.

    Raises:
        BadInput: if there is no such file, or it is no text.
    """
    from kb.checklist.species_lists import read_list

    if file.suffix.lower() in TABLES and str(file) != "-":
        listed = read_list(file)
        if listed.kind != "names":
            return [line.names for line in listed.lines]
    return [(line,) for line in read_lines(file)]


def read_lines(file: Path) -> list[str]:
    """Return the names of a file, one a line, `-` being stdin; empty lines are skipped.

    Raises:
        BadInput: if there is no such file, or it is no text.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {file}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: expected names, one a line, as UTF-8 text") from error
    return [line.strip() for line in text.split("\n") if line.strip()]


def rows(names: Sequence[str], found: Reconciled) -> list[dict[str, object]]:
    """Return a row with the `COLUMNS` for each of the names, in their order."""
    matched, missed = deque(found.matched), deque(found.unmatched)  # each in the order of the names
    listed: list[dict[str, object]] = []
    for name in names:
        row: dict[str, object] = dict.fromkeys(COLUMNS)
        row |= {"name": name, "elsewhere": [], "suggestions": []}
        if matched and matched[0].name == name:
            match = matched.popleft()
            taxon = match.taxon
            row |= {"scientific_name": taxon.scientific_name, "common_name": taxon.common_name}
            row |= {
                "taxon_id": taxon.taxon_id,
                "rule": match.rule,
                "met": match.met,
                "elsewhere": list(match.elsewhere),
            }
        else:
            why = missed.popleft()
            row |= {"why": why.why, "suggestions": list(why.suggestions)}
        listed.append(row)
    return listed


def as_csv(listed: Sequence[dict[str, object]]) -> str:
    """Return the rows as CSV with a line of columns; the names of a list are parted by `; `."""
    cells = ([_joined(row, column) if column in LISTS else row[column] for column in COLUMNS] for row in listed)
    return delimited.as_csv(COLUMNS, map(disarmed, cells))


def table(listed: Sequence[dict[str, object]]) -> str:
    """Return the rows for people: those matched, then those that no species was found for."""
    shown = ("name", "scientific_name", "common_name", "rule", "met")
    found = [[row[column] for column in shown] for row in listed if row["rule"]]
    doubted = [(row["name"], row["scientific_name"], _joined(row, "elsewhere")) for row in listed if row["elsewhere"]]
    missed = [(row["name"], row["why"], _joined(row, "suggestions")) for row in listed if not row["rule"]]
    tables = []
    if found:
        tables.append(as_table(["name", "scientific name", "common name", "by", "the name met"], found))
    if doubted:
        tables.append(as_table(["name", "taken for", "another list means"], doubted))
    if missed:
        tables.append(as_table(["no species for", "because", "perhaps"], missed))
    return "\n\n".join(tables)


def summary(found: Reconciled) -> str:
    """Return in one line how many names were matched, and how many by each rule."""
    n = len(found.matched) + len(found.unmatched)
    rules = Counter(match.rule for match in found.matched)
    by = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common())
    has = "has" if len(found.shared) == 1 else "have"
    several = f"; {len(found.shared):,} species {has} several of them" if found.shared else ""
    return f"{len(found.matched):,} of {n:,} names are species{several}" + (f"\nby {by}" if by else "")


def _joined(row: dict[str, object], column: str) -> str:
    names = row[column]
    assert isinstance(names, list)
    return "; ".join(names)
