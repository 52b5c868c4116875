"""`kb` in processes forked from one that has imported everything: a kill hits the work, seldom the imports."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IMPORTS = ("cli.main", "chromadb", "onnxruntime", "httpx", "pandas", "pyarrow.parquet", "wikipediaapi", "bs4")
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([*IMPORTS, __name__])
LIMIT_S = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """End of a run of `kb`; the code is negative after a signal, None if the run did not end in time."""

    code: int | None
    stdout: str
    stderr: str

    @property
    def is_clear(self) -> bool:
        return self.code in (0, 1, 2, 3, 5, 6, 7) and "Traceback" not in self.stderr

    def __str__(self) -> str:
        return f"exit code {self.code}: {self.stderr.strip()[-1500:]}"


class Run:
    """A started `kb`."""

    def __init__(
        self, arguments: Sequence[str | Path], folder: Path, environment: Mapping[str, str], stdin: str
    ) -> None:
        self._out = Path(tempfile.gettempdir()) / f"kb-{os.getpid()}-{os.urandom(4).hex()}"  # `folder` may be full
        given = [str(argument) for argument in arguments]
        self.process: Any = CONTEXT.Process(target=_run_kb, args=(given, folder, dict(environment), stdin, self._out))
        self.process.start()

    def ended(self, limit_s: float = LIMIT_S) -> Ended:
        self.process.join(limit_s)
        is_late = self.process.is_alive()
        if is_late:
            self.process.kill()
            self.process.join()
        texts = []
        for kind in ("1", "2"):
            file = self._out.with_suffix(f".{kind}")
            texts.append(file.read_text(errors="replace") if file.exists() else "")
            file.unlink(missing_ok=True)
        return Ended(code=None if is_late else self.process.exitcode, stdout=texts[0], stderr=texts[1])

    def killed_after(self, seconds: float) -> bool:
        self.process.join(seconds)
        self.process.kill()
        return self.ended().code == -9


def _run_kb(arguments: list[str], folder: Path, environment: dict[str, str], stdin: str, out: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number in (1, 2):
        os.dup2(os.open(out.with_suffix(f".{number}"), os.O_WRONLY | os.O_CREAT), number)
    reading, writing = os.pipe()
    os.write(writing, stdin.encode())
    os.close(writing)
    os.dup2(reading, 0)
    sys.stdin = os.fdopen(0)
    sys.argv = ["kb", *arguments]
    from cli.main import main

    main()
