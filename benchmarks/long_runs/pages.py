"""Build from a stand-in wiki."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.long_runs.many_pages import ManyPages
from benchmarks.long_runs.sampling import PROGRAM, Sample, sampled


def pages(args: argparse.Namespace, work: Path, *more: str, n_replies: Callable[[], int] | None = None) -> list[Sample]:
    """Build `n` species from a stand-in wiki; pages are counted, or replies of a model."""
    path = work / "birds.kb"
    wiki = ManyPages()
    wiki.fill(args.n)
    with wiki.running():
        samples = sampled(
            ["build", "--taxon", "Aves", "--api-url", wiki.api_url, "--kb", str(path), *more],
            work / "progress.txt",
            n_replies or (lambda: sum(request.get("action") == "parse" for request in list(wiki.requests))),
            lambda: len(wiki.requests) + len(wiki.photos_asked),
        )
    shown = subprocess.run([sys.executable, "-c", PROGRAM, "status", "--kb", str(path), "--format", "json"],
                           check=True, capture_output=True, text=True)  # fmt: skip
    status = json.loads(shown.stdout)
    sys.stdout.write(f"species {status['species']:,}, most requests at once {wiki.most_at_once}\n\n")
    return samples
