"""A Chroma server: connection and errors. Its disk is its own affair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from data.errors import ConfigError, SourceUnavailable
from kb.store.chroma.folder import client_settings

ANSWER_TIMEOUT_S = 120.0  # chromadb sets none


class ChromaServer:
    """The Chroma server at an address."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.client = _connect(address)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of Chroma and of the connection."""
        from chromadb.errors import ChromaError
        from httpx import HTTPError

        try:
            yield
        except HTTPError as error:
            raise _unavailable(self._address, "does not answer", error) from error
        except ChromaError as error:
            raise _unavailable(self._address, "failed", error) from error

    def check_space(self, n_bytes: int) -> None:
        """Accept a batch of any size."""


def _connect(address: str) -> Any:
    import chromadb
    from chromadb.errors import ChromaError
    from httpx import HTTPError

    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"chroma = {address!r}: expected http://HOST:PORT")
    try:
        client: Any = chromadb.HttpClient(
            host=parts.hostname,
            port=parts.port or (443 if parts.scheme == "https" else 8000),
            ssl=parts.scheme == "https",
            settings=client_settings(),
        )
    except (ValueError, ChromaError, HTTPError) as error:  # ValueError: no server, or not a Chroma server
        raise _unavailable(address, "does not answer", error) from error
    session = getattr(client._server, "_session", None)  # chromadb has no setting for it
    if session is not None:
        session.timeout = ANSWER_TIMEOUT_S
    return client


def _unavailable(address: str, what: str, error: Exception) -> SourceUnavailable:
    shown = address.rsplit("@", 1)[-1]  # without user and password
    return SourceUnavailable(
        f"The Chroma server at {shown} {what}: {error or type(error).__name__}",
        hint="Nothing is lost; run the same command again when the server answers.",
    )
