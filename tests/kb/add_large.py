"""Adds a profile in a process of its own, and kills itself at the n-th report of progress: `add_large.py DIR N`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kb
from tests.kb.counted_encoders import large

if __name__ == "__main__":
    left = int(sys.argv[2])

    def count(_: object) -> None:
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    kb.add_profile(sys.argv[1], large(), progress=count)
