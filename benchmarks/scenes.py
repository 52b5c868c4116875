"""Accuracy on photos whose birds are small or far away, by species name.

    python -m benchmarks.scenes --data ../shared/scenes

The folder holds `metadata.jsonl`: a line a photo, with `file_name` and the common name as `species`, null where not
known. The photos are identified like by `kb identify` with the shipped knowledge; the first bird of each counts.
Intervals are Wilson's.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import kb
from cli.common import wiring
from cli.common.settings import resolve
from kb.shipped import unpack_shipped
from recognize import load_encoders
from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR
from training.tables import markdown, with_interval

SHOWN = 5


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z = 1.96
    centre, width = n_right + z**2 / 2, z * (n_right * (n - n_right) / n + z**2 / 4) ** 0.5
    return (centre - width) / (n + z**2), (centre + width) / (n + z**2)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of metadata.jsonl")
    folder = parser.parse_args().data
    records = [json.loads(line) for line in (folder / "metadata.jsonl").read_text("utf-8").splitlines()]
    labels = {record["file_name"]: record["species"] for record in records if record["species"]}
    table, ranks = [], []
    with kb.open(unpack_shipped(resolve().home, load_encoders("starter"))) as store:
        recognizer = wiring.make_recognizer(
            store, preset="default", k=SHOWN, min_confidence=MIN_CONFIDENCE, unknown_prior=UNKNOWN_PRIOR
        )
        rows = [row for row in recognizer.identify([folder / name for name in labels]) if row.bird == 1]
    for species, row in zip(labels.values(), rows, strict=True):
        names = [candidate.common_name for candidate in row.candidates]
        ranks.append(names.index(species) + 1 if species in names else 0)
        table.append([species, names[0] if names else "", row.status, ranks[-1] or ""])
    sys.stdout.write("\n".join(markdown(["species", "first name", "status", "rank"], table)) + "\n\n")
    for k in (1, SHOWN):
        n_right = sum(0 < rank <= k for rank in ranks)
        low, high = wilson(n_right, len(ranks))
        sys.stdout.write(f"top-{k}: {n_right} of {len(ranks)}, {with_interval(n_right / len(ranks), low, high)}\n")


if __name__ == "__main__":
    main()
