"""Rows as CSV, as all verbs write it: a header, Unix line ends, None as nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return the rows under their columns as CSV, each line ended.

    Example:
        >>> as_csv(("name", "n"), [("a, b", 1), ("c", None)]).splitlines()
        ['name,n', '"a, b",1', 'c,']
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
