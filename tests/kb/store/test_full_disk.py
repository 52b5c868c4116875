"""A disk that another program fills while a build runs: the build ends with the reason, and resumes later."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kb
from tests.mounts import needs_mounts
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

FILLING = Path(__file__).with_name("fill_disk.py")
DIGEST = "import sys, kb; print(kb.verify(sys.argv[1]).digest)"
N = 30
LATER = pytest.mark.thorough


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("whole") / "a.kb"
    kb.build(path, made_up_taxa(N), PageSource(), toy_encoders())
    return kb.verify(path).digest


@pytest.mark.integration
@needs_mounts
@pytest.mark.parametrize(
    ("moment", "free_kib"),
    [("upsert", 64), pytest.param("ledger", 4, marks=LATER), pytest.param("open", 100, marks=LATER)],
)
def test_a_disk_filled_by_others_ends_a_build_with_the_reason(
    tmp_path: Path, digest: str, moment: str, free_kib: int
) -> None:
    """An embedded Chroma that is called again after a failed write waits for ever, deaf to Ctrl-C."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
        mount -t tmpfs -o size=100m none {disk}
        timeout -s KILL 200 {sys.executable} {FILLING} {disk}/a.kb {moment} {free_kib} || exit 9
        rm {disk}/filler
        {sys.executable} {FILLING} {disk}/a.kb {moment} 60000
        {sys.executable} -c '{DIGEST}' {disk}/a.kb
    """
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, found = done.stdout.splitlines()
    stopped = json.loads(first)
    assert stopped["code"] == "3"
    assert str(disk / "a.kb") in stopped["message"]
    assert "no space left" in stopped["message"] or "are free on this disk" in stopped["message"]
    assert "run the same command again" in stopped["hint"]
    assert json.loads(second) == {}
    assert found == digest


def test_a_build_deletes_what_killed_writers_left(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    kb.build(path, made_up_taxa(1), PageSource(), toy_encoders())
    (path / "calibration").mkdir(exist_ok=True)
    left = [path / name / ".part-0123456789abcdef" for name in ("", "runs", "calibration", "articles/00")]
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"half")
    kb.build(path, made_up_taxa(1), PageSource(), toy_encoders())
    assert [file for file in left if file.exists()] == []
