"""A job killed at any moment and run again gives the result of an uninterrupted one."""

import random
import re
from pathlib import Path

import pytest

from tests.faults.bench import Bench
from tests.faults.draw import Draw
from tests.faults.jobs import JOBS, Wholes

pytestmark = pytest.mark.integration
LEFT_OVER = re.compile(r"\.part|importing|\.tmp")


def test_a_killed_job_resumes_to_the_result_of_a_whole_one(
    bench: Bench, wholes: Wholes, draw: Draw, tmp_path: Path
) -> None:
    def killed(seed: int) -> str:
        job = JOBS[7 * seed % len(JOBS)]  # a build, a rerank and identify come first
        result, seconds = wholes.of(job)
        folder, at_random = bench.copy(tmp_path / "killed"), random.Random(seed)
        arguments = job.arguments_for(bench)
        for _ in range(20):
            run = bench.start(folder, *arguments, stdin=job.typed(folder))
            if run.killed_after(at_random.uniform(0, seconds)):
                break
            bench.copy(folder)  # it was faster than its kill
        else:
            raise AssertionError(f"{job.name} always ended before its kill")
        bench.require(folder, *arguments, stdin=job.typed(folder))
        assert job.result(folder) == result, job.name
        if job.base is not None:
            bench.require(folder, "verify", f"--kb={job.base}")
        assert [path for path in folder.rglob("*") if LEFT_OVER.search(path.name)] == [], job.name
        return job.name

    draw.each(3, 200, killed)
