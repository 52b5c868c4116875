"""A command run in a process of its own, with its progress, memory and processor time read every second."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "import sys; from cli.main import main; sys.exit(main())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """State of a run: seconds since its start, items done, resident MiB, seconds of processor time, requests."""

    seconds: float
    done: int
    memory_mib: float
    worked_s: float
    requests: int = 0
    stage: str = ""


def sampled(
    arguments: list[str], log: Path, done: Callable[[], int], requests: Callable[[], int] = lambda: 0
) -> list[Sample]:
    """Run `kb` with the arguments in a process and return a sample for each second; its progress goes to `log`."""
    began, samples = time.monotonic(), []
    with log.open("w") as progress:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=progress
        )
    ticks = os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        try:
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except (OSError, IndexError):
            break
        memory, worked = pages * os.sysconf("SC_PAGE_SIZE") / 2**20, (int(fields[11]) + int(fields[12])) / ticks
        *_, stage = ["", *(line.split()[0] for line in log.read_text().splitlines() if " of " in line)]
        samples.append(Sample(seconds=time.monotonic() - began, done=done(), memory_mib=memory, worked_s=worked,
                              requests=requests(), stage=stage))  # fmt: skip
        time.sleep(1)
    if process.wait():
        raise SystemExit(f"kb {arguments[0]} ended with {process.returncode}\n{log.read_text()[-2000:]}")
    return samples


def lines(file: Path) -> Callable[[], int]:
    """Return a function that counts the lines of a growing file, reading what is new."""
    at, n = 0, 0

    def count() -> int:
        nonlocal at, n
        if file.exists():
            with file.open("rb") as stream:
                stream.seek(at)
                while block := stream.read(2**20):
                    at, n = at + len(block), n + block.count(b"\n")
        return n

    return count
