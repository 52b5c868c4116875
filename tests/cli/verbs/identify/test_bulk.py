"""Runs over many photos: no duplicate rows after two kills, and bounded memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cli.common.resumable import ResumableOutput

N_PHOTOS = 400
N_BAD = 3
# 300 more decoded photos would take 120 MB if held in memory; memory of threads and caches varies by about 40 MB.
MOST_GROWTH_KB = 90 * 1024


@pytest.fixture(scope="module")
def many(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of real photos under new names, some of them damaged."""
    photos = sorted((shared / "birds" / "photos").rglob("*.jpg"))[::53][:50]
    folder = tmp_path_factory.mktemp("many")
    for number in range(N_PHOTOS):
        below = folder / f"{number // 100}"
        below.mkdir(exist_ok=True)
        shutil.copy(photos[number % len(photos)], below / f"{number:04}.jpg")
    for number in range(N_BAD):
        (folder / "2" / f"bad-{number}.jpg").write_bytes(b"no picture")
    return folder


def n_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_memory_does_not_grow_with_the_number_of_photos(cli: Any, built_kb: Path, many: Path, tmp_path: Path) -> None:
    def peak_kb(photos: Path, name: str) -> int:
        # Not `ru_maxrss`: a new process inherits the value of its parent.
        run = (
            "import sys\nfrom cli.main import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
            "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
            "sys.stderr.write('peak ' + peak.split()[1])"
        )
        command = ["identify", "-q", str(photos), "--kb", str(built_kb), "--output", str(tmp_path / name)]
        python = Path(cli.command()[0]).with_name("python")
        done = subprocess.run(
            [str(python), "-c", run, *command],
            env=cli.environment(), capture_output=True, text=True, timeout=600, check=True,
        )  # fmt: skip
        return int(done.stderr.rsplit("peak ", 1)[1])

    few = peak_kb(many / "0", "few.jsonl")
    assert n_lines(tmp_path / "few.jsonl") == N_PHOTOS // 4
    assert peak_kb(many, "all.jsonl") < few + MOST_GROWTH_KB
    assert n_lines(tmp_path / "all.jsonl") == N_PHOTOS + N_BAD


@pytest.mark.integration
def test_resuming_reads_rows_one_by_one(tmp_path: Path) -> None:
    """20 MB of rows take less than a tenth of that in memory."""

    def output() -> ResumableOutput:
        return ResumableOutput(tmp_path / "out.jsonl", folder=tmp_path / "journals", parameters={}, header="")

    n = 2_000
    with output() as first:
        for number in range(n):
            first.add(f"{number}.jpg", json.dumps({"image": f"{number}.jpg", "summary": "x" * 10_000}) + "\n", ok=True)
    interned = [Path(f"{number}.jpg").name for number in range(n)]  # else the growth of their table may count
    tracemalloc.start()
    try:
        with output() as second:
            assert len(second.done) == len(interned)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (tmp_path / "out.jsonl").stat().st_size / 10
