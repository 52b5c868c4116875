"""Every method runs as recorded: rows, scores, costs, counts, warnings, and each request to the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rerank import METHODS
from tests.rerank.recorded import CASES, FOLDER, photos, recorded


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with photos() as folder:
        yield folder


@pytest.mark.parametrize("method", METHODS)
def test_runs_are_those_on_record(method: str, root: Path) -> None:
    found, expected = (
        dict(zip(each.split("== ")[1:], each.split("== ")[1:], strict=True))
        for each in (recorded(method, root), (FOLDER / f"{method}.txt").read_text(encoding="utf-8"))
    )
    assert len(found) == len(CASES[method])
    assert list(found) == list(expected)
