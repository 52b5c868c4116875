"""A made-up wiki and an ugly site over real HTTP, running."""

from collections.abc import Iterator

import pytest

from tests.servers.faulty_wiki import FaultyWiki
from tests.servers.ugly_site import UglySite


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        yield wiki


@pytest.fixture
def site() -> Iterator[UglySite]:
    with UglySite().running() as site:
        yield site
