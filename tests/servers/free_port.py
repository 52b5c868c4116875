"""A free port for a server of another program."""

from __future__ import annotations

import os
import random
import socket


def free_port() -> int:
    """Return a port on which nothing listens, below Linux's own range, so that no client takes it before the server."""
    at_random = random.Random(os.urandom(8))
    for _ in range(100):
        port = at_random.randrange(10_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port between 10,000 and 30,000")
