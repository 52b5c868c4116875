"""The reader of text tables: delimited text in any encoding, Excel workbooks, and zip or gzip files of one table.

`open_table` looks at the whole file once, finds its encoding, separator, heading and use of quotation marks, and gives
frames of text: as many rows at a time as wanted (`Table.chunks`) or all (`Table.frame`). Columns are found by meaning:

    PHOTOS = {"path": ("path", "file name"), "visit": ("visit", "sequence id")}
    table = open_table(path, PHOTOS)
    if "path" not in table.columns:
        raise table.refused('no column "path"', hint="...")
    for frame in table.chunks():
        for line, cell in frame[table.columns["path"][0]].items(): ...

A file without a known heading has one column, `LINE`, of whole lines. `Table.notes` names guesses and skipped rows,
once the table was read to its end.
"""

from __future__ import annotations

import csv
import gzip
import html
import io
import logging
import re
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from data.encodings import SAVE_AS_UTF_8, encoding_of
from data.errors import BadInput, MissingDependency
from data.words import plural

if TYPE_CHECKING:
    import pandas as pd

_log = logging.getLogger(__name__)
LINE: Final = "line"
"""The column of a file without a known heading."""
EMPTY: Final = ("NA", "N/A", "n/a", "NaN", "nan", "#N/A", "NULL")
"""Cells of R, Python, Excel and databases that are empty."""
ROWS_AT_A_TIME: Final = 50_000
MAX_TITLES: Final = 25
"""Lines among which the heading is sought."""
MAX_LINE: Final = 2**20
MAX_SHEET_BYTES: Final = 2**28
MAX_UNPACKED_BYTES: Final = 32 * 2**30
MAX_EXPANSION: Final = 200  # tables of names shrink 5 to 15 times
SMALL_BYTES: Final = 16 * 2**20  # below this the expansion does not matter
_SEPARATORS: Final = "\t;,|"
_NONE: Final = "\x1f"  # separates nothing: one column of lines
_SAMPLE: Final = 200
SUFFIXES: Final = (".csv", ".tsv", ".tab", ".txt", ".xlsx")
_ENTITY: Final = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")
_LETTERS: Final = str.maketrans("łøđıŁØĐİ", "lodiLODI")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[^\W_]+")
_DAMAGE: Final = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, NotImplementedError)
_SAVE: Final = "Save the table as .xlsx or as CSV UTF-8."
_OTHERS: Final = {
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", _SAVE),
    b"%PDF": ("a PDF", "Give the table as CSV or .xlsx."),
    b"PAR1": ("a Parquet file", "Save the table as CSV."),
    b"SQLite format 3": ("a database", "Export the table as CSV."),
}
Headings = Mapping[str, Sequence[str]]
"""Meaning -> headings with it, the most specific first. Case, accents, order of words and signs do not matter."""


@dataclass(kw_only=True, slots=True)
class Table:
    """An open table; see `open_table`."""

    place: str
    """File, and table within a zip, for messages."""
    heading: tuple[str, ...] = (LINE,)
    """Headings as written, made unique; `LINE` alone without a known heading."""
    heading_line: int | None = None
    """Line of the heading; None without a known one."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Meaning -> columns of the table with it, the most specific first."""
    separator: str | None = None
    """Separator of the cells; without a known heading, the one that divides all lines alike, but titles."""
    notes: list[str] = field(default_factory=list)
    """Guesses and skipped rows, for people; complete after the last row."""
    first: tuple[str, ...] = ()
    """Cells of the first line below titles, for messages."""
    first_line: int = 1
    sample: tuple[tuple[str, ...], ...] = ()
    """Without a known heading: cells of the first lines, where a separator divides all alike."""
    frames: Callable[[int], Iterator[pd.DataFrame]] = lambda _: iter(())
    """The rows as in the file, so many at a time; `chunks` gives them cleaned."""

    def chunks(self, n_rows: int = ROWS_AT_A_TIME, *, every: bool = False) -> Iterator[pd.DataFrame]:
        """Yield the rows that are not blank: columns of `heading`, cells of text (empty if missing), line as index.

        Rows with more cells than the heading are skipped with a note, or refused where `every` row counts.

        Raises:
            BadInput: if all rows have more cells than the heading, or a row cannot be read; with the line.
        """
        n_read, long = 0, []
        for frame in self.frames(n_rows):
            frame = _cleaned(frame)
            width = len(self.heading)
            extra = (frame.iloc[:, width:] != "").any(axis=1)
            long += list(frame.index[extra])
            frame = frame.loc[~extra].iloc[:, :width]
            frame.columns = list(self.heading)
            n_read += len(frame)
            yield frame
        if long:
            what = f"{plural(len(long), 'row')} with more cells than the heading has (the first in line {long[0]})"
            if every or not n_read:
                hint = "Put quotation marks around cells that contain the separator, or save the table as .xlsx."
                raise self.refused(what, line=long[0], hint=hint)
            if f"{what} skipped" not in self.notes:
                self.notes.append(f"{what} skipped")

    @property
    def frame(self) -> pd.DataFrame:
        """All rows, as for `chunks` where every row counts."""
        import pandas as pd

        frames = list(self.chunks(every=True))
        return pd.concat(frames) if frames else pd.DataFrame({name: [] for name in self.heading}, dtype="str")

    def unused(self, used: Collection[str]) -> str:
        """Return a note of the columns that are not used; empty if all are."""
        names = [name for name in self.heading if name not in used]
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        return f"{plural(len(names), 'column')} not used: {shown}" if names else ""

    def refused(self, what: str, *, line: int | None = None, hint: str | None = None) -> BadInput:
        """Return an error with the place and line."""
        where = f"{self.place}: line {line}" if line else self.place
        return BadInput(f"{where}: {what}.", hint=hint)


def open_table(
    source: Path | bytes,
    headings: Headings,
    *,
    needed: Callable[[Collection[str]], bool] = bool,
    place: str = "",
    member: str | None = None,
) -> Table:
    """Open a table: delimited text, `.xlsx` (its first sheet with a known heading), or a zip or gzip file of one.

    Args:
        source: file, or its content.
        headings: the headings sought. The row that has most of them is the heading, rows above it are titles.
        needed: whether the meanings found in a row make it a heading; by default any.
        place: name of the source in messages, by default its path.
        member: name of the table in a zip; needed if there are several.

    Raises:
        BadInput: for anything that is no such table; with the line where there is one, and the remedy.
        MissingDependency: for a workbook without the extra `excel`.
    """
    place, reading, is_workbook = _opened(source, place or str(source), member)
    with _reading(reading, place) as stream:
        if re.match(rb"\W*<(!doctype\s+)?html", stream.read(512), re.IGNORECASE):
            hint = "Open it in a browser, and save its table."
            raise BadInput(f"{place} is a web page, expected a text table.", hint=hint)
    opened = _workbook if is_workbook else _text
    return opened(reading, place, headings, needed)


def read_text(source: Path | bytes, place: str = "", *, member: str | None = None) -> str:
    """Return the whole text of a file in any encoding, with line feeds as line ends; a guessed encoding is logged.

    Raises:
        BadInput: if there is no such file, or it is no text.
    """
    place, reading, is_workbook = _opened(source, place or str(source), member)
    if is_workbook:
        raise BadInput(f"{place} is an Excel workbook, expected text.", hint=SAVE_AS_UTF_8)
    encoding, notes = _encoding(reading, place)
    with _reading(reading, place) as stream:
        text = stream.read().decode(encoding)
    for note in notes:
        _log.warning("%s: %s", place, note)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def declared_table(
    source: Path | bytes,
    columns: Mapping[str, int],
    *,
    separator: str,
    has_quotes: bool,
    n_skipped: int,
    place: str = "",
    member: str | None = None,
) -> Table:
    """Open a table of a layout that another file states, as `meta.xml` of a Darwin Core archive.

    Args:
        source: file, or its content.
        columns: names of the columns and their positions; other columns get a number.
        separator: one character.
        has_quotes: whether quotation marks enclose cells; without, they do where they enclose a whole one.
        n_skipped: lines before the first row.
        place: as for `open_table`.
        member: as for `open_table`.

    Raises:
        BadInput: if it is no such file, or cannot be read.
    """
    place, reading, _ = _opened(source, place or str(source), member)
    encoding, notes = _encoding(reading, place)
    lines = partial(_lines, reading, encoding, place)
    width = max(columns.values(), default=0) + 1
    if has_quotes:
        quoting, n_columns = _quoting(lines, n_skipped, separator, width, place)
    else:
        n_cells = (line.count(separator) + 1 for line in islice(lines(), n_skipped, None))
        quoting, n_columns = csv.QUOTE_NONE, max(n_cells, default=1)
    named = {at: name for name, at in columns.items()}
    heading = tuple(named.get(at, f"column {at + 1}") for at in range(max(width, n_columns)))
    frames = partial(_text_frames, lines, n_skipped, separator, quoting, len(heading), place)
    return Table(
        place=place,
        heading=heading,
        heading_line=n_skipped,
        separator=separator,
        notes=notes,
        frames=frames if has_quotes else lambda n: map(_unquoted, frames(n)),
    )


def _unquoted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return cells without the quotation marks that enclose a whole one."""
    for name in frame:
        cells = frame[name]
        if (inside := cells.str.fullmatch(r'"[^\t]+"')).any():
            frame[name] = cells.mask(inside, cells.str.slice(1, -1).str.replace('""', '"', regex=False))
    return frame


def _opened(source: Path | bytes, place: str, member: str | None) -> tuple[str, Callable[[], BinaryIO], bool]:
    """Return the place of the table, a function that opens it, and whether it is a workbook."""

    def reading() -> BinaryIO:
        return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")

    try:
        with reading() as stream:
            head = stream.read(512)
    except FileNotFoundError as error:
        raise BadInput(f"File not found: {source!s}") from error
    except OSError as error:
        raise BadInput(f"{place} cannot be read: {error.strerror}.") from error
    if head.startswith(b"\x1f\x8b"):
        return place, lambda: cast(BinaryIO, gzip.open(reading())), False
    if head.startswith(b"PK\3\4"):
        return _of_zip(source, reading, place, member)
    for magic, (what, remedy) in _OTHERS.items():
        if head.startswith(magic):
            raise BadInput(f"{place} is {what}, expected a text table.", hint=remedy)
    return place, reading, False


def _of_zip(
    source: Path | bytes, reading: Callable[[], BinaryIO], place: str, member: str | None
) -> tuple[str, Callable[[], BinaryIO], bool]:
    def opened() -> zipfile.ZipFile:
        return zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)

    try:
        with opened() as archive:
            infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    except _DAMAGE as error:
        raise BadInput(f"{place} is damaged or incomplete: {error}") from error
    names = list(infos)
    if "xl/workbook.xml" in names:
        if (total := sum(info.file_size for info in infos.values())) > MAX_SHEET_BYTES:
            raise BadInput(f"{place} would unpack to {total:,} bytes.", hint="Save the sheet as CSV UTF-8.")
        return place, reading, True
    if "mimetype" in names and any(name.endswith("content.xml") for name in names):
        raise BadInput(f"{place} is an OpenDocument file, expected a text table.", hint=_SAVE)
    shown = [name for name in names if not PurePosixPath(name).name.startswith(".") and "__MACOSX" not in name]
    tables = [name for name in shown if PurePosixPath(name).suffix.lower() in SUFFIXES]
    certain = [name for name in tables if PurePosixPath(name).suffix.lower() != ".txt"]
    chosen = [name for name in names if name == member] if member else certain if len(certain) == 1 else tables
    if len(chosen) != 1:
        listed = ", ".join(tables[:5]) + (", ..." if len(tables) > 5 else "")
        found = f"{len(tables)} tables: {listed}" if tables else "no table"
        raise BadInput(f"{place} holds {found}; expected one.", hint="Unpack it, and give the table.")
    info = infos[chosen[0]]
    expands = info.file_size > SMALL_BYTES and info.file_size > MAX_EXPANSION * max(info.compress_size, 1)
    if expands or info.file_size > MAX_UNPACKED_BYTES:
        raise BadInput(
            f"{place}: {chosen[0]} would unpack to {info.file_size:,} bytes from {info.compress_size:,}.",
            hint="Unpack it yourself if you trust it, and give the table.",
        )

    def member_of() -> BinaryIO:
        with opened() as archive:  # the file stays open as long as its member is
            return cast(BinaryIO, archive.open(info))

    return f"{place}: {chosen[0]}", member_of, chosen[0].lower().endswith(".xlsx")


@contextmanager
def _reading(reading: Callable[[], BinaryIO], place: str) -> Iterator[BinaryIO]:
    """Open a file; damage is an error that names it, when it is opened or read."""
    try:
        with reading() as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise BadInput(f"{place} is no {error.encoding} text: {error.reason}.", hint=SAVE_AS_UTF_8) from error
    except _DAMAGE as error:
        raise BadInput(f"{place} cannot be read: {error}") from error


def _encoding(reading: Callable[[], BinaryIO], place: str) -> tuple[str, list[str]]:
    """Return the encoding, with a note if it is a guess."""
    with _reading(reading, place):
        encoding, is_guess = encoding_of(reading, place)
    names = {"cp125": "Windows-125", "mac_": "Macintosh ", "cp": "code page "}
    name = next((new + encoding.removeprefix(old) for old, new in names.items() if encoding.startswith(old)), encoding)
    note = f"read as {name.replace('_', ' ')} (a guess); if letters are wrong, save the file as UTF-8"
    return encoding, [note] if is_guess else []


def _lines(reading: Callable[[], BinaryIO], encoding: str, place: str) -> Iterator[str]:
    """Yield the lines of a file, which may end in any way, without their ends."""
    with _reading(reading, place) as stream:
        head = stream.read(2**16)
    end = "\r" if b"\r" in head[:-1] and b"\n" not in head else "\n"
    with _reading(reading, place) as stream:
        text = io.TextIOWrapper(stream, encoding, newline=end)
        number = 0
        while line := text.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise BadInput(f"{place}: line {number}: longer than {MAX_LINE:,} characters, expected a row.")
            yield line.rstrip("\r\n").replace("\r", " ")


def _text(
    reading: Callable[[], BinaryIO], place: str, headings: Headings, needed: Callable[[Collection[str]], bool]
) -> Table:
    encoding, notes = _encoding(reading, place)
    lines = partial(_lines, reading, encoding, place)
    head = list(islice(lines(), _SAMPLE))
    named = re.match(r'"?sep=(.)"?[;,\t]*$', head[0]) if head else None
    start = 1 if named else 0
    separators = [named[1]] if named else [_NONE, *_SEPARATORS]
    if head and re.match(r'"[^"]*" "', head[0]):  # R's write.table
        separators.append(" ")
    titles = _whole_rows(head[start : start + MAX_TITLES])
    rows = {each: [cells_of(text, each) for _, text in titles] for each in separators}
    at, separator = _heading_row(rows, headings, needed)
    table = Table(place=place, notes=notes, separator=separator)
    if at is None:
        shown = [(n, each) for n, each in enumerate(head[start:], start + 1) if each.strip() and each[0] != "#"]
        table.separator, n_titles = _common_separator([line for _, line in shown])
        below = [(n, tuple(cells_of(line, table.separator or _NONE))) for n, line in shown[n_titles:]]
        table.sample = tuple(cells for _, cells in below) if table.separator else ()
        table.first_line, table.first = below[0] if below else (start + 1, ())
        separator = _NONE
    else:
        cells = rows[separator][at]
        line = start + titles[at][0]
        below_it = [cells_of(each, separator) for each in head[line:] if each.strip()]
        numbers = [row[0] for row in below_it if len(row) == len(cells) + 1]
        if below_it and numbers == [str(n) for n in range(1, len(below_it) + 1)]:
            cells = ["row name", *cells]  # R's write.table
        _take_heading(table, cells, line, rows[separator][:at], headings)
        start = line
    width = len(table.heading)
    quoting, n_columns = _quoting(lines, start, separator, width, place)
    if quoting == csv.QUOTE_NONE:
        table.notes.append("quotation marks read as text")
    table.frames = partial(_text_frames, lines, start, separator, quoting, n_columns, place)
    return table


def _whole_rows(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the rows of the first lines, with the number of their last one: quotation marks may span some lines."""
    found, n = [], 0
    while n < len(lines):
        spans = (last for last in range(n, min(n + 5, len(lines))) if "".join(lines[n : last + 1]).count('"') % 2 == 0)
        last = next(spans, n)
        found.append((last + 1, "\n".join(lines[n : last + 1])))
        n = last + 1
    return found


def _take_heading(
    table: Table, cells: Sequence[str], line: int, above: Sequence[Sequence[str]], headings: Headings
) -> None:
    n_titles = sum(any(cell.strip() for cell in row) for row in above)
    table.notes += [f"{plural(n_titles, 'row')} above the heading skipped"] if n_titles else []
    table.heading = table.first = _unique(cells)
    table.heading_line = table.first_line = line
    table.columns = _by_meaning(table.heading, headings)


def _text_frames(
    lines: Callable[[], Iterator[str]],
    start: int,
    separator: str,
    quoting: int,
    n_columns: int,
    place: str,
    n_rows: int,
) -> Iterator[pd.DataFrame]:
    """Yield all rows, blank ones too, with the number of their first line as the index."""
    import pandas as pd

    feed = _Feed(islice(lines(), start, None))
    try:
        frames = pd.read_csv(
            cast(io.TextIOBase, feed), sep=separator, header=None, names=range(n_columns), index_col=False, dtype="str",
            na_filter=False, skip_blank_lines=False, quoting=cast(Any, quoting), lineterminator="\n",
            skipinitialspace=separator != "\t", engine="c", chunksize=n_rows,
        )  # fmt: skip
        line = start + 1
        for frame in filter(len, frames):
            spans = sum(frame[name].str.count("\n") for name in frame) + 1
            ends = line + spans.cumsum()
            frame.index = ends - spans
            line = int(ends.iloc[-1])
            yield frame
    except pd.errors.EmptyDataError:
        return
    except pd.errors.ParserError as error:
        raise BadInput(f"{place} cannot be read: {error}.") from error


class _Feed:
    """Lines as a text file of which pandas reads blocks."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def read(self, size: int = -1) -> str:
        block, n = [], 0
        for line in self._lines:
            block.append(line)
            n += len(line) + 1
            if 0 <= size <= n:
                break
        return "\n".join([*block, ""]) if block else ""

    def __iter__(self) -> Iterator[str]:
        return (f"{line}\n" for line in self._lines)


def _workbook(
    reading: Callable[[], BinaryIO], place: str, headings: Headings, needed: Callable[[Collection[str]], bool]
) -> Table:
    import pandas as pd

    table = Table(place=place)
    try:
        with reading() as stream:
            sheets = pd.read_excel(
                stream, sheet_name=None, header=None, dtype="str", na_filter=False, engine="openpyxl"
            )
    except ImportError as error:
        raise MissingDependency("openpyxl", extra="excel") from error
    except Exception as error:  # openpyxl raises whatever a damaged part leads to
        raise BadInput(f"{place} is damaged, expected an Excel workbook: {error}") from error
    found = {name: frame for name, frame in sheets.items() if frame.size}
    if not found:
        return table
    rows = {name: frame.head(MAX_TITLES).astype("str").values.tolist() for name, frame in found.items()}
    at, sheet = _heading_row(rows, headings, needed)
    frame = found[sheet]
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    if len(found) > 1:
        others = ", ".join(f'"{name}"' for name in found if name != sheet)
        table.notes.append(f'sheet "{sheet}" read, not {others}')
    if at is not None:
        _take_heading(table, rows[sheet][at], at + 1, rows[sheet][:at], headings)
        frame = frame.iloc[at + 1 :]
    else:
        table.sample = tuple(tuple(row) for row in rows[sheet] if any(row))
        table.first = table.sample[0] if table.sample else ()
        joined = ["\t".join(row).strip("\t") for row in frame.values.tolist()]
        table.separator = "\t" if any("\t" in line for line in joined) else None
        frame = pd.DataFrame({0: pd.Series(joined, index=frame.index, dtype="str")})
    frame.columns = range(frame.shape[1])
    table.frames = lambda _: iter([frame])
    return table


@cache
def _keys(text: str) -> tuple[frozenset[str], str]:
    """Return the words of a heading, in any order and joined, without case, accents and signs."""
    plain = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    joined = "".join(_WORDS.findall(plain.lower()))
    return frozenset(_WORDS.findall(_CAMEL.sub(" ", plain).lower())), joined


def _by_meaning(cells: Iterable[str], headings: Headings) -> dict[str, tuple[str, ...]]:
    """Return meaning -> cells with one of its headings, in the order of these."""
    shown = [cell for cell in cells if cell.strip()]
    keys = {key for cell in shown for key in _keys(cell)}
    found = {}
    for meaning, known in headings.items():
        matches = [
            cell
            for words, joined in map(_keys, known)
            if words in keys or joined in keys
            for cell in shown
            if words == _keys(cell)[0] or joined == _keys(cell)[1]
        ]
        if matches:
            found[meaning] = tuple(dict.fromkeys(matches))
    return found


def _heading_row(
    rows: Mapping[str, Sequence[Sequence[str]]], headings: Headings, needed: Callable[[Collection[str]], bool]
) -> tuple[int | None, str]:
    """Return the row with most of the headings, the first of equals, and the separator or sheet with it."""
    best: tuple[int, int, int, str] | None = None
    for key, listed in rows.items():
        most_above = 0  # titles have fewer cells than the heading
        for at, row in enumerate(listed):
            n_filled = sum(bool(cell.strip()) for cell in row)
            if not n_filled or row[0].lstrip().startswith("#"):
                continue
            meanings = _by_meaning(row, headings)
            if meanings and needed(meanings) and n_filled > most_above:
                rank = (len({cell for cells in meanings.values() for cell in cells}), -at, len(row), key)
                best = rank if best is None or rank[:3] > best[:3] else best
            most_above = max(most_above, n_filled)
    return (None, next(iter(rows))) if best is None else (-best[1], best[3])


def _common_separator(lines: Sequence[str]) -> tuple[str | None, int]:
    """Return the separator that divides all lines alike, in the most cells if several do, and the titles above them."""
    best: tuple[int, int, str | None] = (1, 0, None)
    for each in _SEPARATORS:
        widths = [len(cells_of(_ENTITY.sub("", line), each)) for line in lines]
        n_titles = next((n for n, width in enumerate(widths) if width == widths[-1]), 0)
        is_even = len({*widths[n_titles:]}) == 1 and max(widths[:n_titles], default=0) < widths[-1]
        if is_even and n_titles <= len(lines) / 2 and widths[-1] > best[0]:
            best = (widths[-1], n_titles, each)
    return best[2], best[1]


def cells_of(line: str, separator: str) -> list[str]:
    """Return the stripped cells of one line."""
    if _state(line, separator) == "open":
        return [cell.strip() for cell in line.split(separator)]
    rows = csv.reader([line], delimiter=separator, skipinitialspace=separator != "\t")
    return [cell.strip() for cell in next(rows, [])]


def _unique(cells: Sequence[str]) -> tuple[str, ...]:
    """Return headings that differ: with their number where two are the same or one is blank."""
    seen: Counter[str] = Counter()
    names = []
    for n, cell in enumerate(cells, 1):
        name = " ".join(html.unescape(cell).split()) or f"column {n}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    while len(names) > 1 and names[-1] == f"column {len(names)}":  # separators at the end of a line
        names.pop()
    return tuple(names)


def _state(line: str, separator: str) -> str:
    """Return whether the quotation marks of a line are `good`, `loose` (a cell goes on behind one) or left `open`."""
    if '"' not in line:
        return "good"
    space = separator != "\t"
    try:
        list(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=space))
        return "good"
    except csv.Error:
        pass
    try:
        read = list(csv.reader([line + "\n", "end"], delimiter=separator, skipinitialspace=space))
    except csv.Error:  # a cell longer than those of csv
        return "open"
    return "loose" if len(read) == 2 else "open"


def _quoting(lines: Callable[[], Iterator[str]], start: int, separator: str, width: int, place: str) -> tuple[int, int]:
    """Return the use of quotation marks (of `csv`) in the lines after `start`, and the most cells of a row.

    A file that quotes closes each mark, in the same line or below. Where each line alone has the cells of the heading,
    marks that are not closed so are text, as in the tables of GBIF.
    """
    most, n_odd, first_open = width, 0, 0
    states: Counter[str] = Counter()
    for number, line in enumerate(islice(lines(), start, None), start + 1):
        if line.strip():
            n = line.count(separator) + 1
            most = max(most, n)
            n_odd += n != width
            states[state := _state(line, separator)] += 1
            first_open = first_open or (number if state == "open" else 0)
    if not states["open"] and not states["loose"]:
        return csv.QUOTE_MINIMAL, most
    if not n_odd:
        return csv.QUOTE_NONE, most
    if not first_open:
        return csv.QUOTE_MINIMAL, most
    rows = csv.reader(
        (f"{line}\n" for line in islice(lines(), start, None)),
        delimiter=separator, strict=True, skipinitialspace=separator != "\t",
    )  # fmt: skip
    try:
        return csv.QUOTE_MINIMAL, max(most, max(map(len, rows), default=0))
    except csv.Error as error:
        if separator in ("\t", _NONE):
            return csv.QUOTE_NONE, most
        what = "a quotation mark opens a cell and is not closed"
        hint = "Close the quotation mark or delete it, or save the table as .xlsx."
        raise BadInput(f"{place}: line {first_open}: {what}.", hint=hint) from error


def _cleaned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not blank: cells stripped, entities as letters, empty where they mean that."""
    frame = frame.copy()
    for name in frame:
        cells = frame[name].str.strip()
        if (coded := cells.str.contains("&", regex=False)).any():
            cells = cells.mask(coded, cells[coded].map(lambda cell: _ENTITY.sub(lambda e: html.unescape(e[0]), cell)))
        frame[name] = cells.mask(cells.isin(EMPTY), "")
    return frame[(frame != "").any(axis=1)]
