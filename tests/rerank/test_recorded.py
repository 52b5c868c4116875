import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerank import METHODS
from tests.rerank.recorded import CASES, FOLDER, photos, plans, recorded


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with photos() as folder:
        yield folder


def in_cases(record: str) -> dict[str, str]:
    return dict(case.partition("\n")[::2] for case in record.removeprefix("== ").split("\n== "))


@pytest.mark.parametrize("method", METHODS)
def test_runs_are_those_on_record(method: str, root: Path) -> None:
    expected = in_cases((FOLDER / f"{method}.txt").read_text(encoding="utf-8"))
    assert list(expected) == list(CASES[method])
    assert in_cases(recorded(method, root)) == expected


def test_a_notebook_with_an_event_loop_of_its_own_gets_the_same(root: Path) -> None:
    async def cell(method: str) -> str:
        return recorded(method, root)

    for method in ("decompose", "cotrr", "visret"):
        expected = in_cases((FOLDER / f"{method}.txt").read_text(encoding="utf-8"))
        assert in_cases(asyncio.run(cell(method))) == expected, method


def test_plans_and_forecasts_are_those_on_record() -> None:
    assert in_cases(plans()) == in_cases((FOLDER / "plans.txt").read_text(encoding="utf-8"))
