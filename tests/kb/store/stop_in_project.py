"""Build that sends itself a signal before the n-th step of the projection: `DIR N SPECIES SIGNAL`.

It prints the number of steps if it finishes.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import kb
from data import vectors
from kb.store import matrices, project
from kb.store.chroma import Collections
from kb.store.ledger import Ledger
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

STEPS = [
    (Collections, "upsert"), (Collections, "delete"), (Collections, "settle"), (Ledger, "drop_fact"),
    (Ledger, "drop_pending"), (Ledger, "set_fact"), (Ledger, "publish"), (project, "index_checksums"),
    (matrices, "write_tables"), (shutil, "rmtree"), (vectors, "write_atomic"),
]  # fmt: skip

if __name__ == "__main__":
    last, n = int(sys.argv[2]), 0

    def before(work: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            global n
            n += 1
            if n == last:
                os.kill(os.getpid(), signal.Signals[sys.argv[4]])
            return work(*arguments, **named)

        return counted

    for home, name in STEPS:
        setattr(home, name, before(getattr(home, name)))
    taxa = made_up_taxa(int(sys.argv[3]))
    kb.build(sys.argv[1], taxa, PageSource(revision=2), toy_encoders(), terms=[("Amplexus", None)])
    sys.stdout.write(f"{n}\n")
