"""An HTTP server on a free loopback port, with a thread per request; subclasses define the answers."""

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors, but for connections of clients that a test killed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class LoopbackServer(ABC):
    """Server that listens from its creation and answers while `running()`; `origin` is its address."""

    def __init__(self, *, port: int = 0) -> None:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                answer(self, "")

            def do_POST(self) -> None:
                answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", port), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    @abstractmethod
    def _answer(self, handler: BaseHTTPRequestHandler, form: str) -> None:
        """Answer one request; `form` is the body of a POST."""


def send(
    handler: BaseHTTPRequestHandler,
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    *,
    length: int | None = None,
) -> None:
    """Send an answer; `length` promises more or less than the content, and then the server hangs up."""
    handler.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(content) if length is None else length)}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)
    handler.wfile.flush()
    if length is not None:
        handler.close_connection = True
