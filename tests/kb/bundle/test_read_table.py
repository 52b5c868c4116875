"""Tables of a few kilobytes that stand for gigabytes are refused before they take the memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.errors import BadInput
from kb.bundle.read_table import check_tables, read_rows
from kb.bundle.tables import VECTORS, write_table


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
    n = 200_000_000 // 4
    vector = pa.ListArray.from_arrays([0, n], pa.array(np.zeros(n, np.float32)))
    pq.write_table(pa.table({"subject_id": ["a"], "item_id": ["b"], "vector": vector}), file, compression="zstd")
    assert file.stat().st_size < 5_000


def varint(number: int, length: int | None = None) -> bytes:
    digits = [number << 1 >> shift & 127 for shift in range(0, 70, 7)]
    n = length or max(i for i, digit in enumerate(digits) if digit) + 1
    return bytes(digit | 128 * (i < n - 1) for i, digit in enumerate(digits[:n]))


def footer_of(file: Path) -> tuple[bytes, bytes, bytes]:
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    return content[: -8 - length], content[-8 - length : -8], content[-8:]


def with_a_lie(file: Path) -> None:
    group = pq.read_metadata(file).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    sizes = {group.total_byte_size}.union(*((one.total_uncompressed_size, one.num_values) for one in columns))
    pages, footer, end = footer_of(file)
    for size in (size for size in sizes if size > 100_000):
        footer = footer.replace(varint(size), varint(900, len(varint(size))))
    file.write_bytes(pages + footer + end)


@pytest.mark.integration
@pytest.mark.parametrize("is_lie", [False, True], ids=["honest", "footer lies"])
def test_tables_that_would_fill_the_memory_are_refused(tmp_path: Path, is_lie: bool) -> None:
    for write, columns in (
        (one_text_in_every_row, ("sha256", "text")),
        (one_vector_of_equal_numbers, tuple(VECTORS)),
    ):
        write(tmp_path / "t.parquet")
        if is_lie:
            with_a_lie(tmp_path / "t.parquet")
        with pytest.raises(BadInput, match="would unpack to more than 100 times its size"):
            check_tables(tmp_path, ["t.parquet"])  # in little memory
            list(read_rows(tmp_path, "t.parquet", columns))


def test_a_footer_that_ends_the_process_of_its_reader_is_refused(tmp_path: Path) -> None:
    """At some footers pyarrow would abort it."""
    file = tmp_path / "t.parquet"
    write_table(file, [{"name": f"n{i}"} for i in range(300)], {"name": "text"})
    check_tables(tmp_path, ["t.parquet"])
    pages, footer, end = footer_of(file)
    for changed in (b"\xff" * len(footer), footer[:9] + b"\xff" * 8 + footer[17:], b""):
        file.write_bytes(pages + changed + end)
        with pytest.raises(BadInput, match=r"t\.parquet is not a readable Parquet table"):
            check_tables(tmp_path, ["t.parquet"])


def test_texts_numbers_and_vectors_come_back_as_they_were_written_and_others_are_refused(tmp_path: Path) -> None:
    columns = {"name": "text", "n": "integer", "vector": "vector"}
    rows = [
        {"name": ("ä" if i % 2 else None), "n": (i if i % 3 else None), "vector": [i, i + 0.5]} for i in range(2_500)
    ]
    write_table(tmp_path / "t.parquet", rows, columns)
    found = [{**row, "vector": row["vector"].tolist()} for row in read_rows(tmp_path, "t.parquet", tuple(columns))]
    assert found == rows
    pq.write_table(pa.table({"text": pa.array([["a"]], pa.list_(pa.string()))}), tmp_path / "t.parquet")
    with pytest.raises(BadInput, match="the column text has the unexpected type list"):
        list(read_rows(tmp_path, "t.parquet", ["text"]))
    with pytest.raises(BadInput, match="has no column name"):
        list(read_rows(tmp_path, "t.parquet", ["name"]))
