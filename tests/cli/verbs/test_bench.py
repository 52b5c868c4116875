"""`kb bench`: times of each step, and of other indexes with the same vectors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kb
from cli.verbs.bench.command import _cells
from cli.verbs.bench.memory import growth
from cli.verbs.bench.nearest import recall_of
from cli.verbs.bench.peers import packages_to_install
from data.arrays import as_unit_rows, rank_descending


def test_bench_measures_steps_and_indexes(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("bench", "--kb", built_kb, "--runs", "2", "--format", "json", check=True).stdout)
    assert (found["kb"], found["runs"]) == (str(built_kb), 2)
    assert found["species"] == len(json.loads(cli.call("species", "--kb", built_kb, "--format", "json").stdout))
    with kb.open(built_kb) as store:
        assert (found["vectors"], found["dim"]) == store.species_vectors().vectors.shape
    assert found["queries"] == min(100, found["vectors"])
    assert found["not_installed"] == packages_to_install()
    assert list(found["steps"]) == ["open", "identify a photo", "search", "context"]
    assert all(0 < step["median_s"] <= step["slowest_s"] for step in found["steps"].values())
    assert {"Fieldmark", "ChromaDB"} <= set(found["nearest"])
    assert found["nearest"]["Fieldmark"]["recall"] == 1
    assert all(0 < peer["recall"] <= 1 for peer in found["nearest"].values())
    assert found["nearest"]["ChromaDB"]["fill_s"] > 0


def test_recall_is_measured_against_the_exact_nearest() -> None:
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(40, 8)))
    queries = vectors[:2]
    exact = [rank_descending(vectors @ query, 10).tolist() for query in queries]
    far = [rank_descending(-(vectors @ query), 5).tolist() for query in queries]
    assert recall_of(exact, vectors, queries) == 1
    assert recall_of([rows[:5] + others for rows, others in zip(exact, far, strict=True)], vectors, queries) == 0.5
    assert recall_of([[*rows[:9], -1] for rows in exact], vectors, queries) == pytest.approx(0.9)  # FAISS found nine
    assert recall_of([rows[:5] * 2 for rows in exact], vectors, queries) == 0.5


def test_rows_that_are_as_near_count_as_found() -> None:
    vectors = as_unit_rows(np.ones((30, 8)))
    assert recall_of([list(range(20, 30))], vectors, vectors[:1]) == 1


def test_packages_of_missing_indexes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verbs.bench.peers.find_spec", lambda name: None if name != "chromadb" else object())
    assert packages_to_install() == ["faiss-cpu", "usearch"]


def test_bench_measures_memory(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("bench", "--kb", built_kb, "--runs", "1", "--format", "json", check=True).stdout)
    with kb.open(built_kb) as store:
        size = store.species_vectors().vectors.nbytes / 2**20
    assert found["nearest"]["Fieldmark"]["mapped_mib"] == pytest.approx(size)
    assert found["nearest"]["ChromaDB"]["mapped_mib"] == 0
    assert all(peer["memory_mib"] >= 0 for peer in found["nearest"].values())


def test_memory_is_counted_while_it_is_held_and_mapped_files_are_not(cli: Any, tmp_path: Path) -> None:
    """In a process of its own: tests before this one left free memory."""
    np.save(tmp_path / "rows.npy", np.ones((16, 2**17), dtype=np.float32))  # 8 MiB
    code = """
import numpy as np
from cli.verbs.bench.memory import anonymous_mib, growth
before = anonymous_mib()
mapped = np.load("rows.npy", mmap_mode="r")
assert mapped.sum() == 2**21
read = anonymous_mib()
held = [np.ones(2**10, dtype=np.float32) for _ in range(2**11)]  # 8 MiB in pieces, which are freed to the process
while_held = growth(read, anonymous_mib())
held.clear()
print(growth(before, read), while_held, growth(read, anonymous_mib()))
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, env=cli.environment(), capture_output=True, text=True, check=True)
    mapped, while_held, after = map(float, done.stdout.split())
    assert mapped < 4 and after < 4
    assert while_held == pytest.approx(8, abs=3)


def test_memory_is_unknown_where_the_system_does_not_tell() -> None:
    assert growth(None, 3.0) is growth(3.0, None) is None
    peer = {"median_s": 0.001, "recall": 1.0, "fill_s": 2.0, "memory_mib": None, "mapped_mib": 1.5}
    assert list(_cells(peer)) == ["1.00", "1.000", "2.00", "unknown", "1.5"]


def test_bench_prints_two_tables(cli: Any, built_kb: Path) -> None:
    lines = cli.call("bench", "--kb", built_kb, "--runs", "1", check=True).stdout.splitlines()
    with kb.open(built_kb) as store:
        n_species, (n_rows, dim) = len(store.taxon_ids), store.species_vectors().vectors.shape
    assert lines[0] == f"{built_kb}: {n_species} species; runs of each step: 1"
    assert f"The 10 nearest of {n_rows} descriptions ({dim} dimensions), {n_rows} queries" in lines
    assert [line.split()[0] for line in lines[1:] if line and line[0] != "─"][:3] == ["step", "open", "identify"]
    [row] = [line.split() for line in lines if line.startswith("ChromaDB")]
    assert len(row) == 6
    assert float(row[4]) >= 0  # MiB
