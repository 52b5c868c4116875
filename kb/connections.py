"""Connections to the address that was checked: a name cannot resolve to another machine in between."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import httpcore
import httpx

from data.errors import PrivateAddress, SourceUnavailable


class CheckedBackend(httpcore.SyncBackend):
    """Resolves names itself, checks every address and connects to it; certificates are still compared with the name."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of the host that answers."""
        addresses = resolved(host, port, allow_private=self._allow_private)
        for address in addresses[:-1]:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        if not addresses:
            raise SourceUnavailable(f"{host} has no address")
        return super().connect_tcp(addresses[-1], port, timeout, local_address, socket_options)


class CheckedTransport(httpx.HTTPTransport):
    """The transport of httpx over `CheckedBackend`; proxies are not used, since they would resolve names themselves."""

    def __init__(self, *, allow_private: bool) -> None:
        super().__init__()
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=4,
            network_backend=CheckedBackend(allow_private=allow_private),
        )


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
