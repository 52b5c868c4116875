"""Settings of chromadb for all clients: no telemetry, few log messages."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any


def client_settings() -> Any:
    """Return the settings of a new client."""
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    return _environment().model_copy()  # a client writes its own path into them


@cache
def _environment() -> Any:
    """Return chromadb's settings; reading them takes longer than opening a small Chroma."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
