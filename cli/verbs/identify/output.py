"""Destination of the rows of `kb identify`: stdout, or a file that a later run resumes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from cli.common import output
from cli.common.parquet import ParquetTable
from cli.common.resumable import ResumableOutput
from cli.verbs.identify import rows
from data.errors import UsageError

SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}


class Printed(nullcontext[None]):
    """Rows printed to stdout one by one; same methods as `ResumableOutput`."""

    done: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    missing: Mapping[str, str] = {}

    def add(self, image: str, rows: str, *, ok: bool, missing: str = "") -> None:
        """Print the rows of one photo."""
        output.write_rows(rows)


def form_for(form: str | None, file: Path | None) -> rows.Form:
    """Return the given format, else the one of the file's extension."""
    if file is None:
        if form == "parquet":
            raise UsageError("--format parquet needs --output FILE.")
        return rows.form_of(form or "table")
    form = form or SUFFIXES.get(file.suffix.lower())
    if form is None or form == "table":
        raise UsageError(
            f"Unknown format of --output {file}.",
            hint="Add --format csv, jsonl or parquet, or use one of these extensions.",
        )
    return rows.form_of(form)


def sink_for(
    form: rows.Form,
    file: Path | None,
    home: Path,
    parameters: dict[str, object],
    *,
    retry_failed: bool,
    start_over: bool,
    wanted: Collection[str] | None = None,
) -> ResumableOutput | Printed:
    """Return the destination of the rows: a resumable file, or stdout.

    Raises:
        UsageError: for a pipe or a device, which a file would replace.
    """
    if file is None:
        output.write_rows(rows.header(form))
        return Printed()
    if file.exists() and not file.is_file():
        raise UsageError(f"--output {file} is not a regular file.", hint="Leave out --output to print to stdout.")
    file = Path(os.path.realpath(file))  # links stay links, and two names of one file share a lock
    is_parquet = form == "parquet"
    # Rows of another version have another header.
    columns = {"columns": len(rows.CSV_COLUMNS)} if form != "jsonl" else {}
    return ResumableOutput(
        file.with_name(f"{file.name}.part") if is_parquet else file,
        folder=home / "identify",
        parameters={**parameters, "format": form, **columns},
        header=rows.header(form),
        image_of=partial(rows.image_of, form),
        retry_failed=retry_failed,
        wanted=wanted,
        start_over=start_over,
        table=ParquetTable(file, rows.COLUMNS) if is_parquet else None,
    )


def resumed_text(n_photos: int, n_done: int, n_failed: int, missing: Mapping[str, int]) -> str:
    """Return how many photos an earlier run did, and what `--retry-failed` would retry."""
    counts = {
        "unreadable": n_failed,
        "without the reader's answer": missing.get("reader", 0),
        "without some of the reader's samples": missing.get("samples", 0),
    }
    parts = [f"{n:,} {how}" for how, n in counts.items() if n]
    retry = f"; {', '.join(parts)} (use --retry-failed to retry)" if parts else ""
    return f"Resuming: {n_done:,} of {output.plural(n_photos, 'photo')} done before{retry}"
