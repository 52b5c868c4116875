"""Rows as CSV: a header, Unix line ends, None as an empty cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return the rows under their columns as CSV, each line ended.

    Example:
        >>> as_csv(("name", "n"), [("a, b", 1), ("c", None)]).splitlines()
        ['name,n', '"a, b",1', 'c,']
    """
    return "".join(map(csv_line, [columns, *rows]))


def csv_line(cells: Iterable[object]) -> str:
    """Return one row as CSV, with its line end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def escape_formulas(row: Iterable[object]) -> list[object]:
    """Return the cells with an apostrophe before each text that a spreadsheet would run as a formula.

    For text of other people, such as author names in a wiki; JSON keeps it unchanged. A text that looks escaped gets
    one apostrophe more, so that `unescape_formula` is exact.

    Example:
        >>> escape_formulas(["=1+2", "@ann", "Ann", -1, None])
        ["'=1+2", "'@ann", 'Ann', -1, None]
    """
    return [f"'{cell}" if isinstance(cell, str) and cell.lstrip("'").startswith(_FORMULA) else cell for cell in row]


def unescape_formula(cell: str) -> str:
    """Return the cell before `escape_formulas`.

    Example:
        >>> unescape_formula("'=1+2"), unescape_formula("''=1+2"), unescape_formula("'t Hooft")
        ('=1+2', "'=1+2", "'t Hooft")
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell
