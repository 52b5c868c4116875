"""A free port for a server of another program."""

import os
import random
import socket
from contextlib import suppress


def free_port() -> int:
    """Return a port on which nothing listens, below Linux's own range, so that no client takes it before the server."""
    at_random = random.Random(os.urandom(8))
    while True:
        port = at_random.randrange(10_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
