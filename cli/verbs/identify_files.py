"""Files of `kb identify`: photos in, alone or in encounters; rows out, to stdout or to a file that a run resumes."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.resumable import Encounter, ParquetTable, ResumableOutput
from cli.verbs import identify_rows as rows
from cli.verbs.identify_formats import FORMATS, Documents, Form, document_of
from data.errors import BadInput, NothingReadable, UsageError, did_you_mean
from data.words import plural
from recognize.columns import Rows
from recognize.settings import PLACE_ODDS, UNKNOWN_PRIOR

if TYPE_CHECKING:
    from data.records import Identification
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer
    from recognize.exports.document import Facts

LISTS = (".csv", ".tsv")


def find_photos(arguments: Sequence[str], *, column: str | None = None, quiet: bool = False) -> dict[str, str]:
    """Return the photos of the arguments, each once, with the value of a column of their list (or empty).

    `-` reads one path per line from stdin; a CSV is a list of photos. Counts the other files of folders on stderr.

    Raises:
        NothingReadable: if there are none.
        UsageError: for an empty argument, such as an unset shell variable; it would mean the current folder. For a
            column without a list.
        BadInput: for a list without the column.
    """
    from data.images.find import Skipped, find_images

    if not all(argument.strip() for argument in arguments):
        raise UsageError("A photo argument is empty.", hint="Use . for the current folder.")
    named, skipped = [], Skipped()
    found: dict[str, str] = {}
    lists = [argument for argument in arguments if Path(argument).suffix.lower() in LISTS]
    if column is not None and not lists:
        raise UsageError("--group-by needs a CSV of photos.", hint="Its column path has the files of the photos.")
    for argument in arguments:
        if argument in lists:
            named.append(argument)
            photos = read_photo_list(Path(argument), column)
        else:
            paths = _lines_of_stdin() if argument == "-" else [argument]
            named += paths
            photos = dict.fromkeys(map(str, find_images(paths, skipped=skipped)), "")
        found = {**found, **{photo: value or found.get(photo, "") for photo, value in photos.items()}}
    if skipped.files or skipped.folders or skipped.unlisted:
        from cli.common.photo_folders import report_skipped

        skipped.files.difference_update(map(Path, found))
        report_skipped(skipped, quiet=quiet)
    if not found:
        raise NothingReadable(f"No photo found in {output.first_few(named) or 'the paths on stdin'}.")
    return found


def _lines_of_stdin() -> list[str]:
    """Return the lines on stdin as file names, byte for byte whatever the locale, without a byte-order mark."""
    text = sys.stdin.buffer.read().removeprefix(b"\xef\xbb\xbf")
    return [os.fsdecode(line.rstrip(b"\r")) for line in text.split(b"\n") if line.strip()]


class Printed:
    """Rows printed to stdout one by one, or the document of all rows at the end; same methods as `ResumableOutput`."""

    done: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    missing: Mapping[str, str] = {}
    settled: Mapping[str, float] = {}

    def __init__(self, form: Form, facts: Facts) -> None:
        self._form: Form = form
        self._facts = facts
        self._rows: list[str] = []

    def __enter__(self) -> Printed:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if FORMATS[self._form].document and kind is None:
            for text in document_of(self._form, self._rows, self._facts).files.values():
                output.write_rows(text)

    def settle(self, name: str, value: float) -> None:
        """Forget a number: a printed run is never resumed."""

    def preview(self, rows: str) -> None:
        """Print nothing: printed rows cannot be replaced."""

    def add(self, image: str, rows: str, *, ok: bool, missing: str = "") -> None:
        """Print the rows of one photo, or keep them for the document."""
        if FORMATS[self._form].document:
            self._rows += rows.splitlines()
        else:
            output.write_rows(rows)


def settle_unknown_prior(
    recognizer: Recognizer,
    sink: ResumableOutput | Printed,
    photos: Sequence[Sequence[str]],
    unit: str,
    *,
    show: Callable[[list[Identification]], None],
    quiet: bool,
) -> None:
    """Set the prior of unknown species, estimated from the photos of all encounters, those done before included.

    `show` gets the rows of photos meanwhile, each identified alone.

    A resumed run with no more photos than the one that estimated it uses the same.
    """
    before, n_before = sink.settled.get("unknown_prior"), sink.settled.get("photos", 0)
    if before is not None and len(photos) <= n_before:
        prior = before
        origin = f", as in an earlier run of {n_before:,.0f} {unit}" if len(photos) < n_before else ""
    else:
        prior = recognizer.estimate_unknown_prior(photos, on_rows=show)
        is_changed = bool(sink.done) and prior != (UNKNOWN_PRIOR if before is None else before)
        origin = "; rows of earlier runs keep their own estimate" if is_changed else ""
        if len(photos) > 1:  # a single photo has the default, which is no estimate
            sink.settle("unknown_prior", prior)
            sink.settle("photos", len(photos))
    recognizer.unknown_prior = prior
    if len(photos) > 1 and not quiet:
        from recognize.answers import percent

        output.note(f"{percent(prior)} of the {unit} are estimated to show species outside the knowledge base{origin}")


def identify_parameters(store: KnowledgeBase, recognizer: Recognizer) -> dict[str, object]:
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
        "detector": recognizer.detector,
    }
    if recognizer.observer is not None:
        parameters["observer"] = recognizer.observer
    if recognizer.species_list is not None:
        parameters["species_list"] = recognizer.species_list.id
    if recognizer.place is not None:
        parameters["place"] = f"{recognizer.place.name} {recognizer.place.points[0]}"
    if recognizer.date is not None:
        parameters["date"] = recognizer.date
    if recognizer.occurrence is not None:
        parameters["place_model"] = recognizer.occurrence.path.name
    if recognizer.place_odds != PLACE_ODDS:
        parameters["place_odds"] = recognizer.place_odds
    return parameters


def sink_for(
    form: Form,
    file: Path | None,
    home: Path,
    parameters: dict[str, object],
    *,
    facts: Facts,
    per: Rows = "photos",
    columns: rows.Columns = "all",
    excel: bool = False,
    retry_failed: bool,
    start_over: bool,
    wanted: Iterable[Encounter] = (),
) -> ResumableOutput | Printed:
    """Return the destination of the rows: a resumable file, or stdout.

    Raises:
        UsageError: for a pipe or a device, which a file would replace.
    """
    kind, header = FORMATS[form], rows.header(form, per, columns, excel=excel)
    if file is None:
        output.write_rows(header)
        return Printed(form, facts)
    if file.exists() and not (file.is_dir() if kind.needs == "folder" else file.is_file()):
        wanted_kind = "folder" if kind.needs == "folder" else "regular file"
        raise UsageError(f"--output {file} is not a {wanted_kind}.", hint="Leave out --output to print to stdout.")
    file = Path(os.path.realpath(file))  # links stay links, and two names of one file share a lock
    # Rows of another version have other columns or keys.
    shape: dict[str, object] = {"keys": rows.n_keys()}
    if kind.has_columns:
        shape = {"rows": per, "columns": len(rows.columns_of(per, columns)), **({"excel": True} if excel else {})}
    packed = Documents(form, file, facts) if kind.document else None
    return ResumableOutput(
        file,
        folder=home / "identify",
        parameters={**parameters, "format": form, **shape},
        header=header,
        retry_failed=retry_failed,
        wanted=wanted,
        start_over=start_over,
        packed=ParquetTable(file, rows.columns_of(per, columns)) if form == "parquet" else packed,
    )


def resumed_text(all_of_them: str, n_done: int, n_failed: int, missing: Mapping[str, int]) -> str:
    """Return the number of photos done by an earlier run, and of the failed ones, which `retry_failed` retries.

    `all_of_them` is the number with its noun: `5 photos`.
    """
    counts = {
        "unreadable": n_failed,
        "with an unreadable photo": missing.get("photos", 0),
        "without the reader's answer": missing.get("reader", 0),
        "without some of the reader's samples": missing.get("samples", 0),
    }
    parts = [f"{n:,} {how}" for how, n in counts.items() if n]
    retry = f"; {', '.join(parts)} (use --set retry_failed=true to retry)" if parts else ""
    return f"Resuming: {n_done:,} of {all_of_them} done before{retry}"


def warn_of_missing(
    n_failed: int, missing: Mapping[str, int], photos: str, unreadable: Sequence[str], *, can_retry: bool
) -> None:
    """Warn of unreadable photos or encounters, and of missing answers of the reader.

    `missing` is part of a row -> number of rows without it, `photos` the number of all with its noun, `unreadable` are
    photos of encounters that the others answered, and `can_retry` is whether there is a file to resume.
    """
    retry = "; use --set retry_failed=true to retry" if can_retry else ""
    if n_failed:
        output.warn(f"{n_failed:,} of {photos} skipped: unreadable")
    if n := missing.get("photos", 0):
        names = f": {output.first_few(unreadable)}" if unreadable else ""
        output.warn(f"{n:,} of {photos} answered without unreadable photos{names}")
    if missing.get("reader") or missing.get("samples"):
        from cli.common.readers import reader_failures

        for line in reader_failures(missing, photos, instead="their answers come from the ranking"):
            output.warn(f"{line}{retry}")


PATH_COLUMN = "path"


def read_photo_list(file: Path, column: str | None) -> dict[str, str]:
    """Return photo -> value of a column (empty without one) from a CSV with the column `path`.

    Paths are relative to the folder of the file, found as `ListedFiles` does. Commas, semicolons or tabs separate the
    cells.

    Raises:
        BadInput: if the file is unreadable, lacks a column, or puts a photo into two groups.
    """
    from data.images.find import ListedFiles

    try:
        text = file.read_text(encoding="utf-8-sig")
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
        heading = list(table.fieldnames or [])
        for name in (PATH_COLUMN, *([column] if column else [])):
            if name not in heading:
                hint = did_you_mean(name, heading) or f"Columns: {', '.join(heading) or 'none'}."
                raise BadInput(f'{file} has no column "{name}".', hint=hint)
        found: dict[str, str] = {}
        listed = ListedFiles(file.parent)
        for row in table:
            path, group = row[PATH_COLUMN], row[column].strip() if column else ""
            if not path.strip():
                raise BadInput(f"{file}: line {table.line_num}: no path.")
            if found.setdefault(str(listed.path_of(path)), group) != group:
                raise BadInput(f"{file}: line {table.line_num}: {path} is in two groups of {column}.")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or "expected a CSV in UTF-8"
        raise BadInput(f"{file} cannot be read: {why}.") from error
    return found


def find_encounters(
    values: Mapping[str, str], *, burst_s: float | None, by: str | None, quiet: bool
) -> list[Encounter]:
    """Return the encounters of the photos in the order of their first photos, and note their number on stderr.

    Photos are grouped in bursts with at most `burst_s` seconds between two, else by their values of the column `by`, in
    which a photo with a blank value is alone, else each is alone.
    """
    if burst_s is None and by is None:
        return [Encounter(photos=(photo,)) for photo in values]
    found, alone, without = _by_burst(values, burst_s) if burst_s is not None else _by_column(values, str(by))
    if not quiet:
        text = f"; {plural(alone, 'photo')} without {without}, each on its own" if alone else ""
        output.note(f"{plural(len(values), 'photo')} in {plural(len(found), 'encounter')}{text}")
    return found


def _by_column(values: Mapping[str, str], column: str) -> tuple[list[Encounter], int, str]:
    """Return the encounters, the number of photos without a value, and the name of the value."""
    groups: dict[tuple[str, str], list[str]] = {}
    for photo, value in values.items():
        groups.setdefault((value, "" if value else photo), []).append(photo)
    found = [Encounter(photos=tuple(photos), name=value or None) for (value, _), photos in groups.items()]
    return found, sum(not value for value in values.values()), column


def _by_burst(photos: Iterable[str], seconds: float) -> tuple[list[Encounter], int, str]:
    """Return the same for bursts and times."""
    from data.images.exif import read_moment
    from recognize.encounters import bursts

    moments = {photo: read_moment(photo) for photo in photos}
    found = [Encounter(photos=burst) for burst in bursts(moments, seconds=seconds, moment=moments.__getitem__)]
    return found, sum(moment is None for moment in moments.values()), "a time of exposure (EXIF)"
