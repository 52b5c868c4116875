"""Settings of the requests for web pages: light to import, so that the command line reads them here."""

from __future__ import annotations

from dataclasses import dataclass

PAUSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """Settings of web pages in `kb build`, `kb add` and `kb update`."""

    pause_s: float = PAUSE_S
    """Seconds between two requests to a host; its robots.txt may ask for more."""
    private_addresses: bool = False
    """Whether pages may be on this machine or its network."""
