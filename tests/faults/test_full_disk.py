"""A disk that is full at a random write, or read-only, ends a job with a clear error; later the job resumes."""

import json
import random
import re
from pathlib import Path

import pytest

from tests.faults.bench import Bench
from tests.faults.draw import Draw
from tests.faults.jobs import EXPORT, JOBS, Wholes
from tests.faults.small_disk import Order, run_on_small_disk
from tests.mounts import needs_mounts

pytestmark = [pytest.mark.integration, needs_mounts]
PLACE = re.compile(r"small-disk|this disk|\w+\.kb|run\.|rows\.jsonl|s\.json|home")
MOST_FREE_KIB = 20_000  # Chroma wants 8 MiB


@pytest.mark.parametrize("is_full", [True, False], ids=["full", "read-only"])
def test_a_job_on_a_bad_disk_says_so_and_resumes_later(
    bench: Bench, wholes: Wholes, draw: Draw, tmp_path: Path, is_full: bool
) -> None:
    def on_bad_disk(seed: int) -> str:
        at_random = random.Random(seed)
        job = at_random.choice((*JOBS, EXPORT))
        result, seconds = wholes.of(job)
        order = Order(
            job=job.name,
            arguments=list(job.arguments_for(bench)),
            base=str(bench.base),
            environment=bench.environment(tmp_path),
            free_kib=int(MOST_FREE_KIB ** at_random.random()) if is_full else None,
            kill_s=at_random.uniform(0, seconds if job.is_repeatable else 0),
        )
        found = run_on_small_disk(order, tmp_path / "small-disk")
        first = found.first
        assert first.code is not None, f"{job.name} hangs: {first}"
        assert first.is_clear, f"{job.name}: {first}"
        assert first.code == 0 or PLACE.search(first.stderr), f"{job.name}: no path: {first}"
        assert found.second.code == 0, f"{job.name}, resumed after {first}: {found.second}"
        assert found.result == json.loads(json.dumps(result)), job.name
        assert found.parts == [], job.name
        return f"{job.name} {'had room' if first.code == 0 else 'stopped'}"

    draw.each(1, 60, on_bad_disk)
