"""Without --kb the answers come from the knowledge that ships with Fieldmark, unpacked once under FIELDMARK_HOME."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the starter knowledge in it, unpacked by the first test that asks."""
    return tmp_path_factory.mktemp("starter-home")


def test_two_processes_that_come_at_once_unpack_it_once(cli: Any, unpacked: Path) -> None:
    command = [*cli.command(), "show", "Snowy Owl", "--format", "json"]
    environment = cli.environment({"FIELDMARK_HOME": str(unpacked)})
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=280) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert ended[0][0] == ended[1][0]
    assert sum("unpacking the starter knowledge" in said for _, said in ended) == 1
    assert [path.suffix for path in (unpacked / "starter").iterdir() if path.is_dir()] == [".kb"]


def test_identify_answers_from_it_without_a_knowledge_base_of_ones_own(
    cli: Any, drawings: Path, unpacked: Path
) -> None:
    home = {"FIELDMARK_HOME": str(unpacked)}
    cli.run("show", "Snowy Owl", env=home, check=True)
    outcome = cli.run("identify", drawings, "--format", "jsonl", env=home, check=True)
    assert "unpacking" not in outcome.stderr
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    (path,) = (unpacked / "starter").glob("*.kb")
    assert [row["kb"] for row in rows] == [str(path)] * 4
    assert all(row["candidates"] for row in rows)
    assert len({row["calibration"] for row in rows} - {None}) == 1
    assert all(0 < row["answer"]["absent"] < 1 for row in rows)


def test_what_is_asked_of_an_answer_decides_how_far_it_rolls_up(cli: Any, drawings: Path, unpacked: Path) -> None:
    home = {"FIELDMARK_HOME": str(unpacked)}
    asked = ("identify", drawings, "--format", "jsonl", "--absent-share", "0.01")

    def answers(least: str) -> list[dict[str, Any]]:
        outcome = cli.run(*asked, "--min-confidence", least, env=home, check=True)
        return [json.loads(line)["answer"] for line in outcome.stdout.splitlines()]

    free, strict = answers("0"), answers("1")
    assert {answer["rank"] for answer in free} == {"species"}
    assert all(0 < answer["confidence"] < 1 for answer in free)
    assert {answer["rank"] for answer in strict} == {"none"}
    assert {answer["confidence"] for answer in strict} == {None}


def test_what_a_calibration_of_another_preset_cannot_do_is_said(cli: Any, drawings: Path, unpacked: Path) -> None:
    home = {"FIELDMARK_HOME": str(unpacked)}
    asked = ("identify", drawings / "bubo-scandiacus.png", "--absent-share", "0.5")
    assert "--absent-share" not in cli.run(*asked, env=home, check=True).stderr
    said = cli.run(*asked, "--preset", "vr-rag-v2", env=home, check=True).stderr
    assert "--absent-share changes nothing" in said
    assert "no calibration for the preset vr-rag-v2, only for default" in said


def test_what_a_killed_unpacking_left_does_no_harm(cli: Any, unpacked: Path, isolated_environment: Path) -> None:
    cli.run("show", "Snowy Owl", env={"FIELDMARK_HOME": str(unpacked)}, check=True)
    (whole,) = (unpacked / "starter").glob("*.kb")
    half = (isolated_environment / "starter" / whole.name).with_suffix(".part")
    shutil.copytree(whole, half)
    (half / "ledger.sqlite").write_bytes(b"half a ledger")
    cli.run("show", "Snowy Owl", check=True)
    assert half.with_suffix(".kb").is_dir()
    assert not half.exists()


def test_a_copy_keeps_its_confidence_until_its_species_change(cli: Any, drawings: Path, unpacked: Path) -> None:
    home = {"FIELDMARK_HOME": str(unpacked)}
    cli.run("show", "Snowy Owl", env=home, check=True)
    (whole,) = (unpacked / "starter").glob("*.kb")
    shutil.copytree(whole, "copy.kb")

    def asked() -> tuple[dict[str, Any], str]:
        photo = drawings / "bubo-scandiacus.png"
        outcome = cli.call("identify", photo, "--kb", "copy.kb", "--format", "jsonl", check=True)
        return json.loads(outcome.stdout), outcome.stderr

    row, said = asked()
    assert row["calibration"] is not None
    assert 0 < row["answer"]["absent"] < 1
    assert "no confidence" not in said
    cli.call("remove", "--kb", "copy.kb", "Mallard", check=True)
    row, said = asked()
    assert (row["calibration"], row["answer"]["confidence"], row["answer"]["absent"]) == (None, None, None)
    assert "no confidence: the calibration of this knowledge base was made for other species" in said
