"""`kb rerank --split`: one split of INQUIRE-Rerank as published."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import CommandLine
from tests.data.benchmarks.test_inquire import KNOWN, OTHER, ROWS, write_parquet


def test_only_the_queries_of_the_split_are_ranked(cli: CommandLine, built_kb: Path, tmp_path: Path) -> None:
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", [row for row in ROWS if row[0] == KNOWN])
    write_parquet(tmp_path / "data" / "validation-00000-of-00001.parquet", [row for row in ROWS if row[0] == OTHER])
    done = cli.call(
        "rerank", tmp_path, "--split", "validation", "--method", "similarity", "--kb", built_kb, "--format", "jsonl"
    )
    assert done.exit_code == 0, done.stderr
    assert {json.loads(line)["image_id"] for line in done.stdout.splitlines()} == {"11", "21", "22"}
