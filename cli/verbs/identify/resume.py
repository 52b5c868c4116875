"""Resumable output of a long `kb identify --output FILE`.

FILE holds the rows in UTF-8; file names in other encodings keep their bytes. A journal under FIELDMARK_HOME has the
parameters in its first line, then one line per finished photo: number of rows, whether the photo was readable, missing
answers of a reader, size and modification time. Rows without a journal line come from an interrupted run; they are
dropped and made again, as are rows of photos that changed. Rows are copied one by one, so memory stays constant.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Protocol, TextIO, get_args

from data.errors import UsageError
from data.files import sha256_hex, writer_lock

FOREIGN = "surrogateescape"
"""Error handler that keeps file names of other encodings byte for byte."""


Missing = Literal["", "reader", "samples"]
"""Missing part of a readable photo: the reader's answer, or some of its samples."""
_MISSING: Final[Mapping[str, Missing]] = {missing: missing for missing in get_args(Missing)}


class Table(Protocol):
    """A file format without appending: the file is written from the rows at the end of a run."""

    path: Path

    def unpack(self) -> Iterator[str]:
        """Yield the rows of an earlier run, each with its line end."""

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Replace the file atomically by one with these rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Journal entry of a photo."""

    image: str
    rows: int
    ok: bool
    missing: Missing
    size: int | None
    mtime_ns: int | None


class ResumableOutput:
    """The rows of many photos in one file; a context manager.

    Args:
        path: the file of the rows.
        folder: the folder of journals.
        parameters: JSON values that determine the rows.
        header: the first line of the file, if its format has one.
        image_of: row (a line) -> photo.
        retry_failed: drop the rows of unreadable photos and of photos with missing parts, to retry them.
        wanted: the photos of this run, default all; rows of other photos are never dropped.
        start_over: drop all rows of an earlier run, whatever its parameters.
        table: final destination of the rows; `path` is then temporary and removed at the end.
    """

    def __init__(
        self,
        path: Path,
        *,
        folder: Path,
        parameters: Mapping[str, object],
        header: str,
        image_of: Callable[[str], str],
        retry_failed: bool = False,
        wanted: Collection[str] | None = None,
        start_over: bool = False,
        table: Table | None = None,
    ) -> None:
        self.path = path
        self.journal = folder / f"{sha256_hex(str(path.absolute()))[:24]}.jsonl"
        self.done: frozenset[str] = frozenset()
        """Photos with rows from an earlier run."""
        self.failed: frozenset[str] = frozenset()
        """The unreadable ones among them."""
        self.missing: Mapping[str, Missing] = {}
        """Readable ones with a missing part."""
        self._shown = path if table is None else table.path
        self._parameters = dict(parameters)
        self._header = header
        self._image_of = image_of
        self._retry_failed = retry_failed
        self._wanted = wanted
        self._start_over = start_over
        self._table = table
        self._is_new = False  # whether the table missing rows
        self._lock = ExitStack()
        self._rows: TextIO | None = None
        self._lines: TextIO | None = None

    def __enter__(self) -> ResumableOutput:
        self._lock.enter_context(writer_lock(self.journal.with_suffix(".lock")))
        try:
            self._open()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for handle in (self._rows, self._lines):
                if handle is not None:
                    handle.close()
            if kind is None and self._table is not None:
                if self._is_new or not self._table.path.exists():
                    with self.path.open(encoding="utf-8", errors=FOREIGN, newline="\n") as rows:
                        self._table.pack(rows, self._parameters)
                self.path.unlink()
        finally:
            self._lock.close()

    def add(self, image: str, rows: str, *, ok: bool, missing: Missing = "") -> None:
        """Append all rows of one photo, then its journal entry."""
        if self._rows is None or self._lines is None:
            raise ValueError("expected an open output: use it in a with statement")
        self._is_new = True
        self._rows.write(rows)
        self._rows.flush()
        size, mtime_ns = _state(image)
        line = _Line(image=image, rows=rows.count("\n"), ok=ok, missing=missing, size=size, mtime_ns=mtime_ns)
        self._lines.write(_as_json(line))
        self._lines.flush()

    def _open(self) -> None:
        was_cut_off = self._table is not None and self.path.exists()
        is_there = any(path.exists() and path.stat().st_size for path in (self.path, self._shown))
        finished = self._finished() if is_there else {}
        is_of_use = is_there and not self._start_over  # a table that starts over may have other columns
        counts = Counter(image for image, _ in self._rows_of_photos()) if is_of_use else Counter()
        kept = {image: line for image, line in finished.items() if counts[image] == line.rows}
        with _replacing(self.path) as out:
            out.write(self._header)
            out.writelines(row for image, row in (self._rows_of_photos() if kept else ()) if image in kept)
        with _replacing(self.journal) as out:
            out.write(json.dumps({"output": str(self._shown.absolute()), "parameters": self._parameters}) + "\n")
            out.writelines(map(_as_json, kept.values()))
        self.done = frozenset(kept)
        self.failed = frozenset(image for image, line in kept.items() if not line.ok)
        self.missing = {image: line.missing for image, line in kept.items() if line.missing}
        self._is_new = was_cut_off or len(kept) < len(counts)
        self._rows = self.path.open("a", encoding="utf-8", errors=FOREIGN, newline="")
        self._lines = self.journal.open("a", encoding="utf-8")

    def _rows_of_photos(self) -> Iterator[tuple[str, str]]:
        """Yield each row of the file with its photo, without the header and a truncated last row."""
        if self._table is not None and not self.path.exists():
            yield from self._with_photos(self._table.unpack())
            return
        with self.path.open(encoding="utf-8", errors=FOREIGN, newline="\n") as file:
            yield from self._with_photos(file)

    def _with_photos(self, rows: Iterable[str]) -> Iterator[tuple[str, str]]:
        for row in rows:
            if row == self._header or not row.endswith("\n"):
                continue
            try:
                yield self._image_of(row), row
            except (ValueError, KeyError, IndexError):
                continue

    def _finished(self) -> dict[str, _Line]:
        """Return the journal entries of unchanged or deleted photos, except those to retry.

        Raises:
            UsageError: if the file has no journal, or was made with other parameters.
        """
        try:
            with self.journal.open(encoding="utf-8") as file:
                then = json.loads(next(file))["parameters"]
                found = self._lines_of_journal(file) if not self._start_over else {}
        except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
            there = self._shown if self._shown.exists() else self.path
            raise UsageError(
                f"{there} exists but was not written by kb identify.",
                hint="Choose another --output, or delete the file.",
            ) from error
        now = json.loads(json.dumps(self._parameters))
        if then != now and not self._start_over:
            # Both sides: a removed parameter is a change too.
            names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
            changed = ", ".join(f"{name} {then.get(name)!r} -> {now.get(name)!r}" for name in names)
            raise UsageError(
                f"{self._shown} was written with other parameters: {changed}.",
                hint="Choose another --output, or use --no-resume to start over.",
            )
        return found

    def _lines_of_journal(self, file: Iterable[str]) -> dict[str, _Line]:
        found: dict[str, _Line] = {}
        for text in file:
            try:
                line = _parsed(text)
            except (ValueError, KeyError, TypeError):
                continue  # truncated last line of a killed run
            now = _state(line.image)
            if now not in {(None, None), (line.size, line.mtime_ns)} or self._is_to_retry(line, now):
                found.pop(line.image, None)
                continue
            found[line.image] = line
        return found

    def _is_to_retry(self, line: _Line, now: tuple[int | None, int | None]) -> bool:
        if not self._retry_failed or (self._wanted is not None and line.image not in self._wanted):
            return False
        # A deleted photo cannot be retried.
        return not line.ok or (line.missing != "" and now != (None, None))


def _state(image: str) -> tuple[int, int] | tuple[None, None]:
    """Return size and modification time, which change when another photo takes the file's name."""
    try:
        found = Path(image).stat()
    except (OSError, ValueError):
        return None, None
    return found.st_size, found.st_mtime_ns


def _as_json(line: _Line) -> str:
    entry: dict[str, object] = {"image": line.image, "rows": line.rows}
    if not line.ok:
        entry["failed"] = True
    if line.missing:
        entry["missing"] = line.missing
    if line.size is not None:
        entry |= {"size": line.size, "mtime_ns": line.mtime_ns}
    return json.dumps(entry) + "\n"


def _parsed(text: str) -> _Line:
    entry = json.loads(text)
    return _Line(
        image=entry["image"],
        rows=entry["rows"],
        ok=not entry.get("failed", False),
        missing=_MISSING[entry.get("missing", "")],
        size=entry.get("size"),
        mtime_ns=entry.get("mtime_ns"),
    )


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """Open a temporary file that replaces `path` atomically on success."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A fixed name: one run writes at a time, and leftovers of a killed run are overwritten.
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("w", encoding="utf-8", errors=FOREIGN, newline="") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
