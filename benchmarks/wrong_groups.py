"""Pictures of other groups, shown to the shipped knowledge of birds as a user does it, with `kb identify`.

    python -m benchmarks.wrong_groups [--n 20] [--pictures FOLDER] [--fast]

Drawings of butterflies, frogs, mushrooms, flowers and cats, `n` of each kind; bundled pictures of scikit-image,
scikit-learn and matplotlib, where these are installed; and a folder of your own. Right answers are
"no bird" and "not in the knowledge base".
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner
from PIL import Image

from benchmarks.no_bird import bundled, pictures_in
from cli.main import commands
from training.creatures.butterflies import BUTTERFLIES
from training.creatures.others import DRAWN, draw

COLUMNS = ("no bird", "not in the knowledge base", "order, family or genus", "species", "a bird is detected")


def pictures(n: int, folder: Path | None) -> Iterator[tuple[str, Image.Image]]:
    """Yield kinds and pictures."""
    for number in range(n):
        yield "butterfly, drawn", BUTTERFLIES[number % len(BUTTERFLIES)].draw(number)
        for kind in DRAWN:
            yield f"{kind}, drawn", draw(kind, number)
    for picture in bundled():
        yield "bundled", picture
    for picture in pictures_in(folder) if folder else ():
        yield "folder", picture


def answers(folder: Path, more: Sequence[str]) -> list[dict[str, object]]:
    """Return the rows of `kb identify` for a folder."""
    done = CliRunner().invoke(commands, ["identify", str(folder), "--format", "jsonl", "--quiet", *more])
    if done.exit_code:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def outcomes(row: dict[str, object]) -> Iterator[str]:
    """Yield the columns that a row counts in."""
    answer = row["answer"]
    rank = answer["rank"] if isinstance(answer, dict) else "none"
    if row["status"] == "no_bird":
        yield COLUMNS[0]
    elif rank == "none":
        yield COLUMNS[1]
    else:
        yield COLUMNS[3] if rank == "species" else COLUMNS[2]
    if row["box"] is not None:
        yield COLUMNS[4]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20, help="Drawings of each kind.")
    parser.add_argument("--pictures", type=Path, help="Folder of pictures without birds.")
    parser.add_argument("--fast", action="store_true", help="As kb identify --fast.")
    args = parser.parse_args()
    n_shown: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as scratch:
        for kind, picture in pictures(args.n, args.pictures):
            picture.save(Path(scratch) / f"{kind}-{n_shown[kind]:04}.png")
            n_shown[kind] += 1
        # Each kind by itself: a run estimates the share of unknown species from its own photos.
        for kind in n_shown:
            apart = Path(scratch) / kind
            apart.mkdir()
            for file in Path(scratch).glob(f"{kind}-*.png"):
                file.rename(apart / file.name)
            for row in answers(apart, ["--fast"] if args.fast else []):
                counts.update((kind, outcome) for outcome in outcomes(row))
    lines = [f"| pictures | n | {' | '.join(COLUMNS)} |", "|---|---|" + "---|" * len(COLUMNS)]
    for kind, n in n_shown.items():
        lines.append(f"| {kind} | {n} | " + " | ".join(str(counts[kind, column]) for column in COLUMNS) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
