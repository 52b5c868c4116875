"""Files of a checklist in a zip archive, in a folder or alone, read as streams of rows.

Nothing is unpacked on disk; sizes of a zip's files are checked before they are read.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, chain, islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, cast

from data.errors import BadInput
from kb.checklist.stored.usage import Problems

MAX_UNPACKED_BYTES: Final = 32 * 2**30
MAX_EXPANSION: Final = 200  # tables of names shrink 5 to 15 times
SMALL_BYTES: Final = 16 * 2**20  # below this the expansion does not matter
MAX_LINE: Final = 2**20
MAX_SPAN: Final = 20  # lines of one cell
_DAMAGE: Final = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""Errors of `zipfile` for damaged files, and (`RuntimeError`) for kinds of compression and encryption that it lacks."""
_UTF_16: Final = ("\udcff\udcfe", "\udcfe\udcff")
_NOT_DECODED: Final = re.compile("[\udc80-\udcff]")


class Container:
    """The files of a checklist.

    Raises:
        BadInput: if there is no such file, or it is no zip archive in spite of its name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None
        try:
            if path.is_dir():
                files = [file for file in sorted(path.rglob("*")) if file.is_file()]
                self._names = [file.relative_to(path).as_posix() for file in files]
            elif zipfile.is_zipfile(path):
                self._zip = zipfile.ZipFile(path)
                self._names = [info.filename for info in self._zip.infolist() if not info.is_dir()]
            elif path.suffix.lower() == ".zip" and path.is_file():
                raise BadInput(f"{path} is damaged or incomplete, expected a zip archive.")
            elif path.is_file():
                self._names = [path.name]
            else:
                raise BadInput(f"File not found: {path}")
        except (OSError, zipfile.BadZipFile) as error:
            raise BadInput(f"{path} cannot be read: {error}") from error

    @property
    def is_single(self) -> bool:
        """Whether the container is one table, neither an archive nor a folder."""
        return self._zip is None and not self.path.is_dir()

    def names(self) -> list[str]:
        """Return the names of the files, those in the fewest folders first."""
        shown = [name for name in self._names if not PurePosixPath(name).name.startswith((".", "__MACOSX"))]
        return sorted(shown, key=lambda name: (name.count("/"), name))

    def find(self, name: str) -> str | None:
        """Return the file with that name, in whatever folder and case."""
        return next((found for found in self.names() if PurePosixPath(found).name.lower() == name.lower()), None)

    def table(self, stem: str) -> str | None:
        """Return the table with that name, whatever its ending."""
        return next((name for name in self.tables() if PurePosixPath(name).stem.lower() == stem.lower()), None)

    def tables(self) -> list[str]:
        """Return the names of the files that are tables by their ending."""
        return [name for name in self.names() if PurePosixPath(name).suffix.lower() in (".csv", ".tsv", ".txt")]

    def place(self, name: str, line: int | None = None) -> str:
        """Return file and line for messages."""
        file = str(self.path) if self.is_single else f"{self.path}: {name}"
        return file if line is None else f"{file}: line {line}"

    def read_text(self, name: str) -> str:
        """Return a small text file, such as `meta.xml`."""
        return "".join(self._lines(name, "utf-8"))

    def rows(
        self,
        name: str,
        *,
        delimiter: str | None = None,
        quote: str | None = None,
        encoding: str = "utf-8",
        problems: Problems | None = None,
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of each row that is not empty, the heading too.

        Without a delimiter, that of the heading is taken: tab, semicolon or comma. Rows with a quotation mark that is
        not closed are added to the problems.

        Raises:
            BadInput: with file and line, for another encoding, a line that is too long, or broken quotes.
        """
        lines = self._lines(name, encoding)
        if delimiter is None:
            first = next(lines, None)
            if first is None:
                raise BadInput(f"{self.place(name)} is empty, expected a table of names.")
            delimiter = max("\t;,", key=first.count)
            quote = None if delimiter == "\t" else '"'
            lines = chain([first], lines)
        if quote is None:
            for number, cells, is_open in _split(lines, delimiter):
                if is_open and problems is not None:
                    problems.add("quotation mark not closed", self.place(name, number))
                if any(cells):
                    yield number, cells
            return
        reader = csv.reader(lines, delimiter=delimiter, quotechar=quote)
        try:
            for cells in reader:
                if any(cells):
                    yield reader.line_num, cells
        except csv.Error as error:
            raise BadInput(
                f"{self.place(name, reader.line_num)}: a cell is longer than {csv.field_size_limit():,} characters.",
                hint="Close the quotation mark that opens it.",
            ) from error

    def _lines(self, name: str, encoding: str) -> Iterator[str]:
        """Yield the lines of a file, which may end in any way; bytes of another encoding are found line by line."""
        codec = "utf-8" if encoding.lower().endswith("ascii") else encoding
        with self._reading(name) as stream:
            try:
                head = cast(io.BufferedReader, stream).peek()
                end = "\r" if b"\r" in head[:-1] and b"\n" not in head else "\n"
                text = io.TextIOWrapper(stream, codec, "surrogateescape", newline=end)
            except LookupError as error:
                raise BadInput(f"{self.place(name)}: {error}.", hint="Convert the file to UTF-8.") from error
            number = 0
            while line := text.readline(MAX_LINE + 1):
                number += 1
                if number == 1:
                    if line.startswith(_UTF_16) or "\0" in line[:200]:
                        kind = "UTF-16" if line.startswith(_UTF_16) else "a binary file"
                        hint = "Save the table as CSV in UTF-8."
                        raise BadInput(f"{self.place(name)} is {kind}, expected text in UTF-8.", hint=hint)
                    line = line.removeprefix("\ufeff")
                if len(line) > MAX_LINE:
                    raise BadInput(f"{self.place(name, number)}: longer than {MAX_LINE:,} characters, expected a row.")
                if not line.isascii() and _NOT_DECODED.search(line):
                    raise BadInput(f"{self.place(name, number)}: expected UTF-8 text.")
                yield line.strip("\r\n").replace("\r", " ") + "\n"

    @contextmanager
    def _reading(self, name: str) -> Iterator[BinaryIO]:
        """Open a file; damage is an error that names it, when it is opened or read."""
        try:
            with self._open(name) as stream:
                yield stream
        except _DAMAGE as error:
            raise BadInput(f"{self.place(name)} cannot be read: {error}") from error

    def _open(self, name: str) -> BinaryIO:
        if self._zip is None:
            return (self.path / name if self.path.is_dir() else self.path).open("rb")
        info = self._zip.getinfo(name)
        expands = info.file_size > SMALL_BYTES and info.file_size > MAX_EXPANSION * max(info.compress_size, 1)
        if expands or info.file_size > MAX_UNPACKED_BYTES:
            raise BadInput(
                f"{self.place(name)} would unpack to {info.file_size:,} bytes from {info.compress_size:,}.",
                hint="Unpack it yourself if you trust it, and give the folder.",
            )
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, self._zip.open(info)), 2**20))


def _split(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str], bool]]:
    """Yield line number and cells of each row of a table without declared quotes, and whether a quote stays open.

    A quotation mark that opens a cell and is closed on a later line joins the lines, if the row then has as many cells
    as the first one.
    """
    numbered = ((number, line.rstrip("\n")) for number, line in enumerate(lines, 1) if line.strip())
    ahead: list[tuple[int, str]] = []
    n_cells = 0
    while row := ahead.pop(0) if ahead else next(numbered, None):
        cells = row[1].split(delimiter)
        n_cells = n_cells or len(cells)
        is_open = '"' in row[1] and any(map(_is_open, cells))
        if is_open and len(cells) <= n_cells:
            ahead += islice(numbered, MAX_SPAN - len(ahead))
            for n, text in enumerate(accumulate((line for _, line in (row, *ahead)), "{} {}".format)):
                joined = text.split(delimiter)
                if len(joined) == n_cells and not any(map(_is_open, joined)):
                    cells, ahead, is_open = joined, ahead[n:], False
                    break
        yield row[0], [_unquoted(cell) for cell in cells] if '"' in row[1] else cells, is_open


def _is_open(cell: str) -> bool:
    return cell.startswith('"') and cell.count('"') % 2 == 1


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell
