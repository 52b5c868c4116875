"""A first pass in small numbers finds the exact rows after rescoring, and costs what is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.neighbours import exact_product, made_up, measure_rows, rescored, ways
from cli.verbs.bench.peers import Search
from data.arrays import FloatArray, IntArray, as_unit_rows


@pytest.mark.parametrize("name", ["float16 first pass", "int8 first pass"])
def test_a_first_pass_finds_the_exact_rows(tmp_path: Path, name: str) -> None:
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(5_000, 32)))
    exact, search = exact_product(vectors, tmp_path), ways()[name](vectors, tmp_path)
    for row in (0, 2_500, 4_999):
        assert search(vectors[row], 10).tolist() == exact(vectors[row], 10).tolist()


def test_rescoring_ranks_ten_times_the_candidates(tmp_path: Path) -> None:
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(200, 16)))
    asked: list[int] = []

    def first_rows(query: FloatArray, n: int) -> IntArray:
        del query
        asked.append(n)
        return np.arange(n)

    def rough(rows: FloatArray, folder: Path) -> Search:
        del rows, folder
        return first_rows

    found = rescored(rough)(vectors, tmp_path)(vectors[25], 3)
    assert asked == [30]
    assert found[0] == 25
    assert set(found.tolist()) <= set(range(30))


def test_few_rows_are_all_candidates(tmp_path: Path) -> None:
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(7, 16)))
    for name in ("float16 first pass", "int8 first pass"):
        assert ways()[name](vectors, tmp_path)(vectors[3], 5)[0] == 3


@pytest.mark.parametrize("name", ["exact product", "int8 first pass"])
def test_recall_time_and_memory_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    made_up(1_000, 16, tmp_path / "rows.npy")
    measure_rows(name, tmp_path / "rows.npy", 5, 10)
    printed = capsys.readouterr().out
    assert printed.split(name)[0].strip() == "1,000"
    assert " recall 1.0000 " in printed
    assert printed.endswith(" MiB\n")
