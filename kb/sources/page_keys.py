"""Pages of the web that a user names: addresses, ids, and settings of the requests; light to import."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urldefrag, urlsplit

from data.errors import BadInput
from data.files import sha256_hex

_SIGN = "#"  # in no id of a species or term
MAX_CHARACTERS = 2_000
PAUSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """Settings of web pages in `kb build`, `kb add` and `kb update`."""

    pause_s: float = PAUSE_S
    """Seconds between two requests to a host; its robots.txt may ask for more."""
    private_addresses: bool = False
    """Whether pages may be on this machine or its network."""


def page_key(subject_id: str, address: str) -> str:
    """Return the id of a page of a species or term."""
    return f"{subject_id}{_SIGN}{sha256_hex(address)[:12]}"


def is_page(key: str) -> bool:
    """Return whether an id is that of a page."""
    return _SIGN in key


def owner_of(key: str) -> str:
    """Return the species or term of a page; any other id unchanged."""
    return key.partition(_SIGN)[0]


def is_web_address(text: str) -> bool:
    """Return whether a text is meant as the address of a page, not as a file."""
    return "://" in text


def page_address(text: str) -> str:
    """Return the address of a page without its fragment, so that a page has one address.

    Raises:
        BadInput: if it is not http or https, has no host, or contains a user name and password, which a knowledge base
            would record.
    """
    address = urldefrag(text.strip()).url
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput(f"{text[:200]!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host or len(address) > MAX_CHARACTERS or _has_controls(address):
        shown = address.rsplit("@", 1)[-1][:200]
        raise BadInput(f"Expected the http or https address of a page, got {shown!r}.")
    if parts.username is not None or parts.password is not None:
        raise BadInput(
            f"The address of a page on {host} contains a user name, which would be recorded.",
            hint="Save the page and add the file.",
        )
    return address


def _has_controls(text: str) -> bool:
    return any(ord(sign) <= 32 or ord(sign) == 127 for sign in text)
