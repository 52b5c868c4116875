"""Work on a node of a Ray cluster: tasks made from recipes, with models loaded once a process."""

from __future__ import annotations

import json
import os
import socket
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from data.engines.contract import Recipe, ShardTask
from data.engines.shards import Shard
from data.errors import FieldmarkError
from data.version import fieldmark_version


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

    def run(self, recipe: Recipe, shard: Shard) -> tuple[Shard, bytes | Exception, bool]:
        """Return a shard, its packed results or error, and whether a run that resumes may take them."""
        try:
            key = json.dumps(asdict(recipe), sort_keys=True)
            if key not in self._tasks:
                self._tasks[key] = named(recipe.make)(self._loaders, **recipe.arguments)
            task = self._tasks[key]
            results = list(task.stream([task.receive(each) for each in shard.shipped]))
            return shard, task.pack(results), task.is_final(results)
        except Exception as error:
            if not isinstance(error, FieldmarkError):
                error.add_note(f"On node {socket.gethostname()}:\n{traceback.format_exc()}")
            return shard, error, False


def named(name: str) -> Callable[..., Any]:
    """Return the function or class `module:name`."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
