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


@pytest.mark.parametrize(
    ("write", "columns"),
    [
        (one_text_in_every_row, ("sha256", "text")),
        (one_vector_of_equal_numbers, tuple(VECTORS)),
        (a_page_that_packs_to_nothing, ("sha256", "text")),
    ],
)
def test_a_table_that_would_fill_the_memory_is_refused(
    write: Callable[[Path], None], columns: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path / "t.parquet")
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(tmp_path), "t.parquet", *columns],
        capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert "would unpack to more than 100 times its size" in done.stdout, done.stderr
    assert int(done.stdout.split()[-1]) < 400  # MB at the peak


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
