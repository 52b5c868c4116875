"""The rules of a site's robots.txt (RFC 9309), read by Protego."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kb.sources.web.packages import required

AGENT = "fieldmark"
"""Name of this program in robots.txt."""
MAX_BYTES = 500_000  # RFC 9309, section 2.5: at least 500 KiB must be read; the rest may be ignored


class _Rules(Protocol):
    def can_fetch(self, url: str, user_agent: str) -> bool: ...

    def crawl_delay(self, user_agent: str) -> float | None: ...

    def request_rate(self, user_agent: str) -> object | None: ...


@dataclass(frozen=True, slots=True)
class Robots:
    """Rules of one site for this program; `rules` is None for a site without robots.txt."""

    rules: _Rules | None = None

    def allows(self, url: str) -> bool:
        """Return whether a page may be fetched."""
        return self.rules is None or self.rules.can_fetch(url, AGENT)

    @property
    def pause_s(self) -> float:
        """Seconds between two requests that the site asks for; 0 without a wish."""
        if self.rules is None:
            return 0.0
        rate = self.rules.request_rate(AGENT)
        wanted = float(getattr(rate, "seconds", 0)) / max(1, int(getattr(rate, "requests", 1))) if rate else 0.0
        return max(float(self.rules.crawl_delay(AGENT) or 0.0), wanted)


def read_robots(content: bytes) -> Robots:
    """Return the rules in a robots.txt.

    Raises:
        MissingDependency: without Protego.
    """
    text = content[:MAX_BYTES].decode("utf-8-sig", "replace")
    return Robots(required("protego").Protego.parse(text))
