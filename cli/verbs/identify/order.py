"""Inputs, output file and warnings of `kb identify`."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.verbs.identify import rows
from cli.verbs.identify.parquet import ParquetTable
from cli.verbs.identify.resume import Missing, ResumableOutput
from data.errors import NothingReadable, UsageError

if TYPE_CHECKING:
    from data.records import Identification
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer


def find_photos(arguments: Sequence[str]) -> list[str]:
    """Return the photos of the arguments, each once; `-` reads one path per line from stdin.

    Raises:
        NothingReadable: if there are none.
        UsageError: for an empty argument, such as an unset shell variable; it would mean the current folder.
    """
    from data.images.find import find_images

    if not all(argument.strip() for argument in arguments):
        raise UsageError("A photo argument is empty.", hint="Use . for the current folder.")

    named: list[str] = []
    for argument in arguments:
        if argument == "-":
            named += _lines_of_stdin()
        else:
            named.append(argument)
    found = [str(path) for path in find_images(named)]
    if not found:
        raise NothingReadable(f"No photo found in {', '.join(named) or 'the paths on stdin'}.")
    return found


def _lines_of_stdin() -> list[str]:
    """Return the lines on stdin as file names, byte for byte whatever the locale, without a byte-order mark."""
    text = sys.stdin.buffer.read().removeprefix(b"\xef\xbb\xbf")
    return [os.fsdecode(line.rstrip(b"\r")) for line in text.split(b"\n") if line.strip()]


def parameters_of(store: KnowledgeBase, recognizer: Recognizer) -> dict[str, object]:
    """Return everything that determines the rows, for comparison when a run resumes."""
    parameters: dict[str, object] = {
        "kb": store.info.id,
        "generation": store.generation,
        "spaces": list(store.spaces),
        "preset": recognizer.preset,
        "top": recognizer.k,
        "calibration": recognizer.calibration_id,
        "min_confidence": recognizer.min_confidence,
        "unknown_prior": recognizer.unknown_prior,
    }
    if recognizer.species_list is not None:
        parameters["species_list"] = recognizer.species_list.id
    return parameters


def sink_for(
    form: rows.Form,
    file: Path | None,
    home: Path,
    parameters: dict[str, object],
    *,
    retry_failed: bool,
    start_over: bool,
    wanted: Collection[str] | None = None,
) -> ResumableOutput | rows.Printed:
    """Return the destination of the rows: a resumable file, or stdout.

    Raises:
        UsageError: for a pipe or a device, which a file would replace.
    """
    if file is None:
        return rows.Printed(form)
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


def uncalibrated_text(given: Sequence[str], recognizer: Recognizer, store: KnowledgeBase) -> str:
    """Return that options (by parameter name) have no effect, and why."""
    why = f"this knowledge base has no calibration for the preset {recognizer.preset}"
    if recognizer.misfit:
        why = f"the calibration of this knowledge base {recognizer.misfit}"
    elif (store.layout.calibration / "default.json").is_file():
        why += "; use --preset default"
    return f"{named(given)} {'has' if len(given) == 1 else 'have'} no effect: {why}"


def named(given: Sequence[str]) -> str:
    """Return options as a user writes them, by parameter name.

    Example:
        >>> named(["min_confidence"]), named(["min_confidence", "unknown_prior"])
        ('--min-confidence', '--min-confidence and --unknown-prior')
    """
    return " and ".join(f"--{name.replace('_', '-')}" for name in given)


def missing_in(row: Identification) -> Missing:
    """Return what is missing in a row: the reader's answer, or some of its samples; empty if complete."""
    if row.reader is None or not row.reader.failures:
        return ""
    return "samples" if row.reader.answered else "reader"


def resumed_text(n_photos: int, n_done: int, n_failed: int, missing: Mapping[Missing, int]) -> str:
    """Return how many photos an earlier run did, and what `--retry-failed` would retry."""
    said = {
        "unreadable": n_failed,
        "without the reader's answer": missing.get("reader", 0),
        "without some of the reader's samples": missing.get("samples", 0),
    }
    parts = [f"{n:,} {how}" for how, n in said.items() if n]
    retry = f"; {', '.join(parts)} (use --retry-failed to retry)" if parts else ""
    return f"Resuming: {n_done:,} of {output.plural(n_photos, 'photo')} done before{retry}"


def missing_warnings(missing: Mapping[Missing, int], n_photos: int, *, can_retry: bool) -> Iterator[str]:
    """Yield warnings about missing answers of the reader; `missing` counts rows."""
    retry = "; use --retry-failed to retry" if can_retry else ""
    of_all = f"of {output.plural(n_photos, 'photo')}"
    if n := missing.get("reader", 0):
        yield f"the reader failed for {n:,} {of_all}; their answers come from the ranking{retry}"
    if n := missing.get("samples", 0):
        yield f"some samples of the reader failed for {n:,} {of_all}; the others decided{retry}"


def form_for(form: str | None, file: Path | None) -> rows.Form:
    """Return the given format, else the one of the file's extension."""
    if file is None:
        if form == "parquet":
            raise UsageError("--format parquet needs --output FILE.")
        return rows.form_of(form or "table")
    suffixes = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
    form = form or suffixes.get(file.suffix.lower())
    if form is None or form == "table":
        raise UsageError(
            f"Unknown format of --output {file}.",
            hint="Add --format csv, jsonl or parquet, or use one of these extensions.",
        )
    return rows.form_of(form)
