"""Long runs: photos and pages by the ten thousand, with rate and memory over time.

    python -m benchmarks.long_runs photos --photos ../shared/birds/photos [--n 100000] [--fast] [--work FOLDER]
    python -m benchmarks.long_runs pages [--n 11131] [--work FOLDER]
    python -m benchmarks.long_runs models [--n 1000] [--work FOLDER]

`photos` runs `kb identify --output` on links to the photos of a folder, each photo linked as often as it takes.
`pages` runs `kb build --taxon Aves` from a stand-in wiki on this machine, with a page of made-up text and a photo for
each of the first `n` species of the checklist; it has no faults and answers at once, so the rate is that of Fieldmark.
`models` does the same with `--distiller model` and a scripted model that takes two seconds for a reply, 32 at a time;
it counts replies. Their processor time says how many models one process can keep at work.
Each runs in a process of its own, whose memory and processor time are read every second. A run of `photos` that was
stopped resumes with the same `--work`. The table has a row per tenth of the photos, or per stage of the build; `--plot`
draws both over time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.long_runs.models import models
from benchmarks.long_runs.pages import pages
from benchmarks.long_runs.photos import photos
from benchmarks.long_runs.tables import by_stage, by_tenth, plot, table

RUNS = {"photos": (photos, 100_000), "pages": (pages, 11_131), "models": (models, 1_000)}
"""Name -> function, and usual number of photos or pages."""


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--photos", type=Path, help="Folder of photos.")
    parser.add_argument("--n", type=int, help="Number of photos or pages.")
    parser.add_argument("--fast", action="store_true", help="As kb identify --fast.")
    parser.add_argument("--plot", type=Path, help="SVG to write.")
    parser.add_argument("--work", type=Path, help="Folder to keep.")
    args = parser.parse_args()
    run, usual = RUNS[args.run]
    args.n = args.n or usual
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        samples = run(args, work)
        groups = by_tenth(samples) if args.run == "photos" else by_stage(samples)
        sys.stdout.write("\n".join(table(groups)) + "\n")
        if args.plot:
            args.plot.write_text(plot(samples, "photos" if args.run == "photos" else "pages"))
        peak = max(sample.memory_mib for sample in samples)
        sys.stdout.write(f"\n{time.monotonic() - began:,.0f} s in all, memory at most {peak:,.0f} MiB\n")


if __name__ == "__main__":
    main()
