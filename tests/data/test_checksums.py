"""Checksums of files: every change of the content is detected."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from data.checksums import file_checksum


@pytest.mark.parametrize("size", [0, 1, 7, 8, 4_097, (1 << 20) - 8, (1 << 20) + 3, 3 << 20])
def test_a_changed_byte_or_length_changes_the_checksum(tmp_path: Path, size: int) -> None:
    content = bytearray(random.Random(size).randbytes(size))
    file = tmp_path / "file"
    file.write_bytes(content)
    before = file_checksum(file)
    assert file_checksum(file) == before
    for place in {0, size // 2, size - 1} if size else ():
        content[place] ^= 0x10
        file.write_bytes(content)
        assert file_checksum(file) != before
        content[place] ^= 0x10
    for other in (bytes(content) + b"\0", bytes(content[:-1])) if size else (b"\0",):
        file.write_bytes(other)
        assert file_checksum(file) != before


def test_swapped_blocks_change_the_checksum(tmp_path: Path) -> None:
    one, two = (random.Random(seed).randbytes(1 << 20) for seed in (1, 2))
    (tmp_path / "a").write_bytes(one + two)
    (tmp_path / "b").write_bytes(two + one)
    assert file_checksum(tmp_path / "a") != file_checksum(tmp_path / "b")
