"""A process that runs one `kb` command after another with encoders in memory; its crash is an end like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.faults.running import CONTEXT, LIMIT_S, Ended


class Worker:
    """The process, started with the first command and again after a crash."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def run(self, arguments: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> Ended:
        """Return how the command ended; the code is negative if it took the process with it."""
        if self._process is None:
            self._pipe, theirs = CONTEXT.Pipe()
            self._process = CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        self._pipe.send(([str(argument) for argument in arguments], folder, dict(environment)))
        try:
            if self._pipe.poll(LIMIT_S):
                return Ended(**self._pipe.recv())
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            self._process = None
            return Ended(code=code, stdout="", stderr="the process died")
        self.close()
        return Ended(code=None, stdout="", stderr=f"no end within {LIMIT_S} s")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Any) -> None:
    from functools import cache

    from click.testing import CliRunner

    from cli.main import commands
    from recognize.encoders.profiles import LOADERS

    LOADERS["starter"] = cache(LOADERS["starter"])
    while True:
        try:
            arguments, folder, environment = pipe.recv()
        except EOFError:
            return
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        result = CliRunner().invoke(commands, arguments, prog_name="kb")
        pipe.send({"code": result.exit_code, "stdout": result.stdout, "stderr": result.stderr})
