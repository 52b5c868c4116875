"""A task for tests: halves of numbers. Each number that is worked on is a line of a log."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.engines.contract import Loaders, Recipe
from data.engines.packing import pack, unpack
from data.errors import BadInput

MEETING_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The task."""

    log: str
    pause_s: float = 0.0
    die_at: int = -1
    """Number at which the process dies, the first time."""
    always_dies: bool = False
    bad: int = -1
    """Number that raises an error of Fieldmark."""
    odd: int = -1
    """Number that raises another error."""
    unreadable: int = -1
    """Number whose half is NaN the first time."""
    awaited: int = -1
    """Number for which 0 waits: another process must be at it."""
    holds: bool = False
    """Whether the first shard of two numbers on the second node waits at its second one to be killed."""
    n_workers: int = 1
    """Processes to wait for at the first numbers."""
    n_later: int = 1
    """The same from number 30 on; dead processes count."""
    shard_size: int = 4

    @property
    def recipe(self) -> Recipe:
        return Recipe(make="tests.data.engines.halves:task_on_node", arguments=asdict(self))

    def stream(self, items: Iterable[int]) -> Iterator[float]:
        for at, item in enumerate(items):
            with Path(self.log).open("a") as log:
                log.write(f"{item} {os.getpid()}\n")
            self._meet(self.n_later if item >= 30 else self.n_workers)
            if item == 0 and self.awaited >= 0:
                wait_for(lambda: self.awaited in worked_on(Path(self.log)))
            held = Path(f"{self.log}.held")
            if self.holds and at == 1 and os.environ.get("FIELDMARK_TEST_NODE") == "second" and not held.exists():
                held.write_text(str(os.getpid()))
                time.sleep(MEETING_S)
            died = Path(f"{self.log}.died")
            if item == self.die_at and (self.always_dies or not died.exists()):
                died.touch()
                time.sleep(1)  # the results of the shard before arrive
                os._exit(1)
            if item == self.bad:
                raise BadInput("no half", hint="an even number")
            if item == self.odd:
                raise ZeroDivisionError("odd")
            time.sleep(self.pause_s)
            was_read = Path(f"{self.log}.read")
            yield item / 2 if item != self.unreadable or was_read.exists() else math.nan
            if item == self.unreadable:
                was_read.touch()

    def _meet(self, n: int) -> None:
        if n > 1:
            wait_for(lambda: len(pids(Path(self.log))) >= n)

    def ship(self, item: int) -> int:
        return item

    def receive(self, shipped: int) -> int:
        return shipped

    def is_final(self, results: Sequence[float]) -> bool:
        """Return whether no number was unreadable."""
        return not np.isnan(results).any()

    def pack(self, results: Sequence[float]) -> bytes:
        return pack(None, [np.array(results)])

    def unpack(self, packed: bytes) -> list[float]:
        return unpack(packed)[1][0].tolist()


def task_on_node(_loaders: Loaders, **arguments: Any) -> Halves:
    """Return the task on a node."""
    return Halves(**arguments)


def numbers_and_error(n: int) -> Iterator[int]:
    """Yield the first `n` numbers, and then raise an error as a folder does that cannot be listed."""
    yield from range(n)
    raise OSError("unreadable folder")


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so; raise `TimeoutError` after `MEETING_S`."""
    end = time.monotonic() + MEETING_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"not so after {MEETING_S} s")
        time.sleep(0.02)


def pids(log: Path) -> set[str]:
    """Return the processes in a log."""
    return {line.split()[1] for line in log.read_text().splitlines()} if log.exists() else set()


def worked_on(log: Path) -> list[int]:
    """Return the numbers in a log, in order of work."""
    return [int(line.split()[0]) for line in log.read_text().splitlines()] if log.exists() else []
