"""Rows of a stranger's tables, within a budget of bytes.

A few bytes of Parquet may stand for gigabytes, whatever the footer says, and pyarrow aborts the process at some
footers. So a process of its own with little memory reads all tables once before this one does. Texts are decoded once
and shared by their rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.errors import BadInput
from kb.bundle.manifest import safe_path

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

MAX_EXPANSION: Final = 100  # size of an unpacked table, as a multiple of its file
ALLOWED_BYTES: Final = 32_000_000  # in any case: a small table of equal texts packs well
MAX_ROW_GROUP_BYTES: Final = 500_000_000
MAX_MEMORY_BYTES: Final = 470_000_000  # that the process which reads a table first may use for the table
ROWS_AT_A_TIME: Final = 1_000
_TRIAL: Final = """
import sys, pathlib, pyarrow.parquet
try:
    import resource
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(sys.argv[1]),) * 2)
except (ImportError, OSError, ValueError):  # only Linux has both
    pass
for number, path in enumerate(sys.argv[4:]):
    print(number, flush=True)
    left = int(sys.argv[2]) + int(sys.argv[3]) * pathlib.Path(path).stat().st_size
    with pyarrow.parquet.ParquetFile(path) as table:
        texts = [field.name for field in table.schema_arrow if pyarrow.types.is_string(field.type)]
    with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as table:
        for batch in table.iter_batches(batch_size=1_000, use_threads=False):
            left -= 8 * batch.num_rows * batch.num_columns  # as much as `read_rows` counts at least
            if left < 0:
                raise MemoryError
"""


def check_tables(bundle: Path, names: Sequence[str]) -> None:
    """Read tables in a process of its own, with little memory.

    Raises:
        BadInput: if one is not Parquet, unpacks to too many bytes, or ends the process.
    """
    paths = [safe_path(bundle, name) for name in names]
    limits = map(str, (MAX_MEMORY_BYTES, ALLOWED_BYTES, MAX_EXPANSION))
    command = [sys.executable, "-P", "-c", _TRIAL, *limits, *map(str, paths)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # threads take memory
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace", env=environment)
    if done.returncode == 0:
        return
    path = paths[int((done.stdout.split() or ["0"])[-1])]
    reason = (done.stderr.strip().splitlines() or [f"its reader ended with {done.returncode}"])[-1]
    if "MemoryError" in reason or "malloc" in reason or "bad_alloc" in reason:
        raise _too_large(path)
    raise BadInput(f"{path} is not a readable Parquet table: {reason}")


def read_rows(bundle: Path, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a checked table as column -> text, number, array of numbers or None, with a batch in memory.

    Raises:
        BadInput: if it is not Parquet, lacks a column, has one of another type, or unpacks to too many bytes.
    """
    import pyarrow
    import pyarrow.parquet

    path = safe_path(bundle, name)
    left = ALLOWED_BYTES + MAX_EXPANSION * path.stat().st_size
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            groups = [table.metadata.row_group(i).total_byte_size for i in range(table.num_row_groups)]
            if max(groups, default=0) > MAX_ROW_GROUP_BYTES or sum(groups) > left:
                raise _too_large(path)
            texts = _texts_among(table.schema_arrow, columns, path)
        with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as table:
            for batch in table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=list(columns), use_threads=False):
                values = [_values_of(batch.column(column)) for column in columns]
                for i in range(batch.num_rows):
                    row = {column: value(i) for column, value in zip(columns, values, strict=True)}
                    left -= sum(_size_of(value) for value in row.values())
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


def _values_of(column: pyarrow.Array) -> Callable[[int], Any]:
    """Return row -> value; equal texts of a dictionary are one object."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        indices = column.indices.to_pylist()
        text = cache(lambda index: None if index is None else column.dictionary[index].as_py())
        return lambda i: text(indices[i])
    if pyarrow.types.is_list(column.type):
        numbers, bounds = column.values.to_numpy(zero_copy_only=False), column.offsets.to_pylist()
        return lambda i: numbers[bounds[i] : bounds[i + 1]]
    whole = column.to_pylist()
    return lambda i: whole[i]


def _size_of(value: object) -> int:
    return len(value) if isinstance(value, str) else int(getattr(value, "nbytes", 8))


def _too_large(path: Path) -> BadInput:
    return BadInput(
        f"{path} would unpack to more than {MAX_EXPANSION} times its size",
        hint="No table that kb export writes is like this: do not use this bundle.",
    )
