"""A disk that is full at a random write, or read-only, ends a job with a clear error; later the job resumes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.bench import Bench
from tests.faults.draw import Draw
from tests.faults.jobs import JOBS, Wholes
from tests.faults.small_disk import Order, SmallDisk
from tests.mounts import needs_mounts

pytestmark = [pytest.mark.integration, needs_mounts]
MOST_FREE_KIB = 20_000  # Chroma wants 8 MiB


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path_factory.mktemp("mount") / "small-disk")
    yield disk
    disk.close()


@pytest.mark.parametrize("is_full", [True, False], ids=["full", "read-only"])
def test_a_job_on_a_bad_disk_says_so_and_resumes_later(
    bench: Bench, wholes: Wholes, disk: SmallDisk, draw: Draw, tmp_path: Path, is_full: bool
) -> None:
    def on_bad_disk(seed: int) -> str:
        at_random = random.Random(seed)
        job = at_random.choice(JOBS)
        result, seconds = wholes.of(job)
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        first, second = disk.run(
            Order(
                job=job.name,
                arguments=list(job.arguments_for(bench)),
                base=str(bench.base),
                out=str(out),
                environment=bench.environment(out),
                free_kib=int(MOST_FREE_KIB ** at_random.random()) if is_full else None,
                kill_s=at_random.uniform(0, seconds),
            )
        )
        assert first.code is not None, f"{job.name} hangs: {first}"
        assert first.is_clear, f"{job.name}: {first}"
        assert first.code == 0 or "small-disk" in first.stderr or "disk" in first.stderr, f"{job.name}: {first}"
        assert second.code == 0, f"{job.name}, resumed: {second}"
        assert job.result(out) == result, job.name
        assert [path for path in out.rglob("*") if ".part" in path.name] == [], job.name
        return f"{job.name} {'had room' if first.code == 0 else 'stopped'}"

    draw.each(1, 60, on_bad_disk)
