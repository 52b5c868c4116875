"""Every option of every command is used by a test of that command.

`tests.dead_options` checks that a test fails without the option.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.dead_options import Option, all_options, spellings, title

TESTS = Path(__file__).resolve().parents[1]


@cache
def strings() -> tuple[frozenset[str], ...]:
    """Return the strings of each file of tests."""
    return tuple(
        frozenset(
            node.value
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        for file in sorted(TESTS.rglob("test_*.py"))
    )


@pytest.mark.parametrize("option", all_options(), ids=title)
def test_an_option_is_used_by_a_test(option: Option) -> None:
    words = set(title(option).split()[:-1])
    names = spellings(option)
    starts = tuple(f"{name}=" for name in names)
    assert any(
        words <= found and any(text in names or text.startswith(starts) for text in found) for found in strings()
    ), f"no test uses {title(option)}"
