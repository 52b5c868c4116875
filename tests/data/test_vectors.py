"""Memory-mapped vector tables: read completely, from one generation, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from data.contracts import VectorTable
from data.vectors import read_table, write_tables


def table(n: int, dim: int = 4) -> VectorTable:
    return VectorTable(
        ids=tuple(f"i{k}" for k in range(n)),
        owners=np.arange(n, dtype=np.intp) // 2,
        vectors=np.random.default_rng(n).normal(size=(n, dim)).astype(np.float32),
    )


def test_a_table_round_trips_exactly_and_memory_mapped(tmp_path: Path) -> None:
    written = table(7)
    write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", written)])
    read = read_table(tmp_path, "g1", "chunks-a")
    assert read is not None
    assert read.ids == written.ids
    assert np.array_equal(read.owners, written.owners)
    assert np.array_equal(read.vectors, written.vectors)
    assert isinstance(read.vectors, np.memmap)
    assert not read.vectors.flags.writeable


def test_an_empty_table_round_trips(tmp_path: Path) -> None:
    write_tables(tmp_path, {"anchors-a": "g1"}, [("anchors-a", table(0))])
    read = read_table(tmp_path, "g1", "anchors-a")
    assert read is not None
    assert read.vectors.shape == (0, 4)


def test_a_table_of_another_generation_or_name_is_none(tmp_path: Path) -> None:
    assert read_table(tmp_path, "g1", "chunks-a") is None
    write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(3))])
    assert read_table(tmp_path, "g2", "chunks-a") is None
    assert read_table(tmp_path, "g1", "chunks-b") is None


def test_a_new_generation_replaces_the_old(tmp_path: Path) -> None:
    write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(3))])
    held = read_table(tmp_path, "g1", "chunks-a")
    write_tables(tmp_path, {"chunks-a": "g2"}, [("chunks-a", table(5))])
    assert held is not None
    assert np.array_equal(held.vectors, table(3).vectors), "a reader keeps what it has mapped"
    assert read_table(tmp_path, "g1", "chunks-a") is None
    assert len(list(tmp_path.glob("*.npy"))) == 1


def test_a_table_of_the_same_generation_is_not_written_again(tmp_path: Path) -> None:
    write_tables(tmp_path, {"chunks-a": "g1", "terms-a": "g1"}, [("chunks-a", table(3)), ("terms-a", table(2))])
    [before] = [path.stat() for path in tmp_path.glob("chunks-a*")]
    write_tables(tmp_path, {"chunks-a": "g1", "terms-a": "g2"}, [("terms-a", table(4))])
    [after] = [path.stat() for path in tmp_path.glob("chunks-a*")]
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    kept, written = read_table(tmp_path, "g1", "chunks-a"), read_table(tmp_path, "g2", "terms-a")
    assert kept is not None and written is not None
    assert (len(kept.ids), len(written.ids)) == (3, 4)
    assert read_table(tmp_path, "g1", "terms-a") is None
    write_tables(tmp_path, {"chunks-a": "g2", "terms-a": "g2"}, [])
    assert read_table(tmp_path, "g1", "chunks-a") is None
    assert len(list(tmp_path.glob("*.npy"))) == 1, "a table of another generation is removed"


@pytest.mark.parametrize("damage", ["truncate", "remove", "flip", "mismatch", "swap", "manifest"])
def test_a_damaged_table_is_none(tmp_path: Path, damage: str) -> None:
    write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(6))])
    matrix = next(tmp_path.glob("*.npy"))
    index = next(path for path in tmp_path.glob("*.json") if path.name != "manifest.json")
    if damage == "truncate":
        matrix.write_bytes(matrix.read_bytes()[:-9])
    elif damage == "remove":
        matrix.unlink()
    elif damage == "flip":
        content = bytearray(matrix.read_bytes())
        content[-3] ^= 1
        matrix.write_bytes(bytes(content))
    elif damage == "swap":
        content = json.loads(index.read_text())
        index.write_text(json.dumps({**content, "owners": content["owners"][::-1]}))
    elif damage == "mismatch":
        content = json.loads(index.read_text())
        index.write_text(json.dumps({**content, "ids": content["ids"][:-1]}))
    else:
        (tmp_path / "manifest.json").write_text("[]")
    assert read_table(tmp_path, "g1", "chunks-a") is None
