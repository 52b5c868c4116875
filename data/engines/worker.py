"""Work on a node: tasks made from recipes, models loaded once, and errors as plain values."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from data.engines.contract import Recipe, ShardTask
from data.errors import FieldmarkError
from data.version import fieldmark_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Packed results of a shard, or an error of Fieldmark: its class, message and hint."""

    packed: bytes = b""
    is_final: bool = True
    """Whether a run that resumes may take these results."""
    error: str = ""
    """`module:class`; empty for none."""
    message: str = ""
    hint: str | None = None
    raised: Exception | None = None
    """Another error of the shard, where the run was started."""

    @property
    def is_error(self) -> bool:
        """Whether there are no results."""
        return bool(self.error) or self.raised is not None

    def results(self) -> bytes:
        """Return the packed results.

        Raises:
            Exception: the error, of its own class.
        """
        if self.raised is not None:
            raise self.raised
        if not self.error:
            return self.packed
        kind: Any = named(self.error)
        error: FieldmarkError = kind.__new__(kind)  # classes of errors have signatures of their own
        FieldmarkError.__init__(error, self.message, hint=self.hint)
        raise error


class Worker:
    """Runs shards of any task in this process."""

    def __init__(self, loaders: Mapping[str, str], *, folder: str = ".") -> None:
        """Keep the loaders: kind of models -> `module:function`, and work in the folder of relative paths."""
        if Path(folder).is_dir():
            os.chdir(folder)
        self._loaders = {kind: cache(named(loader)) for kind, loader in loaders.items()}
        self._tasks: dict[str, ShardTask[Any, Any]] = {}

    def hello(self) -> tuple[str, str]:
        """Return the name of this machine and its version of Fieldmark."""
        return socket.gethostname(), fieldmark_version()

    def run(self, recipe: Recipe, shipped: Sequence[Any]) -> Outcome:
        """Return the outcome of a shard; errors that are not Fieldmark's rise."""
        try:
            key = json.dumps(asdict(recipe), sort_keys=True)
            if key not in self._tasks:
                self._tasks[key] = named(recipe.make)(self._loaders, **recipe.arguments)
            task = self._tasks[key]
            results = list(task.stream([task.receive(each) for each in shipped]))
            return Outcome(packed=task.pack(results), is_final=task.is_final(results))
        except FieldmarkError as error:
            kind = f"{type(error).__module__}:{type(error).__qualname__}"
            return Outcome(error=kind, message=str(error), hint=error.hint)


def named(name: str) -> Callable[..., Any]:
    """Return the function or class `module:name`."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
