"""Verbs that the server starts: a process each, so that their work and its errors are those of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def command(*arguments: str | Path) -> list[str]:
    """Return the command of a verb in this Python."""
    return [sys.executable, "-c", "from cli.main import main; main()", *map(str, arguments)]


def environment() -> Mapping[str, str]:
    """Return the variables of a verb, which finds the modules that this process has."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Verb:
    """A verb in a process; its messages are kept, the last ones alone."""

    def __init__(self, *arguments: str | Path) -> None:
        self.said: deque[str] = deque(maxlen=20)
        self._process = subprocess.Popen(
            command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()
        )
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stderr is not None  # piped
        with self._process.stderr as lines:
            self.said.extend(line.strip() for line in lines)

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def has_failed(self) -> bool:
        """Whether it ended with an error."""
        return bool(self._process.poll())

    def stop(self) -> None:
        """Stop the process; finished work is kept."""
        self._process.terminate()
        self._process.wait()
