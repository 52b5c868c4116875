"""A made-up wiki over real HTTP, running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.faulty_wiki import FaultyWiki


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        yield wiki
