"""Output of `kb find`: rows as a table, JSON lines, a TREC run or Parquet, or a contact sheet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.common import output
from data.errors import UsageError
from data.words import plural
from rerank.photo_ids import path_of_id

if TYPE_CHECKING:
    from data.contracts import ImageCollection
    from data.records import RankedImage

FORMATS: Final = ("table", "jsonl", "trec", "parquet", "html")
COLUMNS: Final = {
    "query_id": "text",
    "image_id": "text",
    "path": "text",
    "rank": "integer",
    "score": "number",
    "first_stage_rank": "integer",
    "evaluation": "text",
}
"""Columns of the Parquet file, with their types."""


def check_output(form: str, file: Path | None) -> None:
    """Refuse a form that stdout cannot take.

    Raises:
        UsageError: for Parquet without a file.
    """
    if form == "parquet" and file is None:
        raise UsageError("--format parquet needs a file.", hint="Add --output FILE.")


def write_found(
    rows: Sequence[RankedImage],
    collection: ImageCollection,
    *,
    form: str,
    file: Path | None,
    title: str,
    notes: Sequence[str],
    tag: str,
) -> None:
    """Write the rows to a file, or to stdout."""
    if form == "parquet" and file is not None:
        from cli.common.parquet import ParquetTable

        found = (_with_path(row, collection) for row in rows)
        lines = (json.dumps({name: row[name] for name in COLUMNS}) for row in found)
        ParquetTable(file, COLUMNS).pack(lines, {"query": title})
        return
    text = _text(rows, collection, form=form, title=title, notes=notes, tag=tag)
    if file is None:
        output.write_rows(text)
        return
    from data.files import write_atomic

    write_atomic(file, text.encode("utf-8", "surrogateescape"))


def _text(
    rows: Sequence[RankedImage],
    collection: ImageCollection,
    *,
    form: str,
    title: str,
    notes: Sequence[str],
    tag: str,
) -> str:
    if form == "jsonl":
        return "".join(json.dumps(_with_path(row, collection), ensure_ascii=False) + "\n" for row in rows)
    if form == "trec":
        from rerank.job import trec_lines

        return "".join(f"{line}\n" for line in trec_lines(rows, tag=tag))
    if form == "html":
        from cli.common.photos.contact_sheet import SheetPhoto, contact_sheet

        photos = [
            SheetPhoto(
                path=collection.path(row.image_id), number=row.rank, name=path_of_id(row.image_id), score=row.score
            )
            for row in rows
        ]
        n = f"{plural(len(rows), 'photo')} of {len(collection.ids):,}"
        return contact_sheet(title, [n, *notes], photos)
    table = [(row.rank, row.score, str(collection.path(row.image_id))) for row in rows]
    return output.as_table(["rank", "score", "photo"], table, right=["rank", "score"]) + "\n"


def _with_path(row: RankedImage, collection: ImageCollection) -> dict[str, object]:
    """Return a row as JSON values, with the path of its photo."""
    from data.codec import to_json

    return {**to_json(row), "path": str(collection.path(row.image_id))}
