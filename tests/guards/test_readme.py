"""The README's commands are really run, and do what it says.

A block of shell commands under `<!-- run -->` is run in an empty folder, a line each, with `kb` on the path; below
`<!-- run: wiki -->` likewise, with the test wiki at every `--api-url`, and photos of the shared data where
`photos/` is named. A line that begins with `$ ` is a command and the lines below it are output, which is not compared:
times and paths differ. Without `$ ` every line is a command. Both commands that install are run by `.ci/run`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- run(?:: (?P<kind>\w+))? -->\s*```\w*\n(?P<body>.*?)```", re.DOTALL)
DEMO_COMMAND = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/kb demo"
TEST_COMMAND = "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest"


def commands(body: str) -> list[str]:
    """Return the commands of a block, continued lines joined, comments left out."""
    lines = body.replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):
        return [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def blocks(kind: str | None) -> list[list[str]]:
    return [commands(found["body"]) for found in BLOCK.finditer(README) if found["kind"] == kind]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, with the `kb` of this environment on the path."""
    programs = tmp_path / "bin"
    programs.mkdir()
    kb = programs / "kb"
    kb.write_text(f"#!{sys.executable}\nfrom cli.main import main\nmain()\n")
    kb.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    work = tmp_path / "work"
    work.mkdir()
    return work


def run(command: str, folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("block", blocks(None), ids=lambda block: block[0])
def test_the_commands_of_a_block_work(block: list[str], folder: Path) -> None:
    for command in block:
        run(command, folder)


@pytest.mark.integration
@pytest.mark.parametrize("block", blocks("wiki"), ids=lambda block: block[0])
def test_the_commands_of_a_block_work_against_a_wiki(
    block: list[str], folder: Path, wiki_api_url: str, shared: Path
) -> None:
    photos = folder / "photos"
    photos.mkdir()
    for photo in sorted((shared / "birds" / "photos").rglob("*.jpg"))[:4]:
        shutil.copy(photo, photos)
    for command in block:
        run(re.sub(r"(--api-url )\S+", rf"\g<1>{wiki_api_url}", command), folder)


def test_the_readme_has_commands_that_are_run() -> None:
    assert blocks(None) != []


def test_the_two_commands_for_a_fresh_machine_stand_in_the_readme() -> None:
    assert DEMO_COMMAND in README
    assert TEST_COMMAND in README


def test_ci_runs_the_readmes_test_command() -> None:
    assert TEST_COMMAND in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
