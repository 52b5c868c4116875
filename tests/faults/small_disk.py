"""A small disk of its own, in a process with private mounts, which jobs find full or read-only."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.faults.jobs import EXPORT, JOBS, Job
from tests.faults.running import Ended, Run

ROOT = Path(__file__).resolve().parents[2]
LARGE = "size=600m"
LIMIT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A job on a copy of `base`, and the fault of its disk.

    With `free_kib` that much is free on the disk; else the job is killed after `kill_s` and the disk then read-only.
    """

    job: str
    arguments: list[str]
    base: str
    environment: dict[str, str]
    free_kib: int | None = None
    kill_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Ends of the job on the bad disk and then on a good one, its result there, and the partial files left."""

    first: Ended
    second: Ended
    result: Any
    parts: list[str]


def run_on_small_disk(order: Order, mount_point: Path) -> Outcome:
    mount_point.mkdir(exist_ok=True)
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-m", __name__, mount_point],
        input=json.dumps(asdict(order)), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    given = json.loads(done.stdout)
    return Outcome(**{**given, "first": Ended(**given["first"]), "second": Ended(**given["second"])})


def carry_out(order: Order, disk: Path) -> Outcome:
    job = next(job for job in (*JOBS, EXPORT) if job.name == order.job)
    _mount("-t", "tmpfs", "-o", LARGE, "none", disk)
    try:
        folder = Path(shutil.copytree(order.base, disk / "work"))
        if order.free_kib is not None:
            state = os.statvfs(disk)
            used_kib = (state.f_blocks - state.f_bfree) * state.f_frsize // 1024
            _mount("-o", f"remount,size={used_kib + order.free_kib}k", disk)
        else:
            _start(order, job, folder).killed_after(order.kill_s)
            _mount("-o", "remount,ro", disk)
        first = _start(order, job, folder).ended(LIMIT_S)
        _mount("-o", f"remount,rw,{LARGE}", disk)
        is_done = first.code == 0 and not job.is_repeatable
        second = first if is_done else _start(order, job, folder).ended(LIMIT_S)
        parts = [str(path) for path in folder.rglob("*") if ".part" in path.name]
        result = job.result(folder) if second.code == 0 else None
        return Outcome(first=first, second=second, result=result, parts=parts)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def _start(order: Order, job: Job, folder: Path) -> Run:
    environment = order.environment | {"FIELDMARK_HOME": str(folder / "home")}
    return Run(order.arguments, folder, environment, job.typed(folder))


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True, timeout=30)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(carry_out(Order(**json.load(sys.stdin)), Path(sys.argv[1])))))
