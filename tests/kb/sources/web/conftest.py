"""The ugly site, running, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kb.sources.mediawiki.client.retry import RetryPolicy
from kb.sources.web.client import PageClient
from kb.sources.web.settings import PageSettings
from tests.servers.ugly_site import UglySite


@pytest.fixture
def site() -> Iterator[UglySite]:
    with UglySite().running() as running:
        yield running


@pytest.fixture
def connect() -> Iterator[Callable[..., PageClient]]:
    """Return a maker of clients; by default without a pause, and with this machine allowed."""
    clients = []

    def make(*, pause_s: float = 0.0, private_addresses: bool = True, contact: str | None = None) -> PageClient:
        settings = PageSettings(pause_s=pause_s, private_addresses=private_addresses)
        clients.append(PageClient(contact=contact, settings=settings, retry=RetryPolicy(first_wait_s=0.01, tries=3)))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
