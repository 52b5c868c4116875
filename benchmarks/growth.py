"""Growth of time and memory with the number of species, from the lines that `benchmarks.large` prints.

    python -m benchmarks.large --species 1000,10000,100000 | tee run.txt
    python -m benchmarks.growth run.txt [MORE.txt...] [--plot growth.svg]

Prints processor seconds and the MiB that the system cannot take back, per step, with the exponent of growth between the
smallest and the largest size: at 1, twice the species take twice the time. A later line replaces an earlier one of the
same step and size. The plot has logarithmic axes.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from math import ceil, floor, log10
from pathlib import Path
from typing import Final

from training.starter.confidence.charts import Line, Panel, draw

LINE: Final = re.compile(r"^ *([\d,]+) (\w+) +(\{.*\})$")
MEASURES: Final = {"cpu": "processor seconds", "anonymous": "memory that stays, MiB"}
Growth = dict[str, dict[int, Mapping[str, float]]]
"""Step -> number of species, ascending -> measures."""


def read(lines: Iterable[str]) -> Growth:
    """Return the steps in printed lines; other lines are skipped."""
    found: Growth = {}
    for match in filter(None, (LINE.match(line.rstrip()) for line in lines)):
        n, step, values = match.groups()
        found.setdefault(step, {})[int(n.replace(",", ""))] = ast.literal_eval(values)
    return {step: dict(sorted(sizes.items())) for step, sizes in found.items()}


def exponent(sizes: Mapping[int, Mapping[str, float]], measure: str) -> float | None:
    """Return the exponent of growth from the smallest to the largest size, or None of a single size."""
    first, last = min(sizes), max(sizes)
    if first == last:
        return None
    return log10(sizes[last][measure] / sizes[first][measure]) / log10(last / first)


def table(growth: Growth) -> Iterator[str]:
    """Yield a row for each step."""
    every = sorted({n for sizes in growth.values() for n in sizes})
    yield f"| | {' | '.join(f'{n:,}' for n in every)} | time grows by | memory grows by |"
    yield "|---" * (len(every) + 3) + "|"
    for step, sizes in growth.items():
        cells = [f"{_seconds(sizes[n]['cpu'])}, {sizes[n]['anonymous']:,.0f}" if n in sizes else "" for n in every]
        powers = [exponent(sizes, measure) for measure in MEASURES]
        ends = ["" if power is None else f"n^{power:.2f}" for power in powers]
        yield f"| {' | '.join((step, *cells, *ends))} |"


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 1_000 else f"{value:.3g} s"


def plot(growth: Growth) -> str:
    """Return a chart of time and memory by the number of species."""
    return draw([_panel(growth, measure, title) for measure, title in MEASURES.items()], x="species", y="")


def _panel(growth: Growth, measure: str, title: str) -> Panel:
    across = _decades(n for sizes in growth.values() for n in sizes)
    up = _decades(values[measure] for sizes in growth.values() for values in sizes.values())
    return Panel(
        title=title,
        lines=[
            Line(name=step, points=[(_place(n, across), _place(values[measure], up)) for n, values in sizes.items()])
            for step, sizes in growth.items()
        ],
        x_ticks=[(_place(10**power, across), f"{10**power:,}") for power in across],
        y_ticks=[(_place(10.0**power, up), f"{10.0**power:,.6g}") for power in up],
    )


def _decades(values: Iterable[float]) -> range:
    """Return the powers of ten from below the smallest to above the largest value."""
    powers = [log10(value) for value in values]
    first, last = floor(min(powers)), ceil(max(powers))
    return range(first, max(last, first + 1) + 1)


def _place(value: float, decades: range) -> float:
    """Return where a value lies between the first and the last power of ten, from 0 to 1."""
    return (log10(value) - decades[0]) / (decades[-1] - decades[0])


def main() -> None:
    """Print the table and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="printed lines of benchmarks.large")
    parser.add_argument("--plot", type=Path, help="SVG to write")
    args = parser.parse_args()
    growth = read(line for run in args.runs for line in run.read_text(encoding="utf-8").splitlines())
    if not growth:
        raise SystemExit("No line of benchmarks.large found.")
    sys.stdout.write("\n".join(table(growth)) + "\n")
    if args.plot:
        args.plot.write_text(plot(growth), encoding="utf-8")


if __name__ == "__main__":
    main()
