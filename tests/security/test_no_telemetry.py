"""Nothing phones home: no connection but to the named wiki and model, no file outside the named folders."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fieldmark
from tests.conftest import ROOT, skip_or_fail
from tests.security.private_network import COMMANDS, ELSEWHERE


@pytest.mark.integration
def test_commands_ask_only_named_servers_and_write_only_named_folders(tmp_path: Path) -> None:
    if shutil.which("ip") is None or subprocess.run(["unshare", "-rn", "true"], check=False).returncode:
        skip_or_fail("needs `ip` and `unshare -rn` for a network of its own")
    environment = {name: value for name, value in os.environ.items() if name not in fieldmark.NO_TELEMETRY}
    done = subprocess.run(
        ["unshare", "-rn", sys.executable, "-m", "tests.security.private_network", tmp_path],
        cwd=ROOT, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert [code for code, _ in found["ended"]] == [0] * len(COMMANDS), found["ended"]
    assert min(found["counts"]) > 0
    assert {tuple(each) for each in found["asked"]} == {ELSEWHERE, *(("127.0.0.1", port) for port in found["servers"])}
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"fieldmark", "home", "names.csv", "out", "own.kb", "owl.png", "photos", "temporary"}
    assert [str(path) for name in ("home", "temporary") for path in (tmp_path / name).rglob("*")] == []
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["names.csv"]


def test_importing_a_package_switches_telemetry_off_unless_the_user_has_set_it() -> None:
    show = "import json, os; print(json.dumps({{name: os.environ[name] for name in {names}}}))"
    for package in ("fieldmark", "data", "kb", "recognize", "rerank", "cli"):
        environment = {name: value for name, value in os.environ.items() if name not in fieldmark.NO_TELEMETRY}
        environment |= {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "1"}
        code = f"import {package}; {show.format(names=list(fieldmark.NO_TELEMETRY))}"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == {**fieldmark.NO_TELEMETRY, "RAY_USAGE_STATS_ENABLED": "1"}, package
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert [name for name, value in fieldmark.NO_TELEMETRY.items() if f"`{name}={value}`" not in page] == []
