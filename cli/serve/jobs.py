"""Verbs that the server starts: a process each, so that their work and its errors are those of the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from threading import Thread
from typing import TYPE_CHECKING

from cli.common.exit_codes import PARTLY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def command(*arguments: str | Path) -> list[str]:
    """Return the command of a verb in this Python."""
    return [sys.executable, "-c", "from cli.main import main; main()", *map(str, arguments)]


def environment() -> Mapping[str, str]:
    """Return the variables of a verb, which finds the modules that this process has."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Verb:
    """A verb in a process, followed on a thread.

    Args:
        name: the verb.
        arguments: its arguments.
        folder: where it runs, by default here.
        then: called at its end, unless it has failed.
    """

    def __init__(
        self, name: str, *arguments: str | Path, folder: Path | None = None, then: Callable[[], None] = lambda: None
    ) -> None:
        self.name = name
        self.said: deque[str] = deque(maxlen=20)
        """Its last messages."""
        self.done = self.total = 0
        self.printed = ""
        """Its results, at its end."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command(name, *arguments), stdout=pipe, stderr=pipe, text=True, errors="replace", env=environment(),
            cwd=folder,
        )  # fmt: skip
        self._following = Thread(target=self._follow, args=(then,), daemon=True)
        self._following.start()

    def _follow(self, then: Callable[[], None]) -> None:
        assert self._process.stdout is not None and self._process.stderr is not None  # pipes
        with self._process.stdout as out, self._process.stderr as lines:
            for line in lines:
                try:
                    progress = json.loads(line)
                    self.done, self.total = int(progress["done"]), int(progress["total"])
                except (ValueError, KeyError, TypeError):
                    self.said.append(line.strip())
            self.printed = out.read()
        if self._process.wait() in (0, PARTLY):
            then()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._following.is_alive()

    @property
    def has_failed(self) -> bool:
        """Whether it ended with an error."""
        return not self.is_running and self._process.returncode != 0

    def stop(self) -> None:
        """Stop the process if it runs; finished work is kept."""
        if self.is_running:
            self._process.terminate()
            self._process.wait()


def state_of(run: Verb | None) -> dict[str, object]:
    """Return how far a verb is, as JSON values for the page."""
    if run is None:
        return {"is_running": False}
    said = f"{run.done:,} of {run.total:,}" if run.total else run.said[-1] if run.said else ""
    return {"is_running": run.is_running, "done": run.done, "total": run.total, "said": said}
