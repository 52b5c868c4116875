"""The commands of the README and of `docs/` are run.

A block under `<!-- run -->` is run line by line in an empty folder that the blocks of a page share, with `kb` on the
path; below `<!-- run: wiki -->` with the test wiki at every `--api-url`, and photos in `photos/`. Where lines begin
with `$ `, the others are output, which is not compared. A block of Python is one script; one below
`<!-- file: NAME -->` is written to that file. `FIELDMARK_TEST_PROGRAMS` names the folder of an installed `kb` and
`python`. Other commands that install than that of an example are run by `.ci/run`.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.guards.sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"<!-- (?:run(?:: (?P<kind>\w+))?|file: (?P<file>\S+)) -->\s*```(?P<language>\w*)\n(?P<body>.*?)```", re.DOTALL
)
DEMO_COMMAND = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/kb demo"
DEMO = "kb demo --workdir demo -q"
TEST_COMMAND = "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest"


def commands(block: re.Match[str]) -> list[str]:
    """Return the bash lines of a block, with continued lines joined."""
    if block["file"]:
        return [f"cat > {block['file']} <<'END'\n{block['body']}END"]
    if block["language"] == "python":
        return [f"python - <<'END'\n{block['body']}END"]
    lines = block["body"].replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):
        return [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def blocks(kind: str | None) -> dict[str, list[str]]:
    """Return the pages that have blocks of this kind, each with the commands of all these blocks."""
    found = {}
    for page in PAGES:
        wanted = [block for block in BLOCK.finditer(page.read_text(encoding="utf-8")) if block["kind"] == kind]
        if wanted:
            found[page.relative_to(ROOT).as_posix()] = [line for block in wanted for line in commands(block)]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpacked: Path) -> Path:
    """An empty folder, with the `kb` and `python` to be tested on the path, and the shipped knowledge unpacked."""
    monkeypatch.setenv("FIELDMARK_HOME", str(shutil.copytree(unpacked, tmp_path / "home")))
    programs = Path(os.environ.get("FIELDMARK_TEST_PROGRAMS", tmp_path / "bin"))
    if not programs.exists():
        programs.mkdir()
        for name, text in {
            "kb": f"#!{sys.executable}\nfrom cli.main import main\nmain()\n",
            "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
        }.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    work = tmp_path / "work"
    work.mkdir()
    return work


def run(command: str, folder: Path) -> None:
    shell = ["bash", "-euo", "pipefail", "-c", command]
    paths = os.environ | {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(shell, cwd=folder, env=paths, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def install(folder: Path) -> None:
    """Do what `pip install .` does for entry points, without a build backend."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in of.items()) for group, of in groups]
    (info / "entry_points.txt").write_text("".join(lines))


@pytest.mark.integration
def test_the_commands_of_pages_work(folder: Path) -> None:
    run(DEMO, folder)
    for page, lines in blocks(None).items():
        of_page = folder / page.replace("/", "-")
        of_page.mkdir()
        for command in lines:
            if command == DEMO:
                shutil.copytree(folder / "demo", of_page / "demo")
            elif command == "pip install .":
                install(of_page)
            else:
                run(command, of_page)


@pytest.mark.integration
@pytest.mark.parametrize("page", blocks("wiki"))
def test_the_commands_of_a_page_work_against_a_wiki(page: str, folder: Path, wiki_api_url: str, shared: Path) -> None:
    photos = folder / "photos"
    photos.mkdir()
    for photo in sorted((shared / "birds" / "photos").rglob("*.jpg"))[:4]:
        shutil.copy(photo, photos)
    for command in blocks("wiki")[page]:
        run(re.sub(r"(--api-url )\S+", rf"\g<1>{wiki_api_url}", command), folder)


def test_the_readme_has_tested_commands_and_those_that_ci_runs() -> None:
    assert "README.md" in blocks(None)
    assert DEMO_COMMAND in README
    assert TEST_COMMAND in README
    assert TEST_COMMAND in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
