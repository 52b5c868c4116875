import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from data import arrays
from data.arrays import as_unit_rows, products
from data.contracts import VectorTable
from data.vectors import read_table, write_tables


def table(n: int, dim: int = 4) -> VectorTable:
    return VectorTable(
        ids=tuple(f"i{k}" for k in range(n)),
        owners=np.arange(n, dtype=np.intp) // 2,
        vectors=np.random.default_rng(n).normal(size=(n, dim)).astype(np.float32),
    )


def read(folder: Path, generation: str, name: str) -> VectorTable:
    found = read_table(folder, generation, name)
    assert found is not None
    return found


def test_a_table_round_trips_exactly_and_memory_mapped(tmp_path: Path) -> None:
    assert read_table(tmp_path, "g1", "chunks-a") is None
    for n in (7, 0):
        write_tables(tmp_path, {"chunks-a": f"g{n}"}, [("chunks-a", table(n))])
        found = read(tmp_path, f"g{n}", "chunks-a")
        assert (found.ids, found.owners.tolist()) == (table(n).ids, table(n).owners.tolist())
        assert np.array_equal(found.vectors, table(n).vectors) and found.vectors.shape == (n, 4)
        assert not n or (isinstance(found.vectors, np.memmap) and not found.vectors.flags.writeable)
    assert read_table(tmp_path, "g0", "chunks-b") is None


def test_a_new_generation_replaces_the_old_and_one_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    write_tables(tmp_path, {"chunks-a": "g1", "terms-a": "g1"}, [("chunks-a", table(3)), ("terms-a", table(2))])
    held = read(tmp_path, "g1", "terms-a")
    [before] = [path.stat() for path in tmp_path.glob("chunks-a*")]
    write_tables(tmp_path, {"chunks-a": "g1", "terms-a": "g2"}, [("terms-a", table(4))])
    [after] = [path.stat() for path in tmp_path.glob("chunks-a*")]
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert np.array_equal(held.vectors, table(2).vectors), "a reader keeps what it has mapped"
    assert [len(read(tmp_path, *which).ids) for which in (("g1", "chunks-a"), ("g2", "terms-a"))] == [3, 4]
    assert read_table(tmp_path, "g1", "terms-a") is None
    write_tables(tmp_path, {"chunks-a": "g2", "terms-a": "g2"}, [])
    assert read_table(tmp_path, "g1", "chunks-a") is None
    assert len(list(tmp_path.glob("*.npy"))) == 1, "a table of another generation is removed"


def test_a_damaged_table_is_none(tmp_path: Path) -> None:
    def changed(name: str, change: Callable[[bytes], bytes]) -> None:
        """Damage one file of a fresh table."""
        write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(6))])
        assert read_table(tmp_path, "g1", "chunks-a") is not None
        (path,) = tmp_path.glob(name)
        path.write_bytes(change(path.read_bytes()))
        assert read_table(tmp_path, "g1", "chunks-a") is None, (name, change)

    changed("*.npy", lambda content: content[:-9])
    changed("*.npy", lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    changed("rows-*.json", lambda content: json.dumps(json.loads(content) | {"owners": [0] * 6}).encode())
    changed("rows-*.json", lambda content: json.dumps(json.loads(content) | {"ids": ["i0"]}).encode())
    changed("manifest.json", lambda _: b"[]")
    write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(6))])
    next(tmp_path.glob("*.npy")).unlink()
    assert read_table(tmp_path, "g1", "chunks-a") is None


@pytest.mark.parametrize("one_thread", [0, 1 << 24])
def test_large_and_small_products_are_the_exact_ones(monkeypatch: pytest.MonkeyPatch, one_thread: int) -> None:
    monkeypatch.setattr(arrays, "_ONE_THREAD", one_thread)
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(300, 70)))
    found = products(vectors, vectors[7])
    assert found.dtype == np.float32
    assert found == pytest.approx(vectors.astype(np.float64) @ vectors[7], abs=1e-6)
    with pytest.raises(ValueError, match=r"mismatch|broadcast"):
        products(vectors, vectors[7, :-1])
