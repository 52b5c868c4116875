"""Identification of links to the photos of a folder."""

from __future__ import annotations

import argparse
from itertools import cycle, islice
from pathlib import Path

from benchmarks.long_runs.sampling import Sample, lines, sampled


def photos(args: argparse.Namespace, work: Path) -> list[Sample]:
    """Identify `n` links to photos."""
    folder, output = work / "photos", work / "rows.jsonl"
    files = sorted(path.resolve() for path in args.photos.rglob("*.jpg"))
    for number, file in enumerate(islice(cycle(files), args.n)):
        link = folder / f"{number // 1000:03}" / f"{number:06}.jpg"
        if not link.is_symlink():  # a run that was stopped has made some
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
    more = ["--fast"] if args.fast else []
    arguments = ["identify", str(folder), "--output", str(output), "--quiet", *more]
    return sampled(arguments, work / "progress.txt", lines(output))
