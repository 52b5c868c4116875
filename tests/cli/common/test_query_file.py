import json
from pathlib import Path

import pytest

from cli.common.query_file import FileQuery, read_queries
from data.errors import BadInput

ODD = "two frogs\u2028in\u2029amplexus\x0b\x85at night"
ROW = json.dumps({"query_id": 7, "text": ODD}, ensure_ascii=False)
OWL = FileQuery(text="an owl")


def test_lines_end_only_at_newlines_and_columns_are_found_in_any_case(tmp_path: Path) -> None:
    for name, content, found in (
        ("a.jsonl", f'{ROW}\n{{"text": "an owl"}}\n', [FileQuery(text=ODD, query_id="7"), OWL]),
        ("b.ndjson", '{"text": "an owl"}\r\n', [OWL]),
        ("c.txt", f"{ODD}\n\nan owl\n", [FileQuery(text=ODD), OWL]),
        ("d.csv", "ID,Query\n7,an owl\n,\n", [FileQuery(text="an owl", query_id="7")]),
    ):
        (tmp_path / name).write_bytes(content.encode())
        assert read_queries(tmp_path / name) == found


def test_a_file_without_queries_is_refused_with_the_line(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.jsonl", f"{ROW}\n{{]\n", "line 2: expected a JSON object with a `text`"),
        ("b.jsonl", '{"text": " "}\n', "line 1: expected a text, got ' '"),
        ("c.csv", "a,b\n1,2\n", "has no column of queries"),
        ("d.txt", "\n \n", "has no queries"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(BadInput, match=message):
            read_queries(tmp_path / name)
