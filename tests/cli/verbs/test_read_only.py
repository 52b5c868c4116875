"""Read-only disks: a knowledge base is read, and writers say why they stop and what helps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kb
import recognize
from tests.mounts import needs_mounts
from tests.pages import PageSource, made_up_taxa, picture_of

RUN = """
import sys
from click.testing import CliRunner
from cli.main import commands
kb, photo = sys.argv[1:]
for command in (
    ["identify", photo], ["search", "red crown"], ["context", "red crown"], ["show", "Bird 001"], ["status"],
    ["species"], ["lint"], ["credits"], ["build", "--only", "index"], ["remove", "Bird 001"], ["verify"],
):
    result = CliRunner().invoke(commands, [*command, "--kb", kb], prog_name="kb")
    said = result.stderr.count("warning") if result.exit_code == 0 else result.stderr.splitlines()[0]
    print(command[0], result.exit_code, bool(result.stdout.strip()), said)
"""

HOME_HINT = "hint: Fieldmark keeps its own files there: allow writing, or set FIELDMARK_HOME to another folder."


@pytest.mark.integration
@needs_mounts
def test_a_read_only_knowledge_base_is_read_and_never_written(tmp_path: Path) -> None:
    path, photo = tmp_path / "a.kb", tmp_path / "a.png"
    kb.build(path, made_up_taxa(3), PageSource(), recognize.load_encoders("starter"))
    photo.write_bytes(picture_of("avis-001", 0))
    script = f'mount --bind {path} {path} && mount -o remount,bind,ro {path} && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-c", RUN, str(path), str(photo)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=200, cwd=Path(__file__).parents[3]
    )
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    readers = ("identify", "search", "context", "show", "status", "species", "lint", "credits")
    assert {name: lines[name] for name in readers} == dict.fromkeys(readers, "0 True 0"), done.stderr
    for writer in ("build", "remove", "verify"):
        assert lines[writer] == f"3 False error: {path} cannot be written: Read-only file system"


@pytest.mark.integration
@needs_mounts
def test_a_read_only_home_is_named_with_its_remedy(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    script = f'mount -t tmpfs -o ro none {home} && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-m", "cli.main", "show", "Mallard"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "FIELDMARK_HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
    *_, error, hint = done.stderr.splitlines()
    assert (done.returncode, hint, error.startswith("error: ") and str(home) in error) == (3, HOME_HINT, True)
