"""Examples in docstrings: correct."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.guards.sources import PACKAGES, sources

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SLOW = re.compile(r">>> .*(load_encoders|kb\.open|StarterSource)")


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
