"""HTTP addresses and headers, for wikis and model servers."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit


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
        parts.hostname  # noqa: B018  # which is checked here as well
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


def port_of(address: str) -> int | None:
    """Return the port of an address, that of its scheme by default, or None for an impossible one."""
    parts = split_address(address)
    try:
        return parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None


def host_of(address: str) -> str:
    """Return host and port of an address, without user name and password."""
    parts = split_address(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    host = parts.hostname or "(no host)"
    return f"{host}:{port}" if port else host
