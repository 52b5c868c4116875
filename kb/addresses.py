"""Web addresses: hosts, ports, pages that a user names, and settings of their requests; light to import."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from data.errors import BadInput

MAX_CHARACTERS = 2_000
PAUSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """Settings of web pages in `kb build`, `kb add` and `kb update`."""

    pause_s: float = PAUSE_S
    """Seconds between two requests to a host; its robots.txt may ask for more."""
    private_addresses: bool = False
    """Whether pages may be on this machine or its network."""


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for (a number or a date), or None if it is not readable."""
    text = (value or "").strip()
    with suppress(ValueError):
        seconds = float(text)
        return seconds if 0 <= seconds < float("inf") else None
    from email.utils import parsedate_to_datetime  # late, for `kb --help`

    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):  # OverflowError: a year of eleven digits
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    left_s: float = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, left_s)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def split_address(address: str) -> SplitResult:
    """Return the parts of an address, all empty for an impossible one."""
    try:
        parts = urlsplit(address)
        parts.hostname, parts.port  # noqa: B018  # which are checked here as well
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


def port_of(address: str) -> int | None:
    """Return the port of an address, that of its scheme by default, or None for an impossible one."""
    parts = split_address(address)
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def host_of(address: str) -> str:
    """Return host and port of an address, without user name and password."""
    parts = split_address(address)
    host = parts.hostname or "(no host)"
    return f"{host}:{parts.port}" if parts.port else host


def shown_address(address: str) -> str:
    """Return an address without user name, password and query."""
    parts = split_address(address)
    return f"{parts.scheme}://{host_of(address)}{parts.path}"


def is_web_address(text: str) -> bool:
    """Return whether a text is meant as the address of a page, not as a file."""
    return "://" in text


def page_address(text: str) -> str:
    """Return the address of a page without its fragment, so that a page has one address.

    Raises:
        BadInput: if it is not http or https, has no host, or contains a user name and password, which a knowledge base
            would record.
    """
    address = text.strip().partition("#")[0]
    parts = split_address(address)
    is_http = parts.scheme in ("http", "https") and parts.hostname
    if not is_http or len(address) > MAX_CHARACTERS or any(ord(sign) <= 32 or ord(sign) == 127 for sign in address):
        shown = address.rsplit("@", 1)[-1][:200]
        raise BadInput(f"Expected the http or https address of a page, got {shown!r}.")
    if parts.username is not None or parts.password is not None:
        raise BadInput(
            f"The address of a page on {parts.hostname} contains a user name, which would be recorded.",
            hint="Save the page and add the file.",
        )
    return address
