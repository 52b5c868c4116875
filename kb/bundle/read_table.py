"""Rows of a stranger's table, within a budget of bytes.

A few bytes of Parquet may stand for gigabytes: one long text in a dictionary that each row refers to, or a list of
equal numbers. So the sizes that its pages state are checked first, and texts are decoded once and shared by their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.errors import BadInput
from kb.bundle.manifest import safe_path
from kb.bundle.parquet_sizes import bytes_of_groups

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

MAX_EXPANSION: Final = 100  # size of an unpacked table, as a multiple of its file
ALLOWED_BYTES: Final = 32_000_000  # in any case: a small table of equal texts packs well
MAX_ROW_GROUP_BYTES: Final = 500_000_000
ROWS_AT_A_TIME: Final = 1_000


def read_rows(bundle: Path, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as column -> text, number, array of numbers or None, with one batch in memory.

    Raises:
        BadInput: if it is not Parquet, lacks a column, has one of another type, or unpacks to too many bytes.
    """
    import pyarrow
    import pyarrow.parquet

    path = safe_path(bundle, name)
    left = _checked_budget(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            texts = _texts_among(table.schema_arrow, columns, path)
        with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as table:
            for batch in table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=list(columns), use_threads=False):
                values = [_values_of(batch.column(column)) for column in columns]
                for i in range(batch.num_rows):
                    row = {column: value(i) for column, value in zip(columns, values, strict=True)}
                    left -= sum(len(value) if isinstance(value, str) else 8 for value in row.values())
                    if left < 0:
                        raise _too_large(path)
                    yield row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not a readable Parquet table: {error}") from error


def _texts_among(schema: pyarrow.Schema, columns: Sequence[str], path: Path) -> list[str]:
    """Return the columns of texts; all must be texts, whole numbers or lists of float32."""
    from pyarrow import types

    for column in columns:
        if schema.names.count(column) != 1:
            raise BadInput(f"{path} has no column {column}")
        found = schema.field(column).type
        is_vector = types.is_list(found) and types.is_float32(found.value_type)
        if not (is_vector or types.is_string(found) or types.is_int64(found)):
            raise BadInput(f"{path}: the column {column} has the unexpected type {found}")
    return [column for column in columns if types.is_string(schema.field(column).type)]


def _checked_budget(path: Path) -> int:
    """Return how many bytes the rows of a table may have, if what its pages state is within them."""
    budget = ALLOWED_BYTES + MAX_EXPANSION * path.stat().st_size
    try:
        sizes = bytes_of_groups(path)
    except (ValueError, OSError, OverflowError) as error:
        raise BadInput(f"{path} is not a readable Parquet table: {error}") from error
    if max(sizes, default=0) > MAX_ROW_GROUP_BYTES or sum(sizes) > budget:
        raise _too_large(path)
    return budget


def _values_of(column: pyarrow.Array) -> Callable[[int], Any]:
    """Return row -> value; equal texts of a dictionary are one object."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        indices = column.indices.to_pylist()
        texts: dict[int | None, str | None] = {None: None}

        def text(i: int) -> str | None:
            index = indices[i]
            if index not in texts:
                texts[index] = column.dictionary[index].as_py()
            return texts[index]

        return text
    if pyarrow.types.is_list(column.type):
        numbers, bounds = column.values.to_numpy(zero_copy_only=False), column.offsets.to_pylist()
        return lambda i: numbers[bounds[i] : bounds[i + 1]]
    whole = column.to_pylist()
    return lambda i: whole[i]


def _too_large(path: Path) -> BadInput:
    return BadInput(
        f"{path} would unpack to more than {MAX_EXPANSION} times its size",
        hint="No table that kb export writes is like this: do not use this bundle.",
    )
