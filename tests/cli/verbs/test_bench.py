"""`kb bench`: times of each step, and of other indexes with the same vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_bench_measures_steps_and_indexes(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("bench", "--kb", built_kb, "--runs", "2", "--format", "json", check=True).stdout)
    assert (found["kb"], found["runs"]) == (str(built_kb), 2)
    assert found["species"] == len(json.loads(cli.call("species", "--kb", built_kb, "--format", "json").stdout))
    assert list(found["steps"]) == ["open", "identify a photo", "search", "context"]
    assert all(0 < step["median_s"] <= step["slowest_s"] for step in found["steps"].values())
    assert {"Fieldmark", "ChromaDB"} <= set(found["nearest"])
    assert found["nearest"]["Fieldmark"]["recall"] == 1
    assert all(0 < peer["recall"] <= 1 for peer in found["nearest"].values())
    assert found["nearest"]["ChromaDB"]["fill_s"] > 0


def test_bench_prints_two_tables(cli: Any, built_kb: Path) -> None:
    lines = cli.call("bench", "--kb", built_kb, "--runs", "1", check=True).stdout.splitlines()
    assert [line.split()[0] for line in lines if line and line[0] != "─"][:4] == ["step", "open", "identify", "search"]
    assert any(line.startswith("ChromaDB") for line in lines)
