"""A server of `kb serve` that runs for a visit."""

import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

Visit = Callable[[httpx.Client], None]


@contextmanager
def visiting(monkeypatch: pytest.MonkeyPatch, visit: Visit) -> Iterator[dict[str, Any]]:
    """Let the server of `kb serve` run until a visit of its page ends; the errors of a visit fail the test."""
    seen: dict[str, Any] = {}
    run = uvicorn.Server.run

    def run_for_a_visit(server: uvicorn.Server, sockets: Any = None) -> None:
        seen["at"] = sockets[0].getsockname()

        def visited() -> None:
            while not server.started:
                time.sleep(0.01)
            try:
                with httpx.Client(base_url=f"http://127.0.0.1:{seen['at'][1]}", timeout=60) as client:
                    visit(client)
            except BaseException as error:
                seen["error"] = error
            server.should_exit = True

        threading.Thread(target=visited).start()
        run(server, sockets)

    monkeypatch.setattr(uvicorn.Server, "run", run_for_a_visit)
    yield seen
    if "error" in seen:
        raise seen["error"]


@pytest.fixture
def serve(cli: Any, built_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that runs `kb serve` for a visit and returns what it prints."""

    def serve(visit: Visit, *options: str | Path, photos: Path | None = None) -> str:
        options += () if photos is None else ("--photos", photos)
        with visiting(monkeypatch, visit):
            said: str = cli.call("serve", "--kb", built_kb, "--port", "0", *options, check=True).stderr
        return said

    return serve


@pytest.fixture
def browse(cli: Any, built_kb: Path) -> Callable[..., None]:
    """A function that starts `kb serve` in a process, calls a visit with its address, and stops it with a signal."""

    def browse(visit: Callable[[str], None], *, photos: Path, by: signal.Signals = signal.SIGINT) -> None:
        command = [*cli.command(), "serve", "--kb", str(built_kb), "--port", "0", "--photos", str(photos)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=cli.environment()) as server:
            assert server.stderr is not None
            try:
                address = next(found[0] for line in server.stderr if (found := re.search(r"http://[^/\s]+", line)))
                visit(address)
            finally:
                server.send_signal(by)
                server.wait(30)
        assert server.returncode in (0, 128 + by)

    return browse
