"""Adds a profile in a process of its own, and kills itself at the n-th report of progress: `add_large.py DIR N`.

With the name of a stage instead of N it does so at the first report of that one.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kb
from data.records import Progress
from tests.kb.counted_encoders import large

if __name__ == "__main__":
    stage = "" if sys.argv[2].isdecimal() else sys.argv[2]
    left = 1 if stage else int(sys.argv[2])

    def count(progress: Progress) -> None:
        global left
        left -= not stage or progress.stage == stage
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    kb.add_profile(sys.argv[1], large(), progress=count)
