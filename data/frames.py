"""Tables with typed columns: as pandas frames, CSV and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from data.batches import grouped

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, str]
"""Column -> text, integer, number, boolean, date, texts (list of text) or vector (float32)."""
DTYPES: Final = {"text": "str", "integer": "Int64", "number": "float64", "boolean": "bool", "date": "datetime64[s]"}
"""Type of a column -> its dtype in pandas; lists are objects."""
ROWS_AT_A_TIME: Final = 2_000
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def frame_of(rows: Iterable[object], columns: Columns) -> pd.DataFrame:
    """Return records or mappings as a frame with exactly these columns and their `DTYPES`.

    Keys that a mapping lacks and dates that are none are missing values; names in a text column are joined with
    semicolons.
    """
    import pandas as pd  # half a second

    cells = [row if isinstance(row, Mapping) else {name: getattr(row, name) for name in columns} for row in rows]
    frame = pd.DataFrame(cells, columns=list(columns), dtype=object)
    for name, kind in columns.items():
        if kind == "text":
            frame[name] = frame[name].map(lambda cell: "; ".join(cell) if isinstance(cell, list | tuple) else cell)
        elif kind == "date":  # of a stranger's bundle too
            frame[name] = pd.to_datetime(frame[name], errors="coerce", format="ISO8601")
    return frame.astype({name: DTYPES[kind] for name, kind in columns.items() if kind in DTYPES})


def as_csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, safe for spreadsheets."""
    texts = {name: frame[name].map(escape_formula) for name in frame.select_dtypes("str")}
    text: str = frame.assign(**texts).to_csv(index=False, lineterminator="\n")
    return text


def escape_formula(cell: object) -> object:
    """Return a cell with an apostrophe before a text that a spreadsheet would run as a formula.

    For text of other people, such as author names in a wiki; JSON keeps it unchanged. A text that looks escaped gets
    one apostrophe more, so that the original can be told.
    """
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip("'").startswith(_FORMULA) else cell


def write_parquet(file: Path | IO[bytes], rows: Iterable[object], columns: Columns, **metadata: object) -> None:
    """Write rows as Parquet, in batches; pandas reads integers as Int64 even where some are missing.

    Args:
        file: a file to write or its path.
        rows: the rows, as for `frame_of`.
        columns: the columns.
        metadata: JSON values for the metadata of the file.
    """
    import pyarrow
    import pyarrow.parquet

    types: dict[str, Any] = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "vector": pyarrow.list_(pyarrow.float32()),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])

    def table(batch: Iterable[object]) -> pyarrow.Table:
        return pyarrow.Table.from_pandas(frame_of(batch, columns), schema=schema, preserve_index=False)

    noted = table([]).schema.metadata | {key: json.dumps(value) for key, value in metadata.items()}
    with pyarrow.parquet.ParquetWriter(file, schema.with_metadata(noted), compression="zstd") as writer:
        for batch in grouped(rows, ROWS_AT_A_TIME):
            writer.write_table(table(batch))
