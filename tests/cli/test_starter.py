"""Without --kb the answers come from the knowledge that ships with Fieldmark, unpacked once under FIELDMARK_HOME."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def test_identify_answers_from_the_starter_knowledge_and_unpacks_it_once(
    cli: Any, drawings: Path, isolated_environment: Path
) -> None:
    first = cli.call("identify", drawings, "--format", "jsonl", check=True)
    again = cli.call("identify", drawings, "--format", "jsonl", check=True)
    assert "unpacking the starter knowledge" in first.stderr
    assert "unpacking" not in again.stderr
    assert len(first.stdout.splitlines()) == 4
    (unpacked,) = (isolated_environment / "starter").glob("*.kb")
    assert json.loads(first.stdout.splitlines()[0])["kb"] == str(unpacked)


def test_two_processes_that_come_at_once_unpack_it_once(cli: Any, isolated_environment: Path) -> None:
    command = [*cli.command(), "show", "Snowy Owl", "--format", "json"]
    started = [
        subprocess.Popen(command, env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=200) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert ended[0][0] == ended[1][0]
    assert sum("unpacking the starter knowledge" in said for _, said in ended) == 1
    assert [path.suffix for path in (isolated_environment / "starter").iterdir() if path.is_dir()] == [".kb"]


def test_what_a_killed_unpacking_left_does_no_harm(cli: Any, isolated_environment: Path) -> None:
    cli.call("show", "Snowy Owl", check=True)
    (unpacked,) = (isolated_environment / "starter").glob("*.kb")
    half = unpacked.with_suffix(".part")
    unpacked.rename(half)
    (half / "ledger.sqlite").write_bytes(b"half a ledger")
    cli.call("show", "Snowy Owl", check=True)
    assert unpacked.is_dir()
    assert not half.exists()
