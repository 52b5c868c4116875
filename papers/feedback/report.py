"""Figures of the artificial actor: accumulated recall by turn and method, with a single turn beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from cli.common import output
from cli.verbs.eval.cells import number
from data.errors import BadInput, FieldmarkError, SourceError, UsageError
from data.frames import Columns, frame_of
from data.metrics import N_RESAMPLES
from data.metrics.ranked import Measured, measure_all
from data.words import plural
from papers.feedback.actor import ActorRun

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final[Columns] = {
    **{"method": "text", "turn": "integer", "photos": "integer"},
    **dict.fromkeys(("recall", "low", "high", "ceiling"), "number"),
}
SINGLE = "single turn"
"""Column of the first search alone."""
AGAIN: Final = "Replies so far are cached: run the same command again."


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackFigures:
    """Accumulated recall of each method, turn by turn from 0: fractions.

    Means over queries are `micro`. Their 95 % intervals resample groups of queries with the same relevant images.
    """

    n_queries: int
    """Number of queries."""
    k: int
    """Images shown in each turn."""
    recall: Mapping[str, tuple[Measured, ...]]
    """Column -> recall by turn; the column `single turn` has R@k, R@2k, ... of the first search."""
    gain: Mapping[str, Measured]
    """Column -> difference in the last turn from a single turn, paired by query."""
    ceiling: tuple[float, ...]
    """Best possible recall by turn: k images a turn cannot hold more relevant ones."""
    failed: Mapping[str, str]
    """Query without figures -> reason; left out of all columns."""
    runs: Mapping[str, tuple[ActorRun, ...]]
    """Method -> its queries."""

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each column of the table and turn, with fractions and their 95 % intervals."""
        rows = []
        for name, measured in self.recall.items():
            for turn, (found, ceiling) in enumerate(zip(measured, self.ceiling, strict=True)):
                low, high = found.micro_interval
                shown = {"method": name, "turn": turn, "photos": self.k * (turn + 1)}
                rows.append({**shown, "recall": found.micro, "low": low, "high": high, "ceiling": ceiling})
        return frame_of(rows, COLUMNS)


def figures_of(
    runs: Mapping[str, Sequence[ActorRun]],
    *,
    k: int,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    errors: Sequence[FieldmarkError] = (),
) -> FeedbackFigures:
    """Return the figures of several methods on the same queries.

    Args:
        runs: method -> its queries.
        k: images shown in each turn.
        n_resamples: number of bootstrap resamples.
        seed: random seed.
        errors: the errors of failed queries.

    Raises:
        FieldmarkError: if every query failed: the cause if it is a provider, the cost limit or something missing, else
            `BadInput`.
    """
    failed = {run.query_id: run.error for of_method in runs.values() for run in of_method if run.error is not None}
    kept = {method: [run for run in of if run.query_id not in failed] for method, of in runs.items()}
    first = next(iter(kept.values()))
    if not first:
        cause = next((error for error in errors if not isinstance(error, BadInput | UsageError)), None)
        text = f"Every query failed: {cause or next(iter(failed.values()), 'there is none')}"
        if isinstance(cause, SourceError):
            raise SourceError(text, hint=" ".join(filter(None, (cause.hint, AGAIN)))) from cause
        raise cause or BadInput(text)
    groups = [run.group for run in first]
    n_turns = len(first[0].accumulated)
    columns = {SINGLE: [run.single_turn for run in first]}
    columns |= {method: [run.accumulated for run in of] for method, of in kept.items()}
    names = {
        f"{column} {turn}": [row[turn] for row in rows] for column, rows in columns.items() for turn in range(n_turns)
    }
    gains = {
        f"gain {column}": [a[-1] - b[-1] for a, b in zip(rows, columns[SINGLE], strict=True)]
        for column, rows in columns.items()
    }
    measured = {each.name: each for each in measure_all(names | gains, groups, n_resamples=n_resamples, seed=seed)}
    shares = [[min(1.0, k * (turn + 1) / run.n_relevant) for run in first] for turn in range(n_turns)]
    return FeedbackFigures(
        n_queries=len(first),
        k=k,
        recall={column: tuple(measured[f"{column} {turn}"] for turn in range(n_turns)) for column in columns},
        gain={column: measured[f"gain {column}"] for column in columns if column != SINGLE},
        ceiling=tuple(sum(of_turn) / len(first) for of_turn in shares),
        failed=failed,
        runs={method: tuple(of) for method, of in runs.items()},
    )


_COLOURS: Final = (
    "#475569", "#b45309", "#1d6f8c", "#15803d", "#7c3aed", "#be123c",
    "#0284c7", "#a16207", "#db2777", "#65a30d", "#4338ca", "#0d9488",
)  # fmt: skip
_DASHED: Final = {SINGLE: "5 4", "ceiling": "2 3"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _STEP = 420, 300, 60, 24, 18


def chart(figures: FeedbackFigures) -> str:
    """Return the accumulated recall of each method by turn; the single turn and the ceiling are dashed."""
    lines = {name: [each.micro for each in of] for name, of in figures.recall.items()}
    lines["ceiling"] = list(figures.ceiling)
    n_turns = max(1, len(figures.ceiling) - 1)
    width = _LEFT + _WIDTH + 30 + 8 * max(map(len, lines)) + 40

    def at(turn: float, recall: float) -> str:
        return f"{_LEFT + _WIDTH * turn / n_turns:.1f} {_TOP + _HEIGHT * (1 - recall):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_TOP + _HEIGHT + 56}" width="{width}" '
        f'height="{_TOP + _HEIGHT + 56}" font-family="sans-serif" font-size="12" fill="#27272a">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for tick in range(6):
        down = _TOP + _HEIGHT * (1 - tick / 5)
        parts.append(f'<path d="M{_LEFT} {down:.1f}h{_WIDTH}" stroke="#e4e4e7"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{tick * 20} %</text>')
    for turn in range(len(figures.ceiling)):
        across = _LEFT + _WIDTH * turn / n_turns
        parts.append(f'<text x="{across:.1f}" y="{_TOP + _HEIGHT + 20}" text-anchor="middle">{turn}</text>')
    middle = _LEFT + _WIDTH / 2
    parts.append(f'<text x="{middle}" y="{_TOP + _HEIGHT + 42}" text-anchor="middle">turn of {figures.k} photos</text>')
    parts.append(f'<text x="{_LEFT}" y="14">accumulated recall, {figures.n_queries:,} queries</text>')
    for place, (name, values) in enumerate(lines.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        dashes = f' stroke-dasharray="{_DASHED[name]}"' if name in _DASHED else ""
        style = f'stroke="{_COLOURS[0] if dashes else colour}" stroke-width="2"{dashes}'
        points = "L".join(at(turn, value) for turn, value in enumerate(values))
        parts.append(f'<path d="M{points}" fill="none" {style}/>')
        right, down = _LEFT + _WIDTH + 16, _TOP + 8 + place * _STEP
        parts.append(f'<path d="M{right} {down}h24" {style}/>')
        parts.append(f'<text x="{right + 30}" y="{down + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


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
