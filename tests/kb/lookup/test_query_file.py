"""Query files with unusual separators inside the texts."""

import json
from pathlib import Path

import pytest

from data.errors import BadInput
from kb.lookup.query_file import FileQuery, read_queries

ODD = "two frogs\u2028in\u2029amplexus\x0b\x85at night"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_json_lines_end_only_at_newlines(tmp_path: Path, end: str) -> None:
    """A U+2028 inside a JSON string is text, although `str.splitlines` splits there."""
    rows = [{"query_id": 7, "text": ODD}, {"text": "an owl"}]
    path = tmp_path / "queries.jsonl"
    path.write_bytes(end.join(json.dumps(row, ensure_ascii=False) for row in rows).encode() + end.encode())
    assert read_queries(path) == [FileQuery(text=ODD, query_id="7"), FileQuery(text="an owl")]


def test_plain_lines_end_only_at_newlines(tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text(f"{ODD}\n\nan owl\n", encoding="utf-8")
    assert [query.text for query in read_queries(tmp_path / "queries.txt")] == [ODD, "an owl"]


def test_columns_are_found_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("ID,Query\n7,an owl\n", encoding="utf-8")
    assert read_queries(tmp_path / "queries.csv") == [FileQuery(text="an owl", query_id="7")]


def test_a_bad_row_is_reported_with_its_line_number(tmp_path: Path) -> None:
    good = json.dumps({"text": ODD}, ensure_ascii=False)
    (tmp_path / "queries.jsonl").write_text(f"{good}\n{{]\n", encoding="utf-8")
    with pytest.raises(BadInput, match="line 2"):
        read_queries(tmp_path / "queries.jsonl")
