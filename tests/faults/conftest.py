"""Fixtures of the faults: the draw, and a bench that all cases of a process copy."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.contracts import Encoders
from tests.faults.bench import Bench, bench_at
from tests.faults.draw import Draw
from tests.faults.jobs import Wholes
from tests.toy.encoders import toy_encoders

FULL_LIMIT_S = 4 * 3600


def is_full() -> bool:
    return os.environ.get("FIELDMARK_TEST_DRAW") == "full"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        if is_full() or item.get_closest_marker("integration") is None:
            item.add_marker(pytest.mark.thorough)
        if is_full():
            item.add_marker(pytest.mark.timeout(FULL_LIMIT_S))


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    properties = request.node.user_properties
    return Draw(is_full=is_full(), record=lambda summary: properties.append(("faults", summary)))


@pytest.fixture(scope="session")
def encoders() -> Encoders:
    return toy_encoders()


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_at(tmp_path_factory.mktemp("bench") / "base") as bench:
        yield bench


@pytest.fixture(scope="session")
def wholes(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Wholes:
    return Wholes(bench, tmp_path_factory.mktemp("wholes"))
