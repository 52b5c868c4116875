"""Addresses of pages: http and https, on the public internet unless configured otherwise."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urldefrag, urlsplit

from data.errors import BadInput, PrivateAddress, SourceUnavailable

MAX_CHARACTERS = 2_000


def is_web_address(text: str) -> bool:
    """Return whether a text is meant as the address of a page, not as a file.

    Example:
        >>> is_web_address("https://example.org/a"), is_web_address("notes/a.html")
        (True, False)
    """
    return "://" in text


def page_address(text: str) -> str:
    """Return the address of a page without its fragment, so that a page has one address.

    Raises:
        BadInput: if it is not http or https, has no host, or contains a user name and password, which a knowledge base
            would record.

    Example:
        >>> page_address("https://example.org/mallard#plumage")
        'https://example.org/mallard'
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


def resolved(host: str, port: int, *, allow_private: bool) -> list[str]:
    """Return the IP addresses of a host.

    Raises:
        SourceUnavailable: if the name is unknown.
        PrivateAddress: if an address is of this machine or its network, unless `allow_private`.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SourceUnavailable(f"{host} is not reachable: {error}") from error
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if not allow_private and not all(is_public(address) for address in addresses):
        raise PrivateAddress(
            f"{host} is on this machine or its network, where pages are fetched only with --set private_addresses=true"
        )
    return addresses


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet.

    Example:
        >>> [is_public(each) for each in ("93.184.215.14", "10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254")]
        [True, False, False, False]
    """
    parsed: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        # An IPv4 address in an IPv6 one: mapped, 6to4, or behind the NAT64 prefix.
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed.packed.startswith(bytes.fromhex("0064ff9b0000000000000000")):
            inner = IPv4Address(parsed.packed[12:])
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast
