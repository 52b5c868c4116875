"""Progress of long runs on stderr: bars on a terminal, occasional lines in a file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Literal, TypeVar

from cli.common.output import note
from data.records import Progress

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
        self._began = self._written = 0.0
        self._kept = 0
        """Done before the first call, by an earlier run."""

    def __call__(self, name: str, done: int, total: int, failed: int = 0) -> None:
        now = time.monotonic()
        if self._last is None or self._last[0] != name:
            self.close()
            self._began = self._written = now
            self._kept = done
        self._last = (name, done, total, failed)
        if now - self._written >= self._every_s:
            self._write()

    def close(self) -> None:
        """Write the last counts, unless there was nothing to do."""
        if self._last is not None and (self._last[1] or self._last[2]):
            self._write()
        self._last = None

    def _write(self) -> None:
        if self._last is not None:
            self._written = time.monotonic()
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
