"""Files of queries: CSV, JSON lines of a rerank job, or one query per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.tables import open_table, read_text

COLUMNS = {"text": ("query_text", "text", "query"), "query_id": ("query_id", "id")}
"""Meaning -> headings of a table."""
TABLES = (".csv", ".tsv", ".xlsx")


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
    suffix = path.suffix.lower()
    if suffix in TABLES:
        found = _of_table(path)
    elif suffix in (".jsonl", ".ndjson"):
        lines = enumerate(read_lines(path), start=1)
        found = [_of_job(line, f"{path} line {n}") for n, line in lines if line.strip()]
    else:
        found = [FileQuery(text=line.strip()) for line in read_text(path).split("\n")]
    if not any(query.text for query in found):
        raise BadInput(f"{path} has no queries.")
    return [query for query in found if query.text]


def _of_table(path: Path) -> list[FileQuery]:
    table = open_table(path, COLUMNS, needed=lambda found: "text" in found)
    if table.heading_line is None:
        expected = f"Expected one of {', '.join(COLUMNS['text'])} in its first line"
        raise table.refused("the table has no column of queries", hint=expected)
    texts, ids = table.columns["text"], table.columns.get("query_id", ())
    rows = table.frame.to_dict("records")
    return [FileQuery(text=row[texts[0]], query_id=next((row[name] for name in ids), "") or None) for row in rows]


def _of_job(line: str, place: str) -> FileQuery:
    try:
        row = load_json(line)
        query = row["text"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{place}: expected a JSON object with a `text`") from error
    if not isinstance(query, str) or not query.strip():
        raise BadInput(f"{place}: expected a text, got {query!r}")
    query_id = row.get("query_id")
    return FileQuery(text=query.strip(), query_id=None if query_id is None else str(query_id))
