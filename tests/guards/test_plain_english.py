"""Plain English: a module is described by a noun phrase, not by a clause."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "kb", "recognize", "rerank", "cli", "training", "benchmarks")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose|Whether|Where|When)\b")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_described_by_a_noun(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert not CLAUSE.match(docstring), docstring.splitlines()[0]
