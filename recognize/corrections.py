"""Labels that a person gave to birds in photos: one file that only grows, and rows that show them.

A correction belongs to the contents of a photo and the place of the bird in it, so it holds for photos that were moved
or renamed, and for a new run with other boxes. The last word on a bird counts; a correction can be taken back.
"""

from __future__ import annotations

import getpass
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from data.codec import dumps, loads
from data.errors import BadInput, StoreError
from data.files import file_state, sha256_of_file, writer_lock, writing
from data.records import Answer, Box, Correction, Identification, PhotoStatus
from recognize.exports.document import photos_of

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
    n_birds: int = 0
    """Birds that were found in the photo; 0 if that is not known."""
    label: Answer | None = None
    """The species or group; of rank `none` for an unknown bird or none; null where a step is taken back."""
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
        self._content = b""
        """Of the file, without a torn last line."""
        self.state: tuple[int, int] | None = None
        """Size and time of the file when it was read."""
        self.lines: list[Line] = []
        """All that was ever said."""
        self.by_size: Mapping[int, Sequence[Line]] = {}
        """Size of a file -> the last lines on its birds."""
        self._hashes: dict[tuple[str, int, int], str] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the file again if any program has changed it."""
        if (state := file_state(self.path)) == self.state:
            return
        content = self.path.read_bytes() if state is not None else b""
        is_longer = content.startswith(self._content)  # else it was edited, or replaced
        whole, lines = (self._content, [*self.lines]) if is_longer else (b"", [])
        for text in content[len(whole) :].splitlines(keepends=True):
            try:
                lines += [loads(Line, text.decode())] if text.strip() else []
            except (StoreError, UnicodeDecodeError) as error:
                if not text.endswith(b"\n"):
                    break
                n = whole.count(b"\n") + 1
                raise BadInput(f"{self.path}, line {n} is no correction: {error}", hint="Remove the line.") from error
            whole += text
        self._content, self.state, self.lines = whole, state, lines
        undone, by_size = {line.undoes for line in lines}, dict[int, list[Line]]()
        for line in lines:
            if not line.undoes and (line.step not in undone or not line.step):
                held = by_size.setdefault(line.size, [])
                held[:] = [each for each in held if each.photo != line.photo or not is_same_bird(each.box, line.box)]
                held.append(line)
        self.by_size = by_size

    def __iter__(self) -> Iterator[Line]:
        """Yield the last line on each bird."""
        return (line for held in self.by_size.values() for line in held)

    def _on(self, image: str) -> list[Line]:
        """Return the last lines on the birds of a photo, by its contents."""
        state = file_state(Path(image)) if self.by_size else None
        if state is None or not (held := self.by_size.get(state[0])):
            return []
        try:
            sha256 = self._sha256(image)
        except OSError:
            return []
        return [each for each in held if each.photo == sha256]

    def find(self, image: str, box: Box | None) -> Line | None:
        """Return the last line on a bird in a photo; None without one."""
        return next((each for each in self._on(image) if is_same_bird(each.box, box)), None)

    def _sha256(self, image: str) -> str:
        found = Path(image).stat()
        key = (image, found.st_size, found.st_mtime_ns)
        if key not in self._hashes:
            self._hashes[key] = sha256_of_file(Path(image))
        return self._hashes[key]

    def state_of(self, image: str) -> str:
        """Return the identity of the last lines on a photo; empty if there is none."""
        return " ".join(each.step for each in self._on(image))

    def applied(self, row: Identification) -> Identification:
        """Return a row with the label of a person as its answer, and the answer before beside it."""
        return corrected(row, [self])

    def add(self, labels: Sequence[tuple[Identification, Answer]]) -> None:
        """Write what a person says of the birds of some rows, in all photos of a burst; `undo` takes it back.

        Raises:
            BadInput: if a photo is not there any more.
            MissingRequirement: if the file cannot be written.
        """
        step, lines = secrets.token_hex(6), []
        for row, label in labels:
            for photo in photos_of(row):
                try:
                    sha256, size = self._sha256(photo.image), Path(photo.image).stat().st_size
                except (OSError, ValueError) as error:
                    hint = "Identify the photos of the folder again."
                    raise BadInput(f"{photo.image} is not there any more.", hint=hint) from error
                lines.append(
                    Line(
                        photo=sha256, size=size, image=os.path.relpath(photo.image, self.path.parent), box=photo.box,
                        n_birds=0 if row.photos else row.n_birds, label=label, said=said_before(row), by=author(),
                        at=now(), step=step,
                    )
                )  # fmt: skip
        self._write(lines)

    def undo(self) -> list[Line]:
        """Take the last step back that was not taken back yet, and return its lines; empty if there is none."""
        self.refresh()
        undone = {line.undoes for line in self.lines}
        steps = [line.step for line in self.lines if not line.undoes and line.step not in undone]
        last = [line for line in self.lines if steps and line.step == steps[-1]]
        step = secrets.token_hex(6)
        self._write([replace(line, label=None, by=author(), at=now(), step=step, undoes=line.step) for line in last])
        return last

    def _write(self, lines: Sequence[Line]) -> None:
        """Append lines durably, behind the last whole one: a killed program may have left a torn one."""
        if not lines:
            return
        with writer_lock(self.path, wait_s=5), writing(self.path):
            self.refresh()
            begin = b"\n" if self._content and not self._content.endswith(b"\n") else b""
            with self.path.open("r+b") as file:
                file.seek(len(self._content))
                file.truncate()
                file.write(begin + "".join(f"{dumps(line)}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
        self.refresh()


def corrected(row: Identification, files: Sequence[Corrections]) -> Identification:
    """Return a row with the label of a person: the last in several files, the most frequent one of a burst's photos."""
    found = (line for photo in photos_of(row) for each in files if (line := each.find(photo.image, photo.box)))
    said = [(line.label, line.at, line.by) for line in found if line.label is not None]
    if not said or row.status == "error":
        return row
    n_of = Counter(label for label, *_ in said)
    label, at, by = max(said, key=lambda each: (n_of[each[0]], each[1]))
    correction = Correction(by=by, at=at, status=row.status, answer=row.answer)
    return replace(row, status=status_of_label(label), answer=label, correction=correction)


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
    """Return the corrections in some folders, each once, whether they have any yet or not."""
    return [Corrections(path) for path in dict.fromkeys((folder / NAME).absolute() for folder in folders)]
