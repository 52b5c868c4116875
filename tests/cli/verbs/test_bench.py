"""`kb bench`: times of each step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kb


def test_bench_measures_the_steps_of_look_ups(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("bench", "--kb", built_kb, "--runs", "2", "--format", "json", check=True).stdout)
    with kb.open(built_kb) as store:
        n_species = len(store.taxon_ids)
    assert (found["kb"], found["runs"], found["species"]) == (str(built_kb), 2, n_species)
    assert list(found["steps"]) == ["open", "identify a photo", "search", "context"]
    assert all(0 < step["median_s"] <= step["slowest_s"] for step in found["steps"].values())
    lines = cli.call("bench", "--kb", built_kb, "--runs", "1", check=True).stdout.splitlines()
    assert lines[0] == f"{built_kb}: {n_species} species; runs of each step: 1"
    assert [line.split()[0] for line in lines[1:] if line and line[0] != "─"] == [
        "step", "open", "identify", "search", "context",
    ]  # fmt: skip
