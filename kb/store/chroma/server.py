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
        import chromadb

        self._address = address
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"chroma = {address!r}: expected http://HOST:PORT")
        with self.errors():
            client: Any = chromadb.HttpClient(
                host=parts.hostname,
                port=parts.port or (443 if parts.scheme == "https" else 8000),
                ssl=parts.scheme == "https",
                settings=client_settings(),
            )
        session = getattr(client._server, "_session", None)  # chromadb has no setting for it
        if session is not None:
            session.timeout = ANSWER_TIMEOUT_S
        self.client = client

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of Chroma and of the connection."""
        from chromadb.errors import ChromaError
        from httpx import HTTPError

        try:
            yield
        except (ValueError, HTTPError, ChromaError) as error:  # ValueError: no server, or not a Chroma server
            what = "failed" if isinstance(error, ChromaError) else "does not answer"
            shown = self._address.rsplit("@", 1)[-1]  # without user and password
            raise SourceUnavailable(
                f"The Chroma server at {shown} {what}: {error or type(error).__name__}",
                hint="Nothing is lost; run the same command again when the server answers.",
            ) from error

    def check_space(self, n_bytes: int) -> None:
        """Accept a batch of any size."""
