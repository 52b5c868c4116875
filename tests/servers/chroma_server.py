"""A real `chroma run` server on loopback that can be stopped, restarted and emptied."""

import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.servers.free_port import free_port


class ChromaServer:
    """The server of the folder `data`; always stop it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, timeout_s: float = 300) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        program = Path(sys.executable).with_name("chroma")
        command = [str(program), "run", "--host", "127.0.0.1", "--port", str(self.port), "--path", str(self.data)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and self._process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.address}/api/v2/heartbeat", timeout=2).read()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"the Chroma server at {self.address} did not answer within {timeout_s:g} s")

    def stop(self) -> None:
        """Kill the server, as in a power failure; acknowledged writes are on disk."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=120)
            self._process = None

    def forget(self) -> None:
        """Delete the data of the stopped server."""
        shutil.rmtree(self.data)
