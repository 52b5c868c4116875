"""Rows as CSV, and as Parquet files with typed columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from data.errors import BadInput
from data.files import replacing

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return the rows under their columns as CSV, each line ended."""
    return "".join(map(csv_line, [columns, *rows]))


def csv_line(cells: Iterable[object]) -> str:
    """Return one row as CSV, with its line end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def escape_formulas(row: Iterable[object]) -> list[object]:
    """Return the cells with an apostrophe before each text that a spreadsheet would run as a formula.

    For text of other people, such as author names in a wiki; JSON keeps it unchanged. A text that looks escaped gets
    one apostrophe more, so that the original can be told.
    """
    return [f"'{cell}" if isinstance(cell, str) and cell.lstrip("'").startswith(_FORMULA) else cell for cell in row]


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
                    yield from map(_line, batch.to_pylist())
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
            while batch := list(map(self._row, islice(lines, ROWS_AT_A_TIME))):
                writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))

    def as_unpacked(self, line: str) -> str:
        """Return a row as `unpack` yields it after `pack`."""
        return _line(self._row(line))

    def _row(self, line: str) -> dict[str, object]:
        row = json.loads(line)
        return {name: _typed(row.get(name), kind) for name, kind in self._columns.items()}


def _line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _typed(value: object, kind: str) -> object:
    r"""Return a number as a float, and a text in UTF-8; other bytes of file names become hex escapes."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return float(value) if kind == "number" and isinstance(value, int) else value
