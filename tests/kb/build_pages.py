"""Build of made-up birds in a separate process, for tests that kill it: `build_pages.py DIR N`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kb
import recognize
from tests.pages import PageSource, made_up_taxa

if __name__ == "__main__":
    kb.build(
        sys.argv[1],
        made_up_taxa(int(sys.argv[2])),
        PageSource(missing=["avis-001"], bare=["avis-002"]),
        recognize.load_encoders("starter"),
        terms=[("Amplexus", None)],
        progress=lambda progress: sys.stderr.write(f"{progress.stage} {progress.done}/{progress.total}\n"),
    )
