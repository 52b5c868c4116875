"""Tables of `kb eval rerank`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.common import output
from cli.verbs.eval.cells import difference_cells, number, p_text
from data.words import plural
from rerank.evaluation.request import TIE_POLICIES

if TYPE_CHECKING:
    from data.metrics.ranked import Measured
    from rerank.evaluation.report import Comparison, Evaluation


def as_text(evaluation: Evaluation) -> str:
    """Return the tables for people; values in percent, except MRR. Figures by label are in CSV and JSON."""
    shown = evaluation.shown
    main = shown[0]
    parts = [
        f"{plural(evaluation.n_queries, 'query', 'queries')}: mean ± standard error, in percent (MRR: 0 to 1)\n"
        + _measures_table(evaluation, shown),
        f"{main}: mean with 95 % interval, and paired difference from {evaluation.comparisons[0].baseline!r}\n"
        + _tests_table(evaluation, main)
        if evaluation.comparisons
        else "",
        f"Ties: {TIE_POLICIES[evaluation.ties]}\n" + _ties_table(evaluation, main),
    ]
    return "\n\n".join(part for part in parts if part)


def _measures_table(evaluation: Evaluation, shown: Sequence[str]) -> str:
    rows = [[run.name, *(_cell(run.overall[name]) for name in shown)] for run in evaluation.runs]
    return output.as_table(["run", *shown], rows, right=shown)


def _tests_table(evaluation: Evaluation, main: str) -> str:
    tests = {test.run: test for test in evaluation.comparisons if not test.labels and test.measure == main}
    columns = ["run", "mean", "interval", "difference", "interval of difference", "better/worse", "p", "p (Holm)"]
    rows = []
    for run in evaluation.runs:
        found, test = run.overall[main], tests.get(run.name)
        low, high = found.macro_interval
        scale = _scale(main)
        rows.append(
            [run.name, number(found.macro, scale), f"{number(low, scale)} to {number(high, scale)}"]
            + (_test_cells(test, scale) if test else [""] * 5)
        )  # fmt: skip
    return output.as_table(columns, rows, right=columns[1:])


def _test_cells(comparison: Comparison, scale: float) -> list[str]:
    test = comparison.test
    difference = difference_cells(test.difference, test.interval, test.n_better, test.n_worse, scale=scale)
    return [*difference, p_text(test.p_value), p_text(comparison.p_corrected)]


def _ties_table(evaluation: Evaluation, main: str) -> str:
    columns = ["run", "tied images", "undecided pairs", f"{main}: worst case", "expected", "best case"]
    scale = _scale(main)
    rows = [
        [run.name, f"{100 * run.tied_items:.1f} %", f"{100 * run.open_pairs:.1f} %"]
        + [number(bound, scale) for bound in run.bounds[main]]
        for run in evaluation.runs
    ]
    return output.as_table(columns, rows, right=columns[1:])


def _cell(found: Measured) -> str:
    scale = _scale(found.name)
    error = "" if found.macro_error is None else f" ± {number(found.macro_error, scale)}"
    return number(found.macro, scale) + error


def _scale(measure: str) -> float:
    return 1.0 if measure == "MRR" else 100.0
