"""A long `kb identify --output FILE` that goes on where it stopped.

FILE holds the rows, in UTF-8; a file name that is no UTF-8 keeps its bytes. A journal under FIELDMARK_HOME holds what
made them: the parameters in its first line, then a line for each photo whose rows are all written, with how many those
are, whether the photo could be read, what a reader left unanswered, and its size and time. Rows without a line in the
journal are the rest of a run that was cut off; they are dropped and made again, as are the rows of photos that have
changed. Rows are copied one by one, so that memory does not grow with them.
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
"""How Python spells the bytes of file names that are no UTF-8."""


Lack = Literal["", "reader", "samples"]
"""What the rows of a photo that could be read lack all the same: a reader's answer, or that of some of its passes."""
_LACKS: Final[Mapping[str, Lack]] = {lack: lack for lack in get_args(Lack)}


class Table(Protocol):
    """A file that cannot be appended to: it is made of the rows when a run is over."""

    path: Path

    def unpack(self) -> Iterator[str]:
        """Yield the rows, each with its line end, of the file as an earlier run left it."""

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Replace the file by one of these rows, whole or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What the journal says of a photo; without `rows` it was written before they were counted."""

    image: str
    rows: int | None
    ok: bool
    lacks: Lack
    size: int | None
    mtime_ns: int | None


class ResumableOutput:
    """The rows of many photos in one file; a context manager.

    Args:
        path: the file of the rows.
        folder: where journals lie.
        parameters: all that makes the rows what they are; JSON values.
        header: the first line of the file, if its format has one.
        image_of: gives the photo that a row belongs to; a row is a line.
        retry_failed: drop the rows of photos that could not be read, or that lack something, so that they are tried
            again.
        wanted: the photos of this run, by default all: rows of others are not tried again, so they are not dropped.
        start_over: drop all rows of an earlier run, whatever its parameters were.
        table: where the rows go when the run is over; then `path` is only their place until then, and is removed.
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
        """The photos whose rows are there already."""
        self.failed: frozenset[str] = frozenset()
        """Those of them that could not be read."""
        self.lacking: Mapping[str, Lack] = {}
        """Those of them that could, and lack something."""
        self._shown = path if table is None else table.path
        self._parameters = dict(parameters)
        self._header = header
        self._image_of = image_of
        self._retry_failed = retry_failed
        self._wanted = wanted
        self._start_over = start_over
        self._table = table
        self._is_new = False  # whether rows came that the table does not have
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

    def add(self, image: str, rows: str, *, ok: bool, lacks: Lack = "") -> None:
        """Append the whole rows of one photo, then note that they are there, and what they lack."""
        if self._rows is None or self._lines is None:
            raise ValueError("expected an open output: use it in a with statement")
        self._is_new = True
        self._rows.write(rows)
        self._rows.flush()
        size, mtime_ns = _state(image)
        line = _Line(image=image, rows=rows.count("\n"), ok=ok, lacks=lacks, size=size, mtime_ns=mtime_ns)
        self._lines.write(_as_json(line))
        self._lines.flush()

    def _open(self) -> None:
        was_cut_off = self._table is not None and self.path.exists()
        is_there = any(path.exists() and path.stat().st_size for path in (self.path, self._shown))
        finished = self._finished() if is_there else {}
        is_of_use = is_there and not self._start_over  # a table that is begun anew may have other columns
        counts = Counter(image for image, _ in self._rows_of_photos()) if is_of_use else Counter()
        kept = {image: line for image, line in finished.items() if _are_all(counts[image], line.rows)}
        with _replacing(self.path) as out:
            out.write(self._header)
            out.writelines(row for image, row in (self._rows_of_photos() if kept else ()) if image in kept)
        with _replacing(self.journal) as out:
            out.write(json.dumps({"output": str(self._shown.absolute()), "parameters": self._parameters}) + "\n")
            out.writelines(map(_as_json, kept.values()))
        self.done = frozenset(kept)
        self.failed = frozenset(image for image, line in kept.items() if not line.ok)
        self.lacking = {image: line.lacks for image, line in kept.items() if line.lacks}
        self._is_new = was_cut_off or len(kept) < len(counts)
        self._rows = self.path.open("a", encoding="utf-8", errors=FOREIGN, newline="")
        self._lines = self.journal.open("a", encoding="utf-8")

    def _rows_of_photos(self) -> Iterator[tuple[str, str]]:
        """Yield each whole row of the file with its photo; without the header, and without a row that was cut off."""
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
        """Return the journal's lines of photos that are as they were, or are gone, but for those to be made again.

        Raises:
            UsageError: if the file is not ours, or was made with other parameters.
        """
        try:
            with self.journal.open(encoding="utf-8") as file:
                then = json.loads(next(file))["parameters"]
                found = self._lines_of_journal(file) if not self._start_over else {}
        except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
            there = self._shown if self._shown.exists() else self.path
            raise UsageError(
                f"{there} exists, and not from an earlier run of this command",
                hint="choose another --output, or remove the file",
            ) from error
        now = json.loads(json.dumps(self._parameters))
        if then != now and not self._start_over:
            # Of either side: a parameter that is gone is a change as well.
            names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
            changed = ", ".join(f"{name} {then.get(name)!r} -> {now.get(name)!r}" for name in names)
            raise UsageError(
                f"{self._shown} was made with other parameters: {changed}",
                hint="choose another --output, or begin anew with --no-resume",
            )
        return found

    def _lines_of_journal(self, file: Iterable[str]) -> dict[str, _Line]:
        found: dict[str, _Line] = {}
        for text in file:
            try:
                line = _parsed(text)
            except (ValueError, KeyError, TypeError):
                continue  # the last line of a run that was killed in it
            now = _state(line.image)
            if now not in {(None, None), (line.size, line.mtime_ns)} or self._is_to_retry(line, now):
                found.pop(line.image, None)
                continue
            found[line.image] = line
        return found

    def _is_to_retry(self, line: _Line, now: tuple[int | None, int | None]) -> bool:
        if not self._retry_failed or (self._wanted is not None and line.image not in self._wanted):
            return False
        # What is gone cannot give a better row.
        return not line.ok or (line.lacks != "" and now != (None, None))


def _are_all(n: int, wanted: int | None) -> bool:
    """Return whether so many rows of a photo are all that it has; journals of old did not say how many that is."""
    return n == wanted if wanted is not None else n > 0


def _state(image: str) -> tuple[int, int] | tuple[None, None]:
    """Return what changes when another photo takes the file's name, as cameras that count anew let happen."""
    try:
        found = Path(image).stat()
    except (OSError, ValueError):
        return None, None
    return found.st_size, found.st_mtime_ns


def _as_json(line: _Line) -> str:
    entry: dict[str, object] = {"image": line.image}
    if line.rows is not None:
        entry["rows"] = line.rows
    if not line.ok:
        entry["failed"] = True
    if line.lacks:
        entry["lacks"] = line.lacks
    if line.size is not None:
        entry |= {"size": line.size, "mtime_ns": line.mtime_ns}
    return json.dumps(entry) + "\n"


def _parsed(text: str) -> _Line:
    entry = json.loads(text)
    return _Line(
        image=entry["image"],
        rows=entry.get("rows"),
        ok=not entry.get("failed", False),
        lacks=_LACKS[entry.get("lacks", "")],
        size=entry.get("size"),
        mtime_ns=entry.get("mtime_ns"),
    )


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """Give a new file that takes the place of `path` when it is whole, in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Always of one name: one run at a time writes here, and what a killed one left is overwritten.
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
