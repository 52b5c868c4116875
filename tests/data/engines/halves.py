"""A task for tests: halves of numbers. Each number that is worked on is a line of a log."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.engines.contract import Loaders, Recipe, pack, unpack
from data.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The task. At `die_at` the process dies, the first time; `bad` and `odd` raise errors, `bad` one of Fieldmark."""

    log: str
    die_at: int = -1
    always_dies: bool = False
    bad: int = -1
    odd: int = -1
    shard_size: int = 4

    @property
    def recipe(self) -> Recipe:
        return Recipe(make="tests.data.engines.halves:task_on_node", arguments=asdict(self))

    def stream(self, items: Iterable[int]) -> Iterator[float]:
        for item in items:
            with Path(self.log).open("a") as log:
                log.write(f"{item}\n")
            died = Path(f"{self.log}.died")
            if item == self.die_at and (self.always_dies or not died.exists()):
                died.touch()
                os._exit(1)
            if item == self.bad:
                raise BadInput("no half", hint="an even number")
            if item == self.odd:
                raise ZeroDivisionError("odd")
            yield item / 2

    def ship(self, item: int) -> int:
        return item

    def receive(self, shipped: int) -> int:
        return shipped

    def is_final(self, results: Sequence[float]) -> bool:
        return True

    def pack(self, results: Sequence[float]) -> bytes:
        return pack(None, [np.array(results)])

    def unpack(self, packed: bytes) -> list[float]:
        return unpack(packed)[1][0].tolist()


def task_on_node(_loaders: Loaders, **arguments: Any) -> Halves:
    return Halves(**arguments)


def numbers_and_error(n: int) -> Iterator[int]:
    """Yield the first `n` numbers, and then raise an error as a folder does that cannot be listed."""
    yield from range(n)
    raise OSError("unreadable folder")


def worked_on(log: Path) -> list[int]:
    """Return the numbers in a log, in order of work."""
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []
