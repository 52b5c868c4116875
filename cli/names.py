"""The report of `kb taxa --file`: what became of each name of a list."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.output import as_table
from data.errors import BadInput

if TYPE_CHECKING:
    from kb.reconciling import Reconciled

COLUMNS = ("name", "scientific_name", "common_name", "taxon_id", "how", "why", "suggestions")


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
    return [line.strip() for line in text.splitlines() if line.strip()]


def rows(names: Sequence[str], found: Reconciled) -> list[dict[str, object]]:
    """Return a row with the `COLUMNS` for each of the names, in their order."""
    matched = {match.name: match for match in found.matched}
    missed = {name.name: name for name in found.unmatched}
    listed: list[dict[str, object]] = []
    for name in names:
        row: dict[str, object] = dict.fromkeys(COLUMNS)
        row["name"], row["suggestions"] = name, []
        if name in matched:
            taxon = matched[name].taxon
            row |= {"scientific_name": taxon.scientific_name, "common_name": taxon.common_name}
            row |= {"taxon_id": taxon.taxon_id, "how": matched[name].how}
        else:
            row |= {"why": missed[name].why, "suggestions": list(missed[name].suggestions)}
        listed.append(row)
    return listed


def as_csv(listed: Sequence[dict[str, object]]) -> str:
    """Return the rows as CSV with a line of columns; suggestions are parted by `; `."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "suggestions": _joined(row)} for row in listed)
    return out.getvalue()


def table(listed: Sequence[dict[str, object]]) -> str:
    """Return the rows for people: those matched, then those that no species was found for."""
    found = [
        [row[column] for column in ("name", "scientific_name", "common_name", "how")] for row in listed if row["how"]
    ]
    missed = [(row["name"], row["why"], _joined(row)) for row in listed if not row["how"]]
    tables = []
    if found:
        tables.append(as_table(["name", "scientific name", "common name", "by"], found))
    if missed:
        tables.append(as_table(["no species for", "because", "perhaps"], missed))
    return "\n\n".join(tables)


def summary(found: Reconciled) -> str:
    """Return in one line how many names were matched."""
    n = len(found.matched) + len(found.unmatched)
    return f"{len(found.matched):,} of {n:,} names are species" + (
        f"; {len(found.shared):,} species have several of them" if found.shared else ""
    )


def _joined(row: dict[str, object]) -> str:
    suggestions = row["suggestions"]
    assert isinstance(suggestions, list)
    return "; ".join(suggestions)
