"""The shipped knowledge base, used without --kb and unpacked once under FIELDMARK_HOME."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration


def test_two_processes_unpack_once_after_a_killed_attempt(cli: Any, tmp_path: Path) -> None:
    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*cli.command(), "show", "Snowy Owl", "--format", "json"],
            env=cli.environment({"FIELDMARK_HOME": str(tmp_path)}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def folders() -> list[str]:
        return [path.suffix for path in (tmp_path / "starter").iterdir() if path.is_dir()]

    killed = start()
    while killed.poll() is None and not list(tmp_path.glob("starter/*.part/ledger.sqlite")):
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    assert folders() == [".part"]
    started = [start(), start()]
    (found, stderr), (other_found, other_stderr) = [process.communicate(timeout=600) for process in started]
    assert [process.returncode for process in started] == [0, 0], stderr + other_stderr
    assert found == other_found
    assert [stderr, other_stderr].count("") == 1
    assert "Unpacking the shipped knowledge" in stderr + other_stderr
    assert folders() == [".kb"]


def test_verbs_use_the_shipped_knowledge_base_by_default(
    cli: Any, drawings: Path, unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIELDMARK_HOME", str(unpacked))
    outcome = cli.call("identify", drawings, "--format", "jsonl", check=True)
    assert "Unpacking" not in outcome.stderr
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    (path,) = (unpacked / "starter").glob("*.kb")
    assert [row["kb"] for row in rows] == [str(path)] * 4
    assert len({row["calibration"] for row in rows} - {None}) == 1
    assert [row["status"] for row in rows].count("no_bird") <= 1  # the detector takes a drawn cardinal for a kite
    for row in (row for row in rows if row["status"] != "no_bird"):
        shares = [candidate["confidence"] for candidate in row["candidates"]]
        assert shares[0] == max(shares) and sum(shares) <= 1.001 and 0 < row["answer"]["p_unknown"] < 1
        assert row["answer"]["rank"] != "species" or shares[0] == row["answer"]["confidence"]


def test_cards_of_the_shipped_knowledge_say_where_to_get_photos(cli: Any, shared: Path, unpacked: Path) -> None:
    photo = next((shared / "birds" / "photos" / "mergus-serrator").glob("*.jpg"))
    home = {"FIELDMARK_HOME": str(unpacked)}
    cli.run("identify", photo, "--top", "1", "--cards", "cards", env=home, check=True)
    (page,) = (path for path in Path("cards").glob("*.html") if path.name != "index.html")
    text = page.read_text(encoding="utf-8")
    assert "The knowledge base has no photos of these species to show. This command gets photos and texts:" in text
    assert "kb build --taxon Anatidae --contact" in text
