"""docs/security.md: each promise names tests, and all of them exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]


def files_of(cell: str) -> list[Path]:
    """Return the files that a cell names; one without a folder is beside the one before."""
    found: list[Path] = []
    for name in re.findall(r"`([^`]+\.py)`", cell):
        found.append(ROOT / name if "/" in name else found[-1].parent / name)
    return found


def test_every_promise_names_tests_that_exist() -> None:
    assert len(ROWS) >= 10
    before: list[Path] = []
    for promise, cell in ROWS:
        named = before if cell == "the same" else files_of(cell)
        assert named != [], promise
        for file in named:
            assert file.is_file(), f"{promise}: no {file.relative_to(ROOT)}"
            assert "\ndef test_" in file.read_text(encoding="utf-8"), f"{promise}: {file.name} tests nothing"
        before = named


def test_the_page_has_at_most_500_words() -> None:
    assert len(PAGE.split()) <= 500


def test_all_security_tests_are_named() -> None:
    written = {file.name for file in (ROOT / "tests" / "security").glob("test_*.py")} - {"test_obedient_model.py"}
    assert {name for name in written if name not in PAGE} == set()
