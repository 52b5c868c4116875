"""Files of `kb identify`: photos in, alone or in encounters; rows out, to stdout or to a file that a run resumes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.resumable import Encounter, ParquetTable, ResumableOutput
from cli.verbs import identify_rows as rows
from cli.verbs.identify_formats import FORMATS, Documents, Form, document_of
from cli.verbs.identify_lists import SUFFIXES as LISTS
from cli.verbs.identify_lists import Listed, read_photo_list
from data.errors import NothingReadable, UsageError
from data.files import sha256_hex
from data.words import plural
from recognize.columns import Rows
from recognize.settings import PLACE_ODDS, UNKNOWN_PRIOR

if TYPE_CHECKING:
    from data.records import Detection, Identification
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer
    from recognize.exports.document import Facts


def find_photos(arguments: Sequence[str], *, column: str | None = None, quiet: bool = False) -> Listed:
    """Return the photos of the arguments, each once, with the value of a column of their list (or empty).

    `-` reads one path per line from stdin; a table or JSON is a list of photos. Counts the other files of folders on
    stderr.

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
    detections: dict[str, tuple[Detection, ...]] = {}
    lists = [each for each in arguments if Path(each).suffix.lower() in LISTS and not Path(each).is_dir()]
    if column is not None and not lists:
        raise UsageError("--group-by needs a CSV of photos.", hint="Its column path has the files of the photos.")
    for argument in arguments:
        if argument in lists:
            named.append(argument)
            listed = read_photo_list(Path(argument), column)
            photos = listed.groups
            detections |= listed.detections
            for text in () if quiet else listed.notes:
                output.note(text)
        else:
            paths = _lines_of_stdin() if argument == "-" else [argument]
            named += paths
            photos = dict.fromkeys(map(str, find_images(paths, skipped=skipped)), "")
        found |= {photo: value or found.get(photo, "") for photo, value in photos.items()}
    if skipped.files or skipped.folders or skipped.unlisted:
        from cli.common.photo_folders import report_skipped

        skipped.files.difference_update(map(Path, found))
        report_skipped(skipped, quiet=quiet)
    if not found:
        raise NothingReadable(f"No photo found in {output.first_few(named) or 'the paths on stdin'}.")
    return Listed(groups=found, detections=detections)


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

    def __init__(self, form: Form, facts: Facts | None) -> None:
        self._form: Form = form
        self._facts = facts
        self._rows: list[str] = []

    def __enter__(self) -> Printed:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._facts is not None and kind is None:
            for text in document_of(self._form, self._rows, self._facts).files.values():
                output.write_rows(text)

    def settle(self, name: str, value: float) -> None:
        """Forget a number: a printed run is never resumed."""

    def preview(self, rows: str) -> None:
        """Print nothing: printed rows cannot be replaced."""

    def add(self, image: str, rows: str, *, ok: bool, missing: str = "") -> None:
        """Print the rows of one photo, or keep them for the document."""
        if self._facts is not None:
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


def identify_parameters(
    store: KnowledgeBase, recognizer: Recognizer, detections: Mapping[str, Sequence[Detection]] = MappingProxyType({})
) -> dict[str, object]:
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
    if detections:
        parameters["detections"] = sha256_hex(repr(sorted(detections.items())))
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
    facts: Facts | None = None,
    per: Rows = "photos",
    columns: rows.Columns = "all",
    excel: bool = False,
    retry_failed: bool,
    start_over: bool,
    wanted: Iterable[Encounter] = (),
    said_of: Callable[[str], str] = lambda _: "",
) -> ResumableOutput | Printed:
    """Return the destination of the rows: a resumable file, or stdout; `facts` are for documents.

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
    packed = None if facts is None else Documents(form, file, facts)
    return ResumableOutput(
        file,
        folder=home / "identify",
        parameters={**parameters, "format": form, **shape},
        header=header,
        retry_failed=retry_failed,
        wanted=wanted,
        start_over=start_over,
        packed=ParquetTable(file, rows.columns_of(per, columns)) if form == "parquet" else packed,
        said_of=said_of,
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
    n_failed: int, missing: Mapping[str, int], photos: str, unreadable: Sequence[str], *, how: str
) -> None:
    """Warn of unreadable photos or encounters, and of missing answers of the reader.

    `missing` is part of a row -> number of rows without it, `photos` the number of all with its noun, `unreadable` are
    photos of encounters that the others answered, and `how` is how to retry, and why an answer is missing.
    """
    if n_failed:
        output.warn(f"{n_failed:,} of {photos} skipped: unreadable")
    if n := missing.get("photos", 0):
        names = f": {output.first_few(unreadable)}" if unreadable else ""
        output.warn(f"{n:,} of {photos} answered without unreadable photos{names}")
    if missing.get("reader") or missing.get("samples"):
        from cli.common.readers import reader_failures

        for line in reader_failures(missing, photos, instead="their answers come from the ranking"):
            output.warn(f"{line}{how}")


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
