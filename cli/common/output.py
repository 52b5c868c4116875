"""Results to stdout; warnings, the log and progress to stderr: text, tables, JSON, bars."""

from __future__ import annotations

import io
import json
import logging
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import click

if TYPE_CHECKING:
    from data.records import Progress

# Control characters in texts of a wiki or a model must not reach the terminal, nor characters that turn the direction
# of the text around them; line ends and tabs stay.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
UNLIMITED_WIDTH = 10_000  # columns; nothing is cut off when a program reads the output
_LONGEST_WORD = 24  # "Troglodytes-troglodytes" is not broken in tables, paths and addresses are
MOST_NAMES = 10  # in a message
SHORTEST_SECRET = 12  # characters; a placeholder such as "none" is no secret, and may be a word of a result
_hidden: set[str] = set()
_BETWEEN = 3  # columns of space from one column of a table to the next


def hide(secret: str) -> None:
    """Mask a secret from now on in all that this process writes, whatever error or library repeats it."""
    if len(secret) >= SHORTEST_SECRET:
        _hidden.add(secret)


def write(text: str) -> None:
    """Write one result to stdout, without control characters; those in JSON are escaped already."""
    click.echo(printable(text))


def write_rows(rows: str) -> None:
    """Write rows, which end their lines themselves, to stdout; a terminal gets no control characters."""
    click.echo(printable(rows) if sys.stdout.isatty() else _masked(rows), nl=False)


def note(text: str) -> None:
    """Write a message to stderr, in lines that fit its terminal, without control characters."""
    click.echo("\n".join(_fitted(line, note_width()) for line in printable(text).split("\n")), err=True)


def warn(text: str) -> None:
    """Write a warning to stderr."""
    note(f"warning: {as_one_message(text)}")  # it may hold names of files and labels of other people's data


def fail(message: str, hint: str | None) -> None:
    """Write an error and its hint to stderr."""
    note(f"error: {as_one_message(message)}")
    if hint:
        note(f"hint: {as_one_message(hint)}")


def as_one_message(text: str) -> str:
    """Return a text with its further lines set in, so that a server's text cannot pass for a message of ours."""
    return text.replace("\n", "\n  ")


def printable(text: str) -> str:
    """Return the text without secrets and control characters, such as escape codes in names of files."""
    return _masked(_STEERING.sub("", text))


def _masked(text: str) -> str:
    for secret in _hidden:
        text = text.replace(secret, "***")
    return text


LOGGERS: Final = ("cli", "data", "kb", "papers", "recognize", "rerank")


class _Printer(logging.Handler):
    """Writes warnings as all others, and further records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            warn(record.getMessage())
        else:
            note(as_one_message(self.format(record)))


_printer = _Printer()


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Within the block, write the log of our packages to stderr: warnings, or what `set_log_level` wants."""
    set_log_level("warning")
    for name in LOGGERS:
        logging.getLogger(name).addHandler(_printer)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(_printer)
            logging.getLogger(name).setLevel(logging.NOTSET)


def set_log_level(name: str) -> None:
    """Set the least level of the log: `debug`, `info`, `warning`, `error`."""
    level: int = getattr(logging, name.upper())
    for package in LOGGERS:
        logging.getLogger(package).setLevel(level)
    # It takes half a minute on first use, which everybody is told.
    logging.getLogger("kb.shipped").setLevel(min(level, logging.INFO))
    is_wanted = level < logging.WARNING
    _printer.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s" if is_wanted else None))


def as_json(payload: object) -> str:
    """Return plain JSON values, indented for people; records go through `data.codec.to_json` first."""
    return _escaped(json.dumps(payload, indent=2, ensure_ascii=False))


def json_lines(records: Iterable[object]) -> str:
    """Return records as JSON, one a line."""
    from data.codec import to_json

    return "".join(_escaped(json.dumps(to_json(record), ensure_ascii=False)) + "\n" for record in records)


def _escaped(text: str) -> str:
    """Return JSON with the control characters that it may hold as they are, DEL and later ones, in escapes."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_record(form: str, record: object, text: Callable[[], str]) -> None:
    """Write a record to stdout: as JSON with the form `json`, else its text."""
    from data.codec import to_json

    write(as_json(to_json(record)) if form == "json" else text())


def as_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Iterable[str] = (),
    spare: Sequence[str] = (),
) -> str:
    """Return the rows under their columns; numbers get three decimals, None is empty, `right` is set to the right.

    In a narrow terminal cells wrap between words; if that is not enough, the columns of `spare` are left out, the last
    one first, and named below the table with the way to see them. Words and numbers stay whole, unless they are longer
    than a name.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    texts = list(zip(map(_cell, columns), *([_cell(value) for value in row] for row in rows), strict=True))
    widths = _column_widths(texts)
    left_out: list[str] = []
    for column in reversed([column for column in spare if column in columns]):
        if _table_width(widths) > line_width():
            left_out.insert(0, column)
            texts = [one for one in texts if one[0] != column]
            widths = _column_widths(texts)
    for (column, *_), width in zip(texts, widths, strict=True):
        side: Literal["left", "right"] = "right" if column in set(right) else "left"
        table.add_column(Text(column), justify=side, overflow="fold", width=width)
    for row in list(zip(*texts, strict=True))[1:]:
        table.add_row(*map(Text, row))
    out = io.StringIO()
    # Rendered without colours: the same bytes whether a person or a program reads them.
    Console(file=out, width=_table_width(widths), color_system=None, highlight=False).print(table)
    lines = [line.rstrip() for line in out.getvalue().rstrip().splitlines()]
    if left_out:
        lines.append(wrapped(f"(no room for {', '.join(left_out)}; a wider window shows all, and so does | less -S)"))
    return "\n".join(lines)


def as_fields(values: Mapping[str, object]) -> str:
    """Return `name  value` lines with the values in one column; None and empty values are left out."""
    shown = {name: _cell(value) for name, value in values.items() if value is not None and value != ""}
    width = max((len(name) for name in shown), default=0)
    return "\n".join(
        _fitted(value, line_width(), f"{name:<{width}}  ", hanging=" " * (width + 2)) for name, value in shown.items()
    )


def wrapped(text: str, *, indent: str = "") -> str:
    """Return the text in lines that fit the terminal, each after `indent`; one line in a pipe or file."""
    return _fitted(text, line_width(), indent)


def _fitted(text: str, width: int, indent: str = "", *, hanging: str | None = None) -> str:
    """Return the text in lines of a width, the first after `indent`, the others after `hanging`, else `indent` too."""
    import textwrap

    if len(indent) + len(text) <= width or width == UNLIMITED_WIDTH:
        return indent + text
    return textwrap.fill(
        text,
        width=width,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,  # paths and addresses stay whole
        break_on_hyphens=False,
    )


def line_width() -> int:
    """Return the columns of the terminal on stdout; `UNLIMITED_WIDTH` for a pipe or file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED_WIDTH


def note_width() -> int:
    """Return the columns of the terminal on stderr; `UNLIMITED_WIDTH` for a pipe or file."""
    return shutil.get_terminal_size().columns if sys.stderr.isatty() else UNLIMITED_WIDTH


def first_few(names: Sequence[str], *, rest: str = "") -> str:
    """Return at most ten names, and the number of others; `rest` says where these are."""
    n = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f"; and {n:,} more{rest}" if n > 0 else "")


def _column_widths(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column: of its longest text, less for the widest columns if the line is too long."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, texts), default=0) or 1 for texts in columns]
    words = [max((cell_len(word) for text in texts for word in text.split()), default=0) for texts in columns]
    least = [max(1, min(word, _LONGEST_WORD)) for word in words]
    for _ in range(_table_width(widths) - line_width()):
        free = [i for i, width in enumerate(widths) if width > least[i]]
        if not free:
            break
        widths[max(free, key=widths.__getitem__)] -= 1
    return widths


def _table_width(widths: Sequence[int]) -> int:
    return sum(widths) + _BETWEEN * max(0, len(widths) - 1)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:z.3f}" if isinstance(value, float) else printable(str(value))


ProgressForm = Literal["auto", "jsonl"]
"""Bars or lines for people, whichever stderr can show; or lines of JSON for a program that reads stderr."""

LINE_EVERY_S = 10.0  # where stderr is not a terminal
JSON_EVERY_S = 1.0

ItemT = TypeVar("ItemT")


Meter = Callable[..., None]
"""Shows (name, done, total, failed) counts; a total of 0 is not known yet."""


@contextmanager
def stage_progress(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows the progress of a build, stage by stage, with failures and the time left."""
    with named_calls(quiet=quiet) as meter:
        yield lambda progress: meter(progress.stage, progress.done, progress.total, progress.failed)


def counted(
    items: Iterable[ItemT],
    total: int,
    noun: str,
    *,
    quiet: bool,
    form: ProgressForm = "auto",
    failed: Callable[[ItemT], bool] = lambda _item: False,
) -> Iterator[ItemT]:
    """Yield the items and show how many of `total` are done, and how many failed."""
    n_failed = 0
    with named_calls(quiet=quiet, form=form) as meter:
        for done, item in enumerate(items, 1):
            yield item
            n_failed += failed(item)
            meter(noun, done, total, n_failed)


@contextmanager
def counted_calls(noun: str, total: int, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Give a function of (done, failed) that shows them out of `total`."""
    with named_calls(quiet=quiet) as meter:
        yield lambda done, failed: meter(noun, done, total, failed)


def progress_line(name: str, done: int, total: int, failed: int = 0, *, seconds: float, kept: int = 0) -> str:
    """Return the progress of a run after `seconds` as a line for people; `kept` were done before."""
    parts = [f"{name} {done:,} of {total:,}" if total else f"{name} {done:,}"]
    if failed:
        parts.append(f"{failed:,} failed")
    parts.append(f"{seconds:.0f} s")
    if kept < done < total:
        parts.append(f"about {seconds / (done - kept) * (total - done):.0f} s left")
    return ", ".join(parts)


def json_line(name: str, done: int, total: int, failed: int = 0, *, seconds: float, kept: int = 0) -> str:
    """Return the same as a line of JSON; `left_s` is null where unknown."""
    left = round(seconds / (done - kept) * max(0, total - done), 1) if done > kept and total else None
    known: dict[str, object] = {"progress": name, "done": done, "total": total or None, "failed": failed}
    return json.dumps({**known, "seconds": round(seconds, 1), "left_s": left})


@contextmanager
def named_calls(*, quiet: bool, form: ProgressForm = "auto") -> Iterator[Meter]:
    """Give a function of (noun, done, total, failed) that shows several counts, one after the other."""
    if quiet:
        yield lambda *_: None
    elif form == "auto" and sys.stderr.isatty():
        with _bars() as meter:
            yield meter
    else:
        line, every_s = (json_line, JSON_EVERY_S) if form == "jsonl" else (progress_line, LINE_EVERY_S)
        with closing(_LineMeter(line, every_s=every_s)) as lines:
            yield lines


class _LineMeter:
    """A line at the end of each stage, and now and then in a long one."""

    def __init__(self, line: Callable[..., str], *, every_s: float) -> None:
        self._line, self._every_s = line, every_s
        self._last: tuple[str, int, int, int] | None = None
        self._is_shown = False
        self._began = self._written = 0.0
        self._kept = 0
        """Done before the first call, by an earlier run."""

    def __call__(self, name: str, done: int, total: int, failed: int = 0) -> None:
        now = time.monotonic()
        if self._last is None or self._last[0] != name or done < self._last[1]:  # another stage, or another count of it
            self.close()
            self._began = self._written = now
            self._kept = done
        self._last, self._is_shown = (name, done, total, failed), False
        if now - self._written >= self._every_s:
            self._write()

    def close(self) -> None:
        """Write the last counts, unless there was nothing to do."""
        if self._last is not None and (self._last[1] or self._last[2]) and not self._is_shown:
            self._write()
        self._last = None

    def _write(self) -> None:
        if self._last is not None:
            self._written, self._is_shown = time.monotonic(), True
            note(self._line(*self._last, seconds=self._written - self._began, kept=self._kept))


@contextmanager
def _bars() -> Iterator[Meter]:
    """Give a function that shows a bar for each name."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:<8}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[failed]}"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, progress.TaskID] = {}

        def show(name: str, done: int, total: int, failed: int = 0) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total or None, completed=done, failed="")
            text = f"{failed:,} failed" if failed else ""
            bars.update(tasks[name], completed=done, total=total or None, failed=text)

        yield show
