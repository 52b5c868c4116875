"""Rows as a Parquet file with typed columns.

A Parquet file is written as a whole: until the end of a run, the rows are lines of JSON in FILE.part beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from data.errors import BadInput
from data.files import replacing

ROWS_AT_A_TIME = 5_000  # a few MB in memory, and row groups small enough to skip
Columns = Mapping[str, str]
"""Column -> text, integer or number."""


class ParquetTable:
    """A Parquet file with these columns; for `ResumableOutput`."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self._columns = columns

    def unpack(self) -> Iterator[str]:
        """Yield the rows as lines of JSON.

        Raises:
            BadInput: if the file is not Parquet, or has other columns.
        """
        import pyarrow
        import pyarrow.parquet

        try:
            with pyarrow.parquet.ParquetFile(self.path) as file:
                if file.schema_arrow.names != list(self._columns):
                    raise BadInput(f"{self.path} has the columns of another version.", hint="Choose another --output.")
                for batch in file.iter_batches(ROWS_AT_A_TIME):
                    for row in batch.to_pylist():
                        yield json.dumps(row, ensure_ascii=False) + "\n"
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise BadInput(f"{self.path} is not a readable Parquet file: {error}", hint="Delete it.") from error

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Write rows (lines of JSON); the parameters go into the file's metadata under `fieldmark`."""
        import pyarrow
        import pyarrow.parquet

        types = {"text": pyarrow.string(), "integer": pyarrow.int64(), "number": pyarrow.float64()}
        schema = pyarrow.schema([(name, types[kind]) for name, kind in self._columns.items()])
        schema = schema.with_metadata({"fieldmark": json.dumps(parameters)})
        lines = iter(rows)
        with replacing(self.path) as file, pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while batch := [_clean(json.loads(line)) for line in islice(lines, ROWS_AT_A_TIME)]:
                writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))


def _clean(row: dict[str, object]) -> dict[str, object]:
    """Return the row with all texts in UTF-8; other bytes of file names become hex escapes."""
    return {name: as_utf8(value) if isinstance(value, str) else value for name, value in row.items()}


def as_utf8(text: str) -> str:
    r"""Return a text with the bytes of file names in other encodings as hex escapes.

    Example:
        >>> as_utf8("\udce9.png")
        '\\xe9.png'
    """
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
