"""A long `kb identify --output FILE` that goes on where it stopped.

FILE holds the rows, in UTF-8; a file name that is no UTF-8 keeps its bytes. A journal under FIELDMARK_HOME holds what
made them: the parameters in its first line, then a line for each photo whose rows are all written, with the photo's
size and time. Rows without a line in the journal are the rest of a run that was cut off; they are dropped and made
again, as are the rows of photos that failed or have changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TextIO

from data.errors import UsageError
from data.files import sha256_hex, write_atomic, writer_lock

_FOREIGN = "surrogateescape"  # how Python spells the bytes of file names that are no UTF-8


class ResumableOutput:
    """The rows of many photos in one file; a context manager.

    Args:
        path: the file of the rows.
        folder: where journals lie.
        parameters: all that makes the rows what they are; JSON values.
        header: the first line of the file, if its format has one.
        image_of: gives the photo that a row belongs to; a row is a line.
    """

    def __init__(
        self,
        path: Path,
        *,
        folder: Path,
        parameters: Mapping[str, object],
        header: str,
        image_of: Callable[[str], str],
    ) -> None:
        self.path = path
        self.journal = folder / f"{sha256_hex(str(path.absolute()))[:24]}.jsonl"
        self.done: frozenset[str] = frozenset()
        """The photos whose rows are there already."""
        self._parameters = dict(parameters)
        self._header = header
        self._image_of = image_of
        self._lock = ExitStack()
        self._rows: TextIO | None = None
        self._lines: TextIO | None = None

    def __enter__(self) -> ResumableOutput:
        self._lock.enter_context(writer_lock(self.journal.with_suffix(".lock")))
        finished = self._finished() if self.path.exists() and self.path.stat().st_size else {}
        text = self.path.read_text(encoding="utf-8", errors=_FOREIGN) if finished else ""
        rows = text.removeprefix(self._header).splitlines(keepends=True)
        kept = [row for row in rows if row.endswith("\n") and _image(self._image_of, row) in finished]
        self.done = frozenset(self._image_of(row) for row in kept)
        write_atomic(self.path, (self._header + "".join(kept)).encode(errors=_FOREIGN))
        lines: list[Mapping[str, object]] = [{"output": str(self.path.absolute()), "parameters": self._parameters}]
        lines += [finished[image] for image in sorted(self.done)]
        write_atomic(self.journal, "".join(json.dumps(line) + "\n" for line in lines).encode())
        self._rows = self.path.open("a", encoding="utf-8", errors=_FOREIGN, newline="")
        self._lines = self.journal.open("a", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in (self._rows, self._lines):
            if handle is not None:
                handle.close()
        self._lock.close()

    def add(self, image: str, rows: str, *, ok: bool) -> None:
        """Append the whole rows of one photo, then note that they are there; a failed one is tried again next time."""
        if self._rows is None or self._lines is None:
            raise ValueError("expected an open output: use it in a with statement")
        self._rows.write(rows)
        self._rows.flush()
        if ok:
            self._lines.write(json.dumps({"image": image, **_state(image)}) + "\n")
            self._lines.flush()

    def _finished(self) -> dict[str, dict[str, object]]:
        """Return the journal's lines of photos that are as they were.

        Raises:
            UsageError: if the file is not ours, or was made with other parameters.
        """
        hint = "choose another --output, or remove the file"
        try:
            head, *lines = self.journal.read_text(encoding="utf-8").splitlines()
            then = json.loads(head)["parameters"]
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"{self.path} exists, and not from an earlier run of this command", hint=hint) from error
        now = json.loads(json.dumps(self._parameters))
        if then != now:
            changed = [f"{name} {then.get(name)!r} -> {now.get(name)!r}" for name in now if then.get(name) != now[name]]
            raise UsageError(f"{self.path} was made with other parameters: {', '.join(changed)}", hint=hint)
        finished = {}
        for line in lines:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue  # the last line of a run that was killed in it
            if {"image": entry["image"], **_state(entry["image"])} == entry:
                finished[entry["image"]] = entry
        return finished


def _state(image: str) -> dict[str, int]:
    """Return what changes when another photo takes the file's name, as cameras that count anew let happen."""
    try:
        found = Path(image).stat()
    except OSError:
        return {}
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _image(image_of: Callable[[str], str], row: str) -> str | None:
    try:
        return image_of(row)
    except (ValueError, KeyError, IndexError):
        return None  # a row that was cut off
