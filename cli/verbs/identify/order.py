"""What `kb identify` is asked for, and where its rows go."""

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
from cli.verbs.identify.resume import Lack, ResumableOutput
from data.errors import NothingReadable, UsageError

if TYPE_CHECKING:
    from data.records import Identification
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer


def find_photos(arguments: Sequence[str]) -> list[str]:
    """Return the photos that the arguments mean, each once; `-` stands for the paths on stdin, one a line.

    Raises:
        NothingReadable: if there are none.
        UsageError: if an argument is empty, as `"$PHOTO"` is where no such variable is set: it would be this folder.
    """
    from data.images.decode import find_images

    if not all(argument.strip() for argument in arguments):
        raise UsageError("an empty argument names no photo", hint="for this folder, say .")

    named: list[str] = []
    for argument in arguments:
        if argument == "-":
            named += _lines_of_stdin()
        else:
            named.append(argument)
    found = [str(path) for path in find_images(named)]
    if not found:
        raise NothingReadable(f"no photo in {', '.join(named) or 'what stdin named'}")
    return found


def _lines_of_stdin() -> list[str]:
    """Return the lines on stdin as names of files: their bytes as they are, whatever the locale; no mark of order."""
    text = sys.stdin.buffer.read().removeprefix(b"\xef\xbb\xbf")
    return [os.fsdecode(line.rstrip(b"\r")) for line in text.split(b"\n") if line.strip()]


def parameters_of(store: KnowledgeBase, recognizer: Recognizer) -> dict[str, object]:
    """Return all that makes the rows what they are, for a later run to compare."""
    parameters: dict[str, object] = {
        "kb": store.info.id,
        "generation": store.ledger.fact("generation"),
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
    """Return where the rows go: into a file that can be gone on with, or to stdout as they come.

    Raises:
        UsageError: if that is no file, but a pipe or a device: a file would take its place.
    """
    if file is None:
        return rows.Printed(form)
    if file.exists() and not file.is_file():
        raise UsageError(f"--output {file} is not a file", hint="without --output, the rows go to stdout")
    file = Path(os.path.realpath(file))  # a link stays one, and two names of a file have one lock
    is_parquet = form == "parquet"
    # Rows of an earlier version would stand under a header that is not theirs.
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
    """Return that options (by the names of their parameters) change nothing, why, and where they would."""
    why = f"this knowledge base has no calibration for the preset {recognizer.preset}"
    if recognizer.misfit:
        why = f"the calibration of this knowledge base {recognizer.misfit}"
    elif (store.layout.calibration / "default.json").is_file():
        why += ", only for default"
    return f"{named(given)} nothing, since no answer has a confidence: {why}"


def named(given: Sequence[str]) -> str:
    """Return options as they are written, by the names of their parameters, and that they change something.

    Example:
        >>> named(["min_confidence"]), named(["min_confidence", "unknown_prior"])
        ('--min-confidence changes', '--min-confidence and --unknown-prior change')
    """
    options = " and ".join(f"--{name.replace('_', '-')}" for name in given)
    return f"{options} change{'s' if len(given) == 1 else ''}"


def lack_of(row: Identification) -> Lack:
    """Return what a row lacks: the reader's answer, or that of passes that got no reply; nothing else is a lack."""
    if row.reader is None or not row.reader.failures:
        return ""
    return "samples" if row.reader.answered else "reader"


def again_text(n_failed: int, lacks: Mapping[Lack, int]) -> str:
    """Return what `--retry-failed` would do again of what was done before, as a clause; nothing where all is well."""
    said = {
        "in vain": n_failed,
        "without the reader's answer": lacks.get("reader", 0),
        "without some of the reader's passes": lacks.get("samples", 0),
    }
    parts = [f"{n:,} of them {how}" for how, n in said.items() if n]
    return f", {', '.join(parts)} (--retry-failed tries them again)" if parts else ""


def lack_warnings(lacks: Mapping[Lack, int], n_photos: int, *, can_retry: bool) -> Iterator[str]:
    """Yield what rows lack, and what may help; `lacks` counts them."""
    again = "; --retry-failed asks again" if can_retry else ""
    of_all = f"of {output.plural(n_photos, 'photo')}"
    if n := lacks.get("reader", 0):
        yield f"the reader failed for {n:,} {of_all}: the answer is that of the ranking{again}"
    if n := lacks.get("samples", 0):
        yield f"some passes of the reader failed for {n:,} {of_all}: the others decided{again}"


def form_for(form: str | None, file: Path | None) -> rows.Form:
    """Return the format that was asked for, else the one that the file's name says."""
    if file is None:
        if form == "parquet":
            raise UsageError("--format parquet needs --output FILE", hint="a Parquet file is written as a whole")
        return rows.form_of(form or "table")
    suffixes = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
    form = form or suffixes.get(file.suffix.lower())
    if form is None or form == "table":
        raise UsageError(
            f"--output {file} needs --format csv, jsonl or parquet", hint="or a name that ends in one of these"
        )
    return rows.form_of(form)
