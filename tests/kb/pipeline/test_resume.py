"""Builds killed with SIGKILL at random moments resume to the digest of an uninterrupted build."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kb
import recognize
from tests.conftest import IN_CI
from tests.pages import PageSource, made_up_taxa

SCRIPT = Path(__file__).parents[1] / "build_pages.py"
SPECIES = 120 if IN_CI else 60
KILLS = 9 if IN_CI else 2  # of each build
STARTS = 4 if IN_CI else 1  # builds


def run_build(path: Path, *, kill_after_s: float | None) -> bool:
    """Run a build in a process and return whether it finished before the kill."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(path), str(SPECIES)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        _, complaints = process.communicate(timeout=kill_after_s if kill_after_s is not None else 120)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return False
    assert process.returncode == 0, complaints.decode()[-2000:]
    return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, float]:
    """The digest of an uninterrupted build, and its duration in seconds."""
    path = tmp_path_factory.mktemp("whole") / "a.kb"
    started = time.monotonic()
    assert run_build(path, kill_after_s=None)
    seconds = time.monotonic() - started
    verification = kb.verify(path)
    assert verification.ok
    return verification.digest, seconds


@pytest.mark.thorough
@pytest.mark.parametrize("start", range(STARTS))
def test_a_killed_build_resumes_to_the_same_digest(tmp_path: Path, whole: tuple[str, float], start: int) -> None:
    digest, seconds = whole
    moments = random.Random(start)
    path = tmp_path / "a.kb"
    for _ in range(KILLS):
        # The first part of a run is imports; after that all moments are equally likely.
        run_build(path, kill_after_s=moments.uniform(0.2 * seconds, seconds))
    assert run_build(path, kill_after_s=None)
    verification = kb.verify(path)
    assert verification.problems == ()
    assert verification.digest == digest
    # and a further build fetches nothing
    source = PageSource(missing=["avis-001"], bare=["avis-002"])
    kb.build(path, made_up_taxa(SPECIES), source, recognize.load_encoders("starter"), terms=[("Amplexus", None)])
    assert (source.n_bodies, source.n_photos) == (0, 0)
