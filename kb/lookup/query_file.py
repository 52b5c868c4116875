"""Files of queries: CSV, JSON lines of a rerank job, or one query per line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines

TEXT_COLUMNS = ("query_text", "text", "query")
ID_COLUMNS = ("query_id", "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuery:
    """A query of a file, with its id there."""

    text: str
    query_id: str | None = None


def read_queries(path: Path) -> list[FileQuery]:
    """Return the queries in a file, in its order; empty lines are skipped.

    Raises:
        BadInput: if it is not UTF-8, has no column of queries, or is empty; with the line.
    """
    lines = read_lines(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        found = _from_csv(path, lines)
    elif suffix in (".jsonl", ".ndjson"):
        found = _from_jobs(path, lines)
    else:
        found = [FileQuery(text=line.strip()) for line in lines if line.strip()]
    if not found:
        raise BadInput(f"{path} has no queries.")
    return found


def _from_csv(path: Path, lines: Sequence[str]) -> list[FileQuery]:
    reader = csv.DictReader(io.StringIO("\n".join(lines)))
    columns = {name.strip().lower(): name for name in reversed(reader.fieldnames or ())}
    named = next((columns[name] for name in TEXT_COLUMNS if name in columns), None)
    if named is None:
        raise BadInput(
            f"{path} has no column of queries.", hint=f"Expected one of {', '.join(TEXT_COLUMNS)} in its first line"
        )
    key = next((columns[name] for name in ID_COLUMNS if name in columns), None)
    rows = [(row.get(named) or "", row.get(key) if key else None) for row in reader]
    return [FileQuery(text=query.strip(), query_id=query_id) for query, query_id in rows if query.strip()]


def _from_jobs(path: Path, lines: Sequence[str]) -> list[FileQuery]:
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = load_json(line)
            query = row["text"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path} line {number}: expected a JSON object with a `text`") from error
        if not isinstance(query, str) or not query.strip():
            raise BadInput(f"{path} line {number}: expected a text, got {query!r}")
        query_id = row.get("query_id")
        found.append(FileQuery(text=query.strip(), query_id=None if query_id is None else str(query_id)))
    return found
