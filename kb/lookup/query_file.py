"""Files of queries: CSV, JSON lines of a rerank job, or one query per line."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
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
        head, *below = list(csv.reader(io.StringIO("\n".join(lines)))) or [[]]
        columns = [name.strip().lower() for name in head]
        if not set(TEXT_COLUMNS) & set(columns):
            expected = f"Expected one of {', '.join(TEXT_COLUMNS)} in its first line"
            raise BadInput(f"{path} has no column of queries.", hint=expected)
        found = [_query(dict(zip(columns, row, strict=False))) for row in below]
    elif suffix in (".jsonl", ".ndjson"):
        found = [_of_job(line, f"{path} line {n}") for n, line in enumerate(lines, start=1) if line.strip()]
    else:
        found = [FileQuery(text=line.strip()) for line in lines]
    if not any(query.text for query in found):
        raise BadInput(f"{path} has no queries.")
    return [query for query in found if query.text]


def _query(row: Mapping[str, object]) -> FileQuery:
    text, query_id = (
        next((row[name] for name in names if row.get(name) is not None), None) for names in (TEXT_COLUMNS, ID_COLUMNS)
    )
    return FileQuery(text=str(text or "").strip(), query_id=None if query_id is None else str(query_id))


def _of_job(line: str, place: str) -> FileQuery:
    try:
        row = load_json(line)
        query = row["text"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{place}: expected a JSON object with a `text`") from error
    if not isinstance(query, str) or not query.strip():
        raise BadInput(f"{place}: expected a text, got {query!r}")
    return _query({"text": query, "query_id": row.get("query_id")})
