from pathlib import Path

import pytest

from data.errors import BadInput
from data.trec import parse_run, read_qrels, run_line


def test_a_run_round_trips_exactly_and_an_id_with_spaces_is_refused() -> None:
    rows = [("q1", f"i{n}", n, 1 / n / 3) for n in (1, 2, 3)]
    found = parse_run(run_line(*row, tag="both") for row in rows)
    assert [(row.query_id, row.image_id, row.rank, row.score) for row in found] == rows
    for word in ("two words", "", "tab\there", " edge"):
        with pytest.raises(BadInput, match="cannot be written to a TREC run"):
            run_line("q", word, 1, 1.0)


def test_damaged_lines_are_named(tmp_path: Path) -> None:
    for line, why in (
        ("q Q0 a 1 0.5", "6 columns"), ("q Q0 a b c 1 0.5 tag", "6 columns"),
        ("q Q0 a first 0.5 tag", "expected numbers"), ("q Q0 a 1 nan tag", "expected a finite score"),
        ("q Q0 a 1 inf tag", "expected a finite score"), ("q Q0 z 3 0.1 tag", "is listed twice"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=rf"my\.run, line 3: .*{why}"):
            list(parse_run(["q Q0 z 1 0.9 tag", "", line], name="my.run"))
    for line, why in (("q 0 a", "4 columns"), ("q 0 a yes", "whole number"), ("q 0 z 1", "judged twice")):
        (tmp_path / "qrels.txt").write_text(f"q 0 z 1\n{line}\n")
        with pytest.raises(BadInput, match=f"line 2: .*{why}"):
            read_qrels(tmp_path / "qrels.txt")
