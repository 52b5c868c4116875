"""Checksums of files: every change of the content is detected."""

import random
from pathlib import Path

import pytest

from data.checksums import file_checksum


@pytest.mark.parametrize("size", [0, 1, 7, 4_097, (1 << 20) - 8, 2 << 20])
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
    file.write_bytes(content[size // 2 :] + content[: size // 2])
    assert size < 2 or file_checksum(file) != before, "halves in another order"
