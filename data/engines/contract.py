"""The contract of engines: a task, its items, and the machine or machines that do the work.

A task says what is done to items. An engine says where: `LOCAL` in this process, with the threads of the task, or
`data.engines.ray_engine.RayEngine` on the nodes of a cluster. Results are the same, in the order of the items. What
travels between machines are JSON values and arrays in bytes, without pickle, and files by their paths.
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from data.errors import MissingRequirement
from data.files import file_state

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

Loaders = Mapping[str, Callable[[str], Any]]
"""Kind of models -> their loader by name: `encoders`, `text_image_encoder`. Each name is loaded once a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that a task depends on, as JSON values, for other processes to make it."""

    make: str
    """`module:function`, called with the loaders and the arguments."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class ShardTask(Protocol[ItemT, ResultT]):
    """Work on many items with models that are loaded once; a subclass may ship its items as they are."""

    @property
    def shard_size(self) -> int:
        """Items that a node takes at once, about; they are repeated if it dies."""

    @property
    def recipe(self) -> Recipe:
        """Recipe of this task for a node."""

    def stream(self, items: Iterable[ItemT]) -> Iterator[ResultT]:
        """Yield the results in the order of the items; a result may cover several items."""

    def ship(self, item: ItemT) -> Any:  # noqa: ANN401  # any JSON value
        """Return what a node needs of an item, as JSON values; equal values have equal results."""
        return item

    def receive(self, shipped: Any) -> ItemT:  # noqa: ANN401  # any JSON value
        """Return the item on a node.

        Raises:
            MissingRequirement: if the node does not see its files.
        """
        item: ItemT = shipped
        return item

    def is_final(self, results: Sequence[ResultT]) -> bool:
        """Return whether no result is an error that may pass; others are not kept for a run that resumes."""
        return True

    def pack(self, results: Sequence[ResultT]) -> bytes:
        """Return the results of a shard in bytes."""

    def unpack(self, packed: bytes) -> list[ResultT]:
        """Return the results in these bytes, each value as `stream` yields it."""


class Engine(Protocol):
    """Runs tasks."""

    def map(self, task: ShardTask[ItemT, ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
        """Yield the results of a task in the order of the items, which are taken a little ahead."""


class ItemsToError(Iterator[ItemT], Generic[ItemT]):
    """Items up to the first error of their iterator.

    Items are taken ahead of the results. The error waits, so that the results before it are handed out and stored.
    """

    def __init__(self, items: Iterable[ItemT]) -> None:
        self._items = iter(items)
        self._error: Exception | None = None

    def __next__(self) -> ItemT:
        """Return the next item; after an error there is none."""
        if self._error is not None:
            raise StopIteration
        try:
            return next(self._items)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise StopIteration from None

    def raise_error(self) -> None:
        """Raise the error, if there was one; for the time when all results are handed out."""
        if self._error is not None:
            raise self._error


class LocalEngine:
    """This process."""

    def map(self, task: ShardTask[ItemT, ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
        """Yield what the task yields: its own threads work ahead. An error of the items comes after all results."""
        until_error = ItemsToError(items)
        yield from task.stream(until_error)
        until_error.raise_error()


LOCAL = LocalEngine()


def pack(values: object, arrays: Sequence[NDArray[Any]]) -> bytes:
    """Return JSON values and arrays in bytes; `unpack` returns equal ones."""
    out = io.BytesIO()
    text = json.dumps(values).encode()  # ASCII, so that file names of other encodings keep their bytes
    np.savez(out, *arrays, values=np.frombuffer(text, dtype=np.uint8))
    return out.getvalue()


def unpack(packed: bytes) -> tuple[Any, list[NDArray[Any]]]:
    """Return the JSON values and the arrays of `pack`."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        arrays = [file[f"arr_{number}"] for number in range(len(file.files) - 1)]
        return json.loads(file["values"].tobytes()), arrays


def shipped_path(path: str | Path) -> list[Any]:
    """Return path, size and modification time of a file; without the last two for a missing file."""
    return [str(path), *(file_state(Path(path)) or ())]


def path_on_node(shipped: list[Any]) -> str:
    """Return the path of a file that the machine which started the run sees with the same size.

    Times are not compared, since file systems round them.

    Raises:
        MissingRequirement: if this machine does not see it, or sees another file.
    """
    path, *state = shipped
    here = file_state(Path(path))
    if state and (here is None or here[0] != state[0]):
        problem = "does not exist" if here is None else "is another file"
        raise MissingRequirement(
            f"{path} {problem} on node {socket.gethostname()}.",
            hint="All nodes need the same files at the same paths, for example on a shared file system.",
        )
    return str(path)
