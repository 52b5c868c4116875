"""Figures of the artificial actor: accumulated recall by turn and method, with a single turn beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from data.errors import BadInput, FieldmarkError, SourceError, UsageError
from data.metrics import N_RESAMPLES
from data.metrics.ranked import Measured, measure_all
from papers.feedback.actor import ActorRun

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
