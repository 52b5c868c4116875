"""Rows of many photos in one file, written by runs that may be interrupted and resumed.

The file holds the rows in UTF-8; file names in other encodings keep their bytes. A journal under FIELDMARK_HOME has the
parameters in its first line, then one line per finished photo with the place of its rows. Other rows come from an
interrupted run; they are dropped and made again, as are changed rows and rows of photos that changed. Memory stays
constant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, TextIO
from zlib import crc32

from data.errors import UsageError
from data.files import file_state, replacing, sha256_hex, writer_lock, writing
from data.frames import Columns, write_parquet

FOREIGN = "surrogateescape"
"""Error handler that keeps file names of other encodings byte for byte."""

_OF_VERSION = frozenset(("columns", "keys"))  # parameters that change with the version of Fieldmark alone
_WITHOUT_VALUES = {
    "kb": "another knowledge base",
    "generation": "changed contents of the knowledge base",
    "spaces": "other encoders",
    "calibration": "another calibration",
    "species_list": "another species list",
    "reader_prompt": "another prompt of the reader",
    "detections": "other boxes of MegaDetector",
    "detector": "another detector of birds, or none (--fast)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """Photos with one answer; their rows are under the first one."""

    photos: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Journal entry of a photo or an encounter."""

    image: str
    first: int
    """Number of rows before its own."""
    rows: int
    ok: bool
    missing: str
    photos: tuple[str, ...]
    group: str | None
    states: tuple[tuple[int, int] | None, ...]
    """Size and modification time of each photo, which change when another photo takes the file's name; None without a
    file."""
    checksum: int
    """Of name and rows, to find changed bytes."""


class Packed(Protocol):
    """Files made of all rows at the end of a run: a Parquet file, or a document of another program."""

    files: Sequence[Path]

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Write the files from rows (lines of JSON) and what determined them."""


class ParquetTable:
    """A Parquet file with these columns; for `ResumableOutput`."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.files: Sequence[Path] = (path,)
        self._columns = columns

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Write the file; the parameters go into its metadata under `fieldmark`."""
        with replacing(self.files[0]) as file:
            write_parquet(file, map(self._row, rows), self._columns, fieldmark=parameters)

    def _row(self, line: str) -> dict[str, object]:
        row = json.loads(line)
        return {name: _typed(row.get(name), kind) for name, kind in self._columns.items()}


def _typed(value: object, kind: str) -> object:
    r"""Return a number as a float, and a text in UTF-8; other bytes of file names become hex escapes."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return float(value) if kind == "number" and isinstance(value, int) else value


MOST_MOVED: Final = 64  # rows that are compared where those of a photo are not at their place


class ResumableOutput:
    """The rows of many photos in one file; a context manager.

    Args:
        path: the file of the rows, or the one that `packed` makes of them.
        folder: the folder of journals, and of the rows of packed files.
        parameters: JSON values that determine the rows.
        header: the first line of the file, or empty.
        retry_failed: drop the rows of unreadable photos and of photos with missing parts, to retry them.
        wanted: the encounters of this run, default each photo alone; rows of other photos are never dropped. Rows of
            encounters that have other photos now are dropped.
        start_over: drop all rows of an earlier run, whatever its parameters.
        packed: makes `path` of all rows at the end of a run.
        said_of: what a person said of a photo, beside the photo itself; when it changes, so do the rows.
    """

    def __init__(
        self,
        path: Path,
        *,
        folder: Path,
        parameters: Mapping[str, object],
        header: str,
        retry_failed: bool = False,
        wanted: Iterable[Encounter] = (),
        start_over: bool = False,
        packed: Packed | None = None,
        said_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.journal = folder / f"{sha256_hex(str(path.absolute()))[:24]}.jsonl"
        self.path = path if packed is None else self.journal.with_suffix(".rows")
        """The file of the rows."""
        self.done: frozenset[str] = frozenset()
        """Photos with rows from an earlier run."""
        self.failed: frozenset[str] = frozenset()
        """The unreadable ones among them."""
        self.missing: Mapping[str, str] = {}
        """Readable ones with a missing part."""
        self.settled: dict[str, float] = {}
        """Numbers that an earlier run kept for this one."""
        self._final = path
        self._parameters = dict(parameters)
        self._header = header
        self._retry_failed = retry_failed
        self._wanted = {encounter.photos[0]: encounter for encounter in wanted}
        self._photos = {photo for encounter in self._wanted.values() for photo in encounter.photos}
        self._start_over = start_over
        self._packed, self._said_of = packed, said_of
        self._files = (path,) if packed is None else packed.files
        self._is_new = start_over  # whether packed files lack rows, or hold others
        self._states: list[list[int]] | None = None if start_over else []
        """Of the packed files when they were written; None if a run stopped while it wrote them, or may replace any."""
        self._n_rows = self._n_lines = 0  # the lines are those of the earlier journal
        self._preview_from: int | None = None
        """Place in the file of the rows of `preview`."""
        self._open_files = ExitStack()

    def __enter__(self) -> ResumableOutput:
        with ExitStack() as stack:
            stack.enter_context(writer_lock(self.journal.with_suffix(".lock")))
            self._drop_unfinished()
            self._rows = stack.enter_context(self.path.open("a", encoding="utf-8", errors=FOREIGN, newline=""))
            self._lines = stack.enter_context(self.journal.open("a", encoding="utf-8"))
            self._open_files = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._open_files:
                is_whole = not self._is_new and all(map(file_state, self._files))
                if kind is None and self._packed is not None and not is_whole:
                    self._note({"packed": None})
                    with self.path.open(encoding="utf-8", errors=FOREIGN, newline="\n") as rows:
                        self._packed.pack(rows, self._parameters)
                    self._note({"packed": [*map(file_state, self._files)]})
        except OSError:
            if kind is None:
                raise
            # On a full disk a file cannot be closed either; the first error names it.

    def preview(self, rows: str) -> None:
        """Append rows that `add` replaces; a run that stops before leaves them, and the next one makes them again."""
        if self._preview_from is None:
            self._preview_from = self.path.stat().st_size
        with writing(self.path):
            self._rows.write(rows)
            self._rows.flush()

    def add(self, image: str, rows: str, *, ok: bool, missing: str = "") -> None:
        """Append all rows of one photo, then its journal entry."""
        self._is_new = True
        if self._preview_from is not None:
            self._rows.truncate(self._preview_from)
            self._preview_from = None
        with writing(self.path):
            self._rows.write(rows)
            self._rows.flush()
        of = self._wanted.get(image, Encounter(photos=(image,)))
        states = tuple(map(self._state, of.photos))
        line = _Line(
            image=image, first=self._n_rows, rows=rows.count("\n"), ok=ok, missing=missing, photos=of.photos,
            group=of.name, states=states, checksum=_checksum(image, rows),
        )  # fmt: skip
        self._n_rows += line.rows
        self._note(asdict(line))

    def _state(self, photo: str) -> tuple[int, int] | None:
        state, said = file_state(Path(photo)), self._said_of(photo)
        return state if state is None or not said else (state[0], state[1] ^ crc32(said.encode()))

    def settle(self, name: str, value: float) -> None:
        """Keep a number for runs that resume this one."""
        self.settled[name] = value
        self._note({"settled": self.settled})

    def _note(self, entry: Mapping[str, object]) -> None:
        with writing(self.journal):
            self._lines.write(json.dumps(entry) + "\n")
            self._lines.flush()

    def _drop_unfinished(self) -> None:
        """Keep only rows and journal lines of finished, unchanged photos that need no retry."""
        has_rows = any(path.exists() and path.stat().st_size for path in (self.path, *self._files))
        finished = self._finished() if has_rows else []
        kept: list[_Line] = []
        with ExitStack() as stack:
            held: Iterator[str] = iter(())
            if self.path.exists() and not self._start_over:
                found = stack.enter_context(self.path.open(encoding="utf-8", errors=FOREIGN, newline="\n"))
                held = islice(found, 1 if self._header else 0, None)
            out = stack.enter_context(_replaced(self.path))
            out.write(self._header)
            rows_at = _Rows(held)
            for line in finished:
                if (rows := rows_at.of(line)) is not None:
                    out.writelines(rows)
                    kept.append(replace(line, first=self._n_rows))
                    self._n_rows += len(rows)
        self._is_new |= len(kept) < self._n_lines
        with _replaced(self.journal) as out:
            out.write(json.dumps({"output": str(self._final.absolute()), "parameters": self._parameters}) + "\n")
            out.writelines([json.dumps({"settled": self.settled}) + "\n"] if self.settled else [])
            packed = [json.dumps({"packed": self._states}) + "\n"] if self._packed is not None else []
            out.writelines(packed if self._is_new else [])
            out.writelines(json.dumps(asdict(line)) + "\n" for line in kept)
            out.writelines([] if self._is_new else packed)  # after the lines of its rows
        self.done = frozenset(line.image for line in kept)
        self.failed = frozenset(line.image for line in kept if not line.ok)
        self.missing = {line.image: line.missing for line in kept if line.missing}

    def _finished(self) -> list[_Line]:
        """Return the journal entries of unchanged or deleted photos, except those to retry, in the order of their rows.

        Raises:
            UsageError: if the file has no journal, or was made with other parameters.
        """
        existing = next((file for file in self._files if file.exists()), self.path)
        try:
            with self.journal.open(encoding="utf-8", errors="replace") as file:  # a damaged line costs its photo alone
                earlier = dict(json.loads(next(file))["parameters"])
                found = self._lines_of_journal(file) if not self._start_over else {}
        except OSError as error:
            raise UsageError(
                f"{existing} exists but was not written by kb identify.",
                hint="Choose another --output, or delete the file.",
            ) from error
        except (ValueError, KeyError, TypeError, StopIteration) as error:
            if self._start_over:
                return []
            raise UsageError(
                f"The journal of {existing} is damaged, so it is not known which photos are done.",
                hint="Choose another --output, or use --set resume=false to start over.",
            ) from error
        current = json.loads(json.dumps(self._parameters))
        if earlier != current and not any(path.exists() for path in self._files):
            self.settled = {}
            return []  # the output is gone; only rows for it are left
        if earlier != current and not self._start_over:
            # Both sides: a removed parameter is a change too.
            names = [name for name in {**earlier, **current} if earlier.get(name) != current.get(name)]
            raise UsageError(
                f"{self._final} was written with {_changes_text(earlier, current, names)}.",
                hint="Choose another --output, or use --set resume=false to start over.",
            )
        if self._packed is not None and self._states is not None:
            self._check_packed(self._states)
        return sorted(found.values(), key=lambda line: line.first)

    def _check_packed(self, states: list[list[int]]) -> None:
        """Raise `UsageError` if a packed file is not as an earlier run wrote it: new rows would replace the changes."""
        for at, file in enumerate(self._files):
            state = file_state(file)
            if state is not None and [*state] not in states[at : at + 1]:
                raise UsageError(
                    f"{file} is not as kb identify wrote it.",
                    hint="Choose another --output, or use --set resume=false to replace it.",
                )

    def _lines_of_journal(self, file: Iterable[str]) -> dict[str, _Line]:
        found: dict[str, _Line] = {}
        for text in file:
            try:
                entry = json.loads(text)  # not `parse_json`: names of files may hold halves of surrogate pairs
                if "settled" in entry:
                    self.settled = {str(name): float(value) for name, value in entry["settled"].items()}
                    continue
                if "packed" in entry:
                    self._states, self._is_new = entry["packed"], entry["packed"] is None
                    continue
                line = _line_of(entry)
                self._n_lines, self._is_new = self._n_lines + 1, True
                now = [*map(self._state, line.photos)]
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # damaged, or the truncated last line of a killed run
            found.pop(line.image, None)
            is_same = all(state in (None, earlier) for state, earlier in zip(now, line.states, strict=True))
            if is_same and self._is_encounter(line) and not self._is_to_retry(line, exists=any(now)):
                found[line.image] = line
        return found

    def _is_encounter(self, line: _Line) -> bool:
        """Return whether the encounter of a line is one of this run, or has no photo in it."""
        if self._photos.isdisjoint(line.photos):
            return True
        return self._wanted.get(line.image) == Encounter(photos=line.photos, name=line.group)

    def _is_to_retry(self, line: _Line, *, exists: bool) -> bool:
        if not self._retry_failed or (self._wanted and line.image not in self._wanted):
            return False
        return not line.ok or (line.missing != "" and exists)


def _line_of(entry: dict[str, Any]) -> _Line:
    """Return the journal entry in a line; not by pydantic, which refuses names of other encodings."""
    photos, states = tuple(entry["photos"]), tuple(state and tuple(state) for state in entry["states"])
    if len(photos) != len(states):
        raise ValueError("expected a state of each photo")
    return _Line(**{**entry, "photos": photos, "states": states})


class _Rows:
    """Rows of a file in turn, found by their place, or near it where a row was removed or a run was killed."""

    def __init__(self, rows: Iterator[str]) -> None:
        self._rows, self._waiting, self._drift = rows, list[str](), 0
        self.n_read = 0

    def of(self, line: _Line) -> list[str] | None:
        """Return the rows of a journal line; None if they are not there."""
        at = self.n_read - len(self._waiting)
        expected = max(0, line.first + self._drift - at)
        for skipped in (expected, *range(MOST_MOVED)):
            more = list(islice(self._rows, max(0, skipped + line.rows - len(self._waiting))))
            self.n_read += len(more)
            self._waiting += more
            rows = self._waiting[skipped : skipped + line.rows]
            if len(rows) == line.rows and _checksum(line.image, "".join(rows)) == line.checksum:
                self._waiting = self._waiting[skipped + line.rows :]
                self._drift = at + skipped - line.first
                return rows
        return None


def _checksum(image: str, rows: str) -> int:
    return crc32(f"{image}\n{rows}".encode("utf-8", FOREIGN))


def _changes_text(earlier: Mapping[str, object], current: Mapping[str, object], names: Sequence[str]) -> str:
    """Return changed parameters in words: with both values, or without where these are ids or digests."""
    if "format" in names:  # the format decides about rows
        names = [name for name in names if name != "rows"]
    shown = [
        _WITHOUT_VALUES.get(name) or f"{name.replace('_', ' ')} {earlier.get(name)} -> {current.get(name)}"
        for name in names
        if name not in _OF_VERSION
    ]
    return f"other parameters: {', '.join(shown)}" if shown else "another version of Fieldmark"


@contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    with replacing(path) as file, file.open("w", encoding="utf-8", errors=FOREIGN, newline="") as out:
        yield out
