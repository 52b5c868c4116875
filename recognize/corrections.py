"""Labels that a person gave to birds in photos: one file that only grows, and rows that show them.

A correction belongs to the contents of a photo and the place of the bird in it, so it holds for photos that were moved
or renamed, and for a new run with other boxes. The last word on a bird counts; a correction can be taken back.
"""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from data.codec import dumps, loads
from data.errors import BadInput, StoreError
from data.files import sha256_of_file, writer_lock, writing
from data.records import Answer, Box, Correction, Identification, PhotoStatus

NAME: Final = "corrections.jsonl"
"""The file, in the folder of the photos or of the results."""
UNKNOWN: Final = "unknown"
NO_BIRD: Final = "no bird"
_SAME_BIRD: Final = 0.5  # share of two boxes that they have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the file: a bird, and what a person says of it."""

    photo: str
    """SHA-256 of the file."""
    size: int
    """Bytes of the file, by which most other photos are told without reading them."""
    image: str
    """Path of the photo from the folder of this file, when it was said."""
    box: Box | None = None
    label: Answer | None = None
    """The species or group; of rank `none` for an unknown bird or none; null where a correction is taken back."""
    said: str = ""
    """The name of the answer before, or the status without one."""
    by: str = ""
    at: str = ""
    """ISO 8601."""
    step: str = ""
    """Id of the lines that were written, and are undone, together."""
    undoes: str = ""
    """Id of the step that this one takes back."""


class Corrections:
    """The corrections in a file, which need not exist.

    Raises:
        BadInput: if the file has a line that is no correction; the torn last line of a killed program is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[Line] = []
        self._held: dict[int, list[Line]] = {}
        """Size of a file -> the last lines on its birds."""
        self._hashes: dict[tuple[str, int, int], str] = {}
        self._read = 0
        self.refresh()

    def refresh(self) -> None:
        """Read new lines of the file, of whichever program."""
        if not self.path.is_file():
            return
        with self.path.open("rb") as file:
            file.seek(self._read)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        for text in whole.splitlines():
            try:
                self._take(loads(Line, text.decode()))
            except (StoreError, UnicodeDecodeError) as error:
                n = len(self._lines) + 1
                raise BadInput(f"{self.path}, line {n} is no correction: {error}", hint="Remove the line.") from error
        self._read += len(whole)

    def __len__(self) -> int:
        return sum(line.label is not None for held in self._held.values() for line in held)

    def __iter__(self) -> Iterator[Line]:
        """Yield the last line on each bird that has a label."""
        return (line for held in self._held.values() for line in held if line.label is not None)

    def _take(self, line: Line) -> None:
        held = self._held.setdefault(line.size, [])
        held[:] = [each for each in held if each.photo != line.photo or not is_same_bird(each.box, line.box)]
        held.append(line)
        self._lines.append(line)

    def find(self, image: str, box: Box | None) -> Line | None:
        """Return the last line on a bird in a photo that has a label; None without one."""
        try:
            state = Path(image).stat()
        except OSError:
            return None
        if not (held := self._held.get(state.st_size)):
            return None
        sha256 = self._sha256(image, state)
        fits = (each for each in held if each.photo == sha256 and is_same_bird(each.box, box))
        return next((each for each in fits if each.label is not None), None)

    def _sha256(self, image: str, state: os.stat_result) -> str:
        key = (image, state.st_size, state.st_mtime_ns)
        if key not in self._hashes:
            self._hashes[key] = sha256_of_file(Path(image))
        return self._hashes[key]

    def state_of(self, image: str) -> str:
        """Return the identity of the last lines on a photo; empty if there is none."""
        try:
            state = Path(image).stat()
        except OSError:
            return ""
        held = self._held.get(state.st_size)
        said = [each for each in held if each.photo == self._sha256(image, state)] if held else []
        return " ".join(each.step for each in said)

    def applied(self, row: Identification) -> Identification:
        """Return a row with the label of a person as its answer, and the answer before beside it."""
        line = self.find(row.image, row.box)
        if line is None or line.label is None or row.status == "error":
            return row
        correction = Correction(by=line.by, at=line.at, status=row.status, answer=row.answer)
        return replace(row, status=status_of_label(line.label), answer=line.label, correction=correction)

    def add(self, labels: Sequence[tuple[Identification, Answer | None]]) -> str:
        """Write what a person says of the birds of some rows, and return the id of this step.

        A label of None takes the last one back.

        Raises:
            MissingRequirement: if the file cannot be written.
        """
        step = secrets.token_hex(6)
        lines = []
        for row, label in labels:
            state = Path(row.image).stat()
            path = os.path.relpath(row.image, self.path.parent)
            lines.append(
                Line(
                    photo=self._sha256(row.image, state), size=state.st_size, image=path, box=row.box, label=label,
                    said=said_before(row), by=author(), at=now(), step=step,
                )
            )  # fmt: skip
        self._write(lines)
        return step

    def undo(self) -> list[Line]:
        """Take the last step back that was not taken back yet, and return its lines; empty if there is none."""
        self.refresh()
        undone = {line.undoes for line in self._lines}
        steps = [line.step for line in self._lines if not line.undoes and line.step not in undone]
        if not steps:
            return []
        last = [line for line in self._lines if line.step == steps[-1]]
        begin, step = self._lines.index(last[0]), secrets.token_hex(6)
        lines = [
            replace(line, label=self._label_before(line, begin), by=author(), at=now(), step=step, undoes=line.step)
            for line in last
        ]
        self._write(lines)
        return last

    def _label_before(self, line: Line, begin: int) -> Answer | None:
        before = self._lines[:begin]
        same = (each for each in reversed(before) if each.photo == line.photo and is_same_bird(each.box, line.box))
        return next((each.label for each in same), None)

    def _write(self, lines: Iterable[Line]) -> None:
        """Append lines durably; a torn line of a killed program before them is ended."""
        with writer_lock(self.path, wait_s=5), writing(self.path):
            self.refresh()
            with self.path.open("r+b") as file:
                file.seek(self._read)
                file.truncate()
                file.write("".join(f"{dumps(line)}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
        self.refresh()


def status_of_label(label: Answer) -> PhotoStatus:
    """Return the status of a photo with a person's label."""
    if label.rank != "none":
        return "identified"
    return "no_bird" if label.name == NO_BIRD else "unknown"


def said_before(row: Identification) -> str:
    """Return the name of the answer of a model, or the status without one, whatever a person said since."""
    answer = row.answer if row.correction is None else row.correction.answer
    status = row.status if row.correction is None else row.correction.status
    return answer.name if answer is not None and answer.name else status


def author() -> str:
    """Return the name of the user of this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def now() -> str:
    """Return the time in ISO 8601, to the second."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def is_same_bird(one: Box | None, other: Box | None) -> bool:
    """Return whether two boxes of a photo are of one bird; the photo as a whole is that of any."""
    if one is None or other is None:
        return True
    wide, high = (max(0.0, min(one[at + 2], other[at + 2]) - max(one[at], other[at])) for at in (0, 1))
    areas = [(box.right - box.left) * (box.bottom - box.top) for box in (one, other)]
    return wide * high >= _SAME_BIRD * (sum(areas) - wide * high)


def corrections_beside(*folders: Path) -> list[Corrections]:
    """Return the corrections in some folders, each once, as far as they have any."""
    paths = dict.fromkeys((folder / NAME).absolute() for folder in folders)
    return [Corrections(path) for path in paths if path.is_file()]
