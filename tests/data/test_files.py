import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from data.errors import BadInput, KnowledgeBaseLocked, MissingRequirement, StoreError
from data.files import ContentFolder, file_checksum, read_lines, sha256_hex, write_atomic, writer_lock, writing


def test_only_line_feeds_end_a_line_and_a_file_must_be_utf8(tmp_path: Path) -> None:
    for content, lines in (
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\n\r\nb", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("a\u2028b\x85c\x0cd\n".encode(), ["a\u2028b\x85c\x0cd"]),
    ):
        (tmp_path / "x").write_bytes(content)
        assert read_lines(tmp_path / "x") == lines
    (tmp_path / "x").write_bytes("a\n".encode("utf-16"))
    with pytest.raises(BadInput, match="is not UTF-8 text"):
        read_lines(tmp_path / "x")


def test_a_failed_write_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b.txt"
    write_atomic(target, b"old")
    with pytest.raises(TypeError):
        write_atomic(target, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [path.name for path in target.parent.iterdir()] == ["b.txt"]


def test_the_error_of_a_full_disk_names_the_file() -> None:
    """The system names none where a buffer is written when the file is closed."""
    with (
        pytest.raises(MissingRequirement, match=r"^rows\.csv cannot be written: No space left") as caught,
        writing(Path("rows.csv")),
        Path("/dev/full").open("w") as out,
    ):
        out.write("a row")
    assert "make room" in (caught.value.hint or "")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_equal_contents_are_stored_once_and_damaged_ones_refused(tmp_path: Path, suffix: str) -> None:
    folder = ContentFolder(tmp_path, suffix=suffix)
    first, second = folder.write(b"crown"), folder.write(b"crown")
    assert first == second == sha256_hex(b"crown") == sha256_hex("crown")
    assert (folder.hashes(), first in folder, folder.read(first)) == ([first], True, b"crown")
    leftover = folder.path_of(first).parent / ".part-abc"  # of a killed writer
    leftover.write_bytes(b"half")
    folder.remove_leftovers()
    assert (leftover.exists(), folder.hashes()) == (False, [first])
    for damage in (b"", b"something else", b"\x1f\x8b\x08"):
        folder.path_of(first).write_bytes(damage)
        with pytest.raises(StoreError):
            folder.read(first)
    for name in ("../../etc/passwd", "", "A" * 64, "0" * 63):
        with pytest.raises(ValueError, match="64 hex digits"):
            folder.read(name)


def test_the_lock_is_released_when_its_process_dies(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    code = (
        "import sys, time; from pathlib import Path; from data.files import writer_lock\n"
        "with writer_lock(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"held"
    with pytest.raises(KnowledgeBaseLocked), writer_lock(lock):
        pass
    killer = threading.Timer(0.3, process.kill)
    killer.start()
    with writer_lock(lock, wait_s=60):  # free once the process is killed
        assert lock.exists()
    killer.join()
    process.wait()
    process.stdout.close()


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
