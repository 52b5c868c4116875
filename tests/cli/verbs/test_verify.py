"""`kb verify`: digests, repairs, and findings."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any


def test_commands_that_write_need_a_knowledge_base(cli: Any) -> None:
    for arguments in (("verify",), ("update",), ("export", "out"), ("remove", "Kea"), ("add", "--name", "Kea")):
        outcome = cli.call(*arguments)
        assert outcome.exit_code == 3, arguments
        assert outcome.stderr.startswith("error: No knowledge base given.\nhint: Add --kb DIR")


def test_verify_exits_with_1_for_an_unrepairable_problem(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.kb"
    shutil.copytree(built_kb, broken)
    shutil.rmtree(broken / "articles")
    outcome = cli.call("verify", "--kb", broken, "--format", "json")
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)
    assert found["ok"] is False
    assert found["problems"] != []
    assert "error:" not in outcome.stderr


def test_verify_repairs_a_missing_index(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.kb"
    shutil.copytree(built_kb, broken)
    shutil.rmtree(broken / "chroma")
    before = json.loads(cli.call("verify", "--kb", built_kb, "--format", "json", check=True).stdout)
    first = cli.call("verify", "--kb", broken)
    assert first.exit_code == 1
    assert re.search(r"^repaired  .*\nok        repaired$", first.stdout, re.MULTILINE)
    again = json.loads(cli.call("verify", "--kb", broken, "--format", "json", check=True).stdout)
    assert (again["ok"], again["problems"], again["digest"]) == (True, [], before["digest"])
