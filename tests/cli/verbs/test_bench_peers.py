"""Other indexes find the rows that an exact product finds, in small collections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.verbs.bench.peers import PEERS, installed
from data.arrays import as_unit_rows, rank_descending


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
