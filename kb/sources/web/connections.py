"""Connections to the address that was checked: a name cannot resolve to another machine in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from data.errors import SourceUnavailable
from kb.sources.web.addresses import resolved


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
