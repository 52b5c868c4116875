"""What `kb --help` and the imports cost: little time, and none of the heavy libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "chromadb", "onnxruntime", "pandas", "pyarrow", "pydantic", "httpx", "openai", "numpy", "bs4", "PIL")
LIMIT_S = 0.3  # DESIGN section 2
HELP = "import sys; sys.argv = ['kb', '--help']; from cli.main import main; main()"


def python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment, timeout=60
    ).stdout


def seconds(code: str) -> float:
    began = time.perf_counter()
    python(code)
    return time.perf_counter() - began


def loaded_after(code: str) -> set[str]:
    report = f"{code}\nimport json, sys\nprint(); print(json.dumps(sorted(sys.modules)))"
    return {name.split(".")[0] for name in json.loads(python(report).splitlines()[-1])}


def test_help_costs_little_over_bare_python() -> None:
    """The least of several pairs: other processes can only make a run slower."""
    bare, ours = min(seconds("") for _ in range(5)), min(seconds(HELP) for _ in range(5))
    assert ours - bare <= LIMIT_S


@pytest.mark.parametrize("verb", ["--help", "identify", "build"])
def test_help_loads_no_heavy_library(verb: str) -> None:
    arguments = ["kb", "--help"] if verb == "--help" else ["kb", verb, "--help"]
    code = f"import sys; sys.argv = {arguments}\nfrom cli.main import main\ntry: main()\nexcept SystemExit: pass"
    assert loaded_after(code) & set(HEAVY) == set()


@pytest.mark.parametrize("package", ["kb", "recognize", "rerank", "data"])
def test_importing_a_package_loads_no_heavy_library(package: str) -> None:
    assert loaded_after(f"import {package}") & {"torch", "chromadb", "onnxruntime", "pandas"} == set()
