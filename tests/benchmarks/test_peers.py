"""Other indexes find the rows that an exact product finds, in small collections."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory import growth
from benchmarks.peers import PEERS, installed
from data.arrays import as_unit_rows, rank_descending

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", installed())
def test_an_index_finds_the_nearest_rows(tmp_path: Path, name: str) -> None:
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(200, 16)))
    search = PEERS[name](vectors, tmp_path)
    for row in (0, 7, 199):
        found = search(vectors[row], 5)
        assert found[0] == row
        assert len(set(found.tolist()) & set(rank_descending(vectors @ vectors[row], 5).tolist())) >= 4


def test_chroma_is_always_among_them() -> None:
    assert "ChromaDB" in installed()


def test_memory_is_counted_while_it_is_held_and_mapped_files_are_not(tmp_path: Path) -> None:
    """In a process of its own: tests before this one left free memory."""
    np.save(tmp_path / "rows.npy", np.ones((16, 2**17), dtype=np.float32))  # 8 MiB
    code = """
import numpy as np
from benchmarks.memory import anonymous_mib, growth
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
    done = subprocess.run(
        run, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    mapped, while_held, after = map(float, done.stdout.split())
    assert mapped < 4 and after < 4
    assert while_held == pytest.approx(8, abs=3)
    assert growth(None, 3.0) is growth(3.0, None) is None
