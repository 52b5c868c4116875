"""A Ray cluster of two nodes with a processor each on this machine, one of which can be killed and replaced.

    python tests/servers/ray_cluster.py

prints its address, then obeys the lines `kill` and `add` on stdin, and ends with its stdin.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 80 * 2**20


class RayCluster:
    """The cluster in a process of its own; always stop it."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.address = self._answer()

    def kill_node(self) -> None:
        self._tell("kill")

    def add_node(self) -> None:
        self._tell("add")

    def stop(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=300)
        finally:
            self._process.stdout.close()

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        assert self._answer() == word

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError("the Ray cluster did not start")
        return line


def serve() -> None:
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    options["env_vars"] = {"FIELDMARK_TEST_NODE": "second"}
    second = cluster.add_node(**options)
    sys.stdout.write(f"{cluster.address}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(second, allow_graceful=False)
        else:
            second = cluster.add_node(**options)
        sys.stdout.write(line)
        sys.stdout.flush()
    cluster.shutdown()


if __name__ == "__main__":
    serve()
