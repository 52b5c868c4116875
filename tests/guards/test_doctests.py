"""Examples in docstrings: correct, and present for each entry point."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("data", "kb", "recognize", "rerank", "cli")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_are_correct(
    module: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(module), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "entry_point",
    [
        "kb.open",
        "kb.build",
        "kb.context",
        "kb.search",
        "kb.verify",
        "recognize.load_encoders",
        "recognize.Recognizer",
        "recognize.evaluate",
        "recognize.explain",
        "rerank.rerank",
        "rerank.evaluate",
    ],
)
def test_every_python_entry_point_has_an_example(entry_point: str) -> None:
    package, name = entry_point.split(".")
    documented = getattr(importlib.import_module(package), name)
    home = importlib.import_module(documented.__module__)
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for test in finder.find(documented, name, module=home) if test.examples]
    assert examples, f"{entry_point} has no example in {documented.__module__}"
