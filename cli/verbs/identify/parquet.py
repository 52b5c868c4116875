"""The rows of `kb identify` as a Parquet file, which pandas, polars and R read with the types of its columns.

A Parquet file is written as a whole. Until a run is over its rows lie beside it, a line of JSON each, in FILE.part.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from data.errors import BadInput

ROWS_AT_A_TIME = 5_000  # a few MB in memory, and small enough groups for readers that skip
Columns = Mapping[str, str]
"""Name of a column -> text, integer or number."""


class ParquetTable:
    """A Parquet file with these columns; a `cli.verbs.identify.resume.Table`."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self._columns = columns

    def unpack(self) -> Iterator[str]:
        """Yield the rows as lines of JSON.

        Raises:
            BadInput: if the file is no Parquet file, or one with other columns.
        """
        import pyarrow
        import pyarrow.parquet

        try:
            with pyarrow.parquet.ParquetFile(self.path) as file:
                if file.schema_arrow.names != list(self._columns):
                    raise BadInput(f"{self.path} has other columns than this version writes", hint="another --output")
                for batch in file.iter_batches(ROWS_AT_A_TIME):
                    for row in batch.to_pylist():
                        yield json.dumps(row, ensure_ascii=False) + "\n"
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise BadInput(f"{self.path} cannot be read as Parquet: {error}", hint="remove it to begin anew") from error

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Write rows, lines of JSON, with the parameters that made them in the file's metadata under `fieldmark`."""
        import pyarrow
        import pyarrow.parquet

        types = {"text": pyarrow.string(), "integer": pyarrow.int64(), "number": pyarrow.float64()}
        schema = pyarrow.schema([(name, types[kind]) for name, kind in self._columns.items()])
        schema = schema.with_metadata({"fieldmark": json.dumps(parameters)})
        temporary = self.path.with_name(f".{self.path.name}.new")
        lines = iter(rows)
        try:
            with pyarrow.parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
                while batch := [_clean(json.loads(line)) for line in islice(lines, ROWS_AT_A_TIME)]:
                    writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            with temporary.open("rb") as written:  # the rows are about to be deleted: they must be on the disk
                os.fsync(written.fileno())
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _clean(row: dict[str, object]) -> dict[str, object]:
    """Return the row with all texts in UTF-8; bytes of a file name that are none are spelt out in hex."""
    return {
        name: value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if isinstance(value, str) and not value.isascii()
        else value
        for name, value in row.items()
    }
