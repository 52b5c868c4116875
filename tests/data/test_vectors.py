"""Memory-mapped vector tables: read completely, from one generation, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

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


def test_a_damaged_table_is_none(tmp_path: Path) -> None:
    def changed(name: str, change: Callable[[bytes], bytes]) -> None:
        """Damage one file of a fresh table."""
        write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(6))])
        assert read_table(tmp_path, "g1", "chunks-a") is not None
        (path,) = tmp_path.glob(name)
        path.write_bytes(change(path.read_bytes()))
        assert read_table(tmp_path, "g1", "chunks-a") is None, (name, change)

    def of_index(**changes: Callable[[list[object]], list[object]]) -> Callable[[bytes], bytes]:
        def change(content: bytes) -> bytes:
            index = json.loads(content)
            return json.dumps(index | {key: make(index[key]) for key, make in changes.items()}).encode()

        return change

    changed("*.npy", lambda content: content[:-9])
    changed("*.npy", lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    changed("rows-*.json", of_index(owners=lambda owners: owners[::-1]))
    changed("rows-*.json", of_index(ids=lambda ids: ids[:-1]))
    changed("manifest.json", lambda _: b"[]")
    write_tables(tmp_path, {"chunks-a": "g1"}, [("chunks-a", table(6))])
    next(tmp_path.glob("*.npy")).unlink()
    assert read_table(tmp_path, "g1", "chunks-a") is None
