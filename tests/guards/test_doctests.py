"""Examples in docstrings: correct, and present for each entry point."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.guards.sources import PACKAGES, sources

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SLOW = re.compile(r">>> .*(load_encoders|kb\.open|StarterSource)")
ENTRY_POINTS = (
    "kb.open", "kb.build", "kb.context", "kb.search", "kb.verify",
    "recognize.load_encoders", "recognize.Recognizer", "recognize.evaluate", "recognize.explain",
    "rerank.rerank", "rerank.evaluate",
)  # fmt: skip


@pytest.mark.parametrize("with_encoders", [False, pytest.param(True, marks=pytest.mark.integration)])
def test_examples_are_correct(
    with_encoders: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = []
    for source in sources(*PACKAGES):
        if ">>> " not in source.text or bool(SLOW.search(source.text)) != with_encoders:
            continue
        folder = tmp_path / source.module
        folder.mkdir()
        monkeypatch.chdir(folder)
        result = doctest.testmod(importlib.import_module(source.module), optionflags=FLAGS)
        if result.failed or not result.attempted:
            failed.append(f"{source.module}: {capsys.readouterr().out or 'the examples are not found'}")
    assert failed == []


def test_every_python_entry_point_has_an_example() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    silent = []
    for entry_point in ENTRY_POINTS:
        package, name = entry_point.split(".")
        documented = getattr(importlib.import_module(package), name)
        home = importlib.import_module(documented.__module__)
        if not any(test.examples for test in finder.find(documented, name, module=home)):
            silent.append(f"{entry_point} in {documented.__module__}")
    assert silent == []
