"""Tables of `python -m papers feedback`: recall by turn and method."""

from __future__ import annotations

from cli.common import csv_and_parquet, output
from cli.verbs.eval.cells import number
from data.words import plural
from papers.feedback.report import SINGLE, FeedbackFigures

CSV_COLUMNS = ("method", "turn", "photos", "recall", "low", "high", "ceiling")


def as_text(figures: FeedbackFigures) -> str:
    """Return the mean accumulated recall in percent, a row for each turn, and the gain over a single turn below."""
    columns = [name for name in figures.recall if name != SINGLE]
    rows = []
    for turn, ceiling in enumerate(figures.ceiling):
        single = f"R@{figures.k * (turn + 1)} {number(figures.recall[SINGLE][turn].micro)}"
        recall = [number(figures.recall[name][turn].micro) for name in columns]
        rows.append([f"turn {turn}", single, *recall, number(ceiling)])
    gains = []
    for name in columns:
        gain = figures.gain[name]
        low, high = gain.micro_interval
        gains.append(f"{name} {number(gain.micro, sign='+')} ({number(low, sign='+')} to {number(high, sign='+')})")
    head = f"Accumulated recall in %, {plural(figures.n_queries, 'query', 'queries')}"
    table = output.as_table(["", SINGLE, *columns, "ceiling"], rows, right=columns)
    return f"{head}\n{table}\nGain over a single turn at the end, 95 %: {', '.join(gains)}"


def as_csv(figures: FeedbackFigures) -> str:
    """Return a row for each column of the table and turn, with fractions and their 95 % intervals."""
    rows = [
        [name, turn, figures.k * (turn + 1), *(f"{value:.6f}" for value in (each.micro, *each.micro_interval)),
         f"{figures.ceiling[turn]:.6f}"]
        for name, measured in figures.recall.items()
        for turn, each in enumerate(measured)
    ]  # fmt: skip
    return csv_and_parquet.as_csv(CSV_COLUMNS, rows)
