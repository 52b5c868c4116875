"""Tables of a few kilobytes that stand for gigabytes are refused before they take the memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.errors import BadInput
from kb.bundle.parquet_sizes import bytes_of_groups
from kb.bundle.read_table import read_rows
from kb.bundle.tables import VECTORS, write_table

READ_ALL = """
import re, resource, sys
from pathlib import Path
import pyarrow.parquet
from data.errors import BadInput
from kb.bundle.read_table import read_rows
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
try:
    n = sum(1 for _ in read_rows(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
except BadInput as error:
    print(error)
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


def one_text_in_every_row(file: Path) -> None:
    text = pa.array([np.random.default_rng(0).bytes(1_250_000).hex()])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 4_000, pa.int32()), text)
    table = pa.table({"sha256": pa.array(["a"] * 4_000), "text": column}).cast(
        pa.schema([("sha256", pa.string()), ("text", pa.dictionary(pa.int32(), pa.string()))])
    )
    plain = pa.schema([("sha256", pa.string()), ("text", pa.string())])
    with pq.ParquetWriter(file, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
    assert pq.read_schema(file).field("text").type == plain.field("text").type
    assert file.stat().st_size < 2_600_000


def one_vector_of_equal_numbers(file: Path) -> None:
    n = 350_000_000 // 4
    vector = pa.ListArray.from_arrays([0, n], pa.array(np.zeros(n, np.float32)))
    pq.write_table(pa.table({"subject_id": ["a"], "item_id": ["b"], "vector": vector}), file, compression="zstd")
    assert file.stat().st_size < 5_000


def a_page_that_packs_to_nothing(file: Path) -> None:
    pq.write_table(
        pa.table({"sha256": ["a"], "text": ["x" * 400_000_000]}), file, compression="zstd", use_dictionary=False
    )
    assert file.stat().st_size < 100_000


def varint(number: int, length: int | None = None) -> bytes:
    """Return a number as Thrift writes it, or longer than it needs to be."""
    digits = [number << 1 >> shift & 127 for shift in range(0, 70, 7)]
    n = length or max(i for i, digit in enumerate(digits) if digit) + 1
    return bytes(digit | 128 * (i < n - 1) for i, digit in enumerate(digits[:n]))


def footer_of(file: Path) -> tuple[bytes, bytes, bytes]:
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    return content[: -8 - length], content[-8 - length : -8], content[-8:]


def with_a_lie(file: Path) -> None:
    """Let the footer state 900 bytes and values where it states many."""
    group = pq.read_metadata(file).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    sizes = {group.total_byte_size}.union(*((one.total_uncompressed_size, one.num_values) for one in columns))
    pages, footer, end = footer_of(file)
    for size in (size for size in sizes if size > 100_000):
        footer = footer.replace(varint(size), varint(900, len(varint(size))))
    file.write_bytes(pages + footer + end)


@pytest.mark.parametrize("is_lie", [False, True], ids=["honest", "footer lies"])
@pytest.mark.parametrize(
    ("write", "columns"),
    [
        (one_text_in_every_row, ("sha256", "text")),
        (one_vector_of_equal_numbers, tuple(VECTORS)),
        (a_page_that_packs_to_nothing, ("sha256", "text")),
    ],
)
def test_a_table_that_would_fill_the_memory_is_refused(
    write: Callable[[Path], None], columns: tuple[str, ...], is_lie: bool, tmp_path: Path
) -> None:
    write(tmp_path / "t.parquet")
    if is_lie:
        with_a_lie(tmp_path / "t.parquet")
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(tmp_path), "t.parquet", *columns],
        capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert "would unpack to more than 100 times its size" in done.stdout, done.stderr
    assert int(done.stdout.split()[-1]) < 400  # MB at the peak


def test_columns_that_share_their_pages_are_refused(tmp_path: Path) -> None:
    """Two thousand pages in each of five thousand columns would be read for minutes."""
    pages = (b"\x25\x02\x15" + varint(0, 1) + b"\0") * 2_000
    column = b"\x3c\x15\x02\x46\x02\x26" + varint(len(pages)) + b"\x26" + varint(4) + b"\0\0"
    n = 5_000
    footer = b"\x49\x1c\x19\xfc" + bytes((n & 127 | 128, n >> 7)) + column * n + b"\0\0"
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(BadInput, match="its columns are longer than the file"):
        list(read_rows(tmp_path, "t.parquet", ["text"]))


READ_CHANGED = """
import random, sys
from pathlib import Path
from data.errors import BadInput
from kb.bundle.read_table import read_rows
folder, length = Path(sys.argv[1]), int(sys.argv[2])
content, seed, n = (folder / "t.parquet").read_bytes(), random.Random(5), [0, 0]
for _ in range(2_000):
    changed = bytearray(content)
    for _ in range(seed.randint(1, 3)):
        changed[seed.randrange(len(content) - 8 - length, len(content) - 4)] = seed.randrange(256)
    (folder / "changed.parquet").write_bytes(changed)
    try:
        n[0] += sum(1 for _ in read_rows(folder, "changed.parquet", ["name", "n", "vector"])) > 0
    except BadInput:
        n[1] += 1
print(*n)
"""


def test_no_change_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    """At some footers pyarrow would abort it."""
    file = tmp_path / "t.parquet"
    rows = [{"name": f"n{i}", "n": i, "vector": [i, i + 0.5]} for i in range(300)]
    write_table(file, rows, {"name": "text", "n": "number", "vector": "vector"})
    done = subprocess.run(
        [sys.executable, "-c", READ_CHANGED, str(tmp_path), str(len(footer_of(file)[1]))],
        capture_output=True, text=True, timeout=200, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    n_read, n_refused = map(int, done.stdout.split())
    assert min(n_read, n_refused) > 100


def test_texts_numbers_and_vectors_come_back_as_they_were_written(tmp_path: Path) -> None:
    columns = {"name": "text", "n": "number", "vector": "vector"}
    rows = [
        {"name": ("ä" if i % 2 else None), "n": (i if i % 3 else None), "vector": [i, i + 0.5]} for i in range(2_500)
    ]
    write_table(tmp_path / "t.parquet", rows, columns)
    found = [{**row, "vector": row["vector"].tolist()} for row in read_rows(tmp_path, "t.parquet", tuple(columns))]
    assert found == rows


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([["a"]], pa.list_(pa.string()))}), tmp_path / "t.parquet")
    with pytest.raises(BadInput, match="the column text has the unexpected type list"):
        list(read_rows(tmp_path, "t.parquet", ["text"]))


def test_page_headers_with_long_statistics_are_read(tmp_path: Path) -> None:
    """A header has the least and the greatest text: more than the kilobyte that is read at first."""
    pq.write_table(
        pa.table({"text": ["a" * 1500, "b" * 1500]}), tmp_path / "t.parquet", compression="none", use_dictionary=False
    )
    [n_bytes] = bytes_of_groups(tmp_path / "t.parquet")
    assert 3_000 < n_bytes < 3_100
