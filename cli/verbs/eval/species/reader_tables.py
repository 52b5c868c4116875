"""Tables of readers in `kb eval species --reader`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.common import exit_codes, output
from cli.common.readers import reader_failures
from cli.verbs.eval.cells import difference_cells, figure_cell, p_text
from data.words import plural

if TYPE_CHECKING:
    from recognize.evaluation.reader_comparison import ReaderEvaluation
    from recognize.evaluation.reader_setups import ReaderSetup

RULES = ("json", "label", "name", "text", "none", "no species", "unread")
COLUMNS = {
    "accuracy": "accuracy",
    "genus": "reader genus",
    "listed": "listed",
    "first alone": "first alone",
    "gain": "gain",
    "none of these": "none of these",
}
"""Column -> measure."""


def as_text(evaluation: ReaderEvaluation) -> str:
    """Return the tables for people, in percent."""
    head = (
        f"reader {evaluation.model}, {plural(evaluation.n_samples, 'sample')} per photo; "
        f"{plural(evaluation.n, 'photo')}"
    )
    parts = [
        f"{head}; mean over photos (micro), percent\n{_figures(evaluation, 'micro')}",
        f"{head}; mean over species (macro), percent\n{_figures(evaluation, 'macro')}",
        f"{head}; replies by the rule that read them, and model calls\n{_replies(evaluation)}",
    ]
    if evaluation.tests:
        parts.append(_tests(evaluation))
    return "\n\n".join(parts)


def warnings(evaluation: ReaderEvaluation) -> Iterator[str]:
    """Yield the photos that the reader of each row could not answer."""
    for figures in evaluation.figures:
        photos = plural(evaluation.n, "photo")
        for line in reader_failures(figures.missing, photos, instead="they count as wrong; kb doctor tests the model"):
            yield f"{name_of(figures.setup)}: {line}"


def exit_code(evaluation: ReaderEvaluation) -> int:
    """Return the exit code: 6 if the reader answered no photo, 7 if it failed for some."""
    n_failed = sum(figures.missing.get("reader", 0) for figures in evaluation.figures)
    return exit_codes.of_failures(n_failed, evaluation.n * len(evaluation.figures))


def csv_rows(evaluation: ReaderEvaluation) -> Iterator[list[object]]:
    """Yield a row for each setup and measure, with the paired test against the first setup."""
    tests = {test.setup: test for test in evaluation.tests}
    for figures in evaluation.figures:
        setup, retrieval = figures.setup, figures.setup.retrieval
        place = (
            ["", "", "no retrieval"] if retrieval is None else [retrieval.vocabulary, retrieval.texts, retrieval.preset]
        )
        last = ["", ""] if retrieval is None else [setup.context, setup.k]
        for found in figures.measures:
            test = tests.get(setup) if found.name == "accuracy" else None
            tested: list[object] = [""] * 6
            if test is not None:
                tested = [name_of(test.baseline), test.difference, *test.interval, test.p_value, test.p_corrected]
            values = [found.micro, *found.micro_interval, found.macro, *found.macro_interval]
            anchors = "" if retrieval is None else retrieval.anchors
            counts = [evaluation.n, evaluation.n_species, ""]
            yield [*place, "", found.name, *counts, *values, *tested, anchors, evaluation.model, *last]


def name_of(setup: ReaderSetup) -> str:
    """Return the name of a row."""
    from recognize.evaluation.labelled import WITHOUT_ANCHORS

    found = setup.retrieval
    if found is None:
        return "no retrieval"
    parts = [found.preset, setup.context, f"k={setup.k}"]
    parts += [] if found.texts == "descriptions" else [found.texts]
    parts += [f"anchors {found.anchors}"] if found.anchors != "kb" and found.preset not in WITHOUT_ANCHORS else []
    return ", ".join(parts)


def _figures(evaluation: ReaderEvaluation, mean: str) -> str:
    columns = [*COLUMNS, "agreement", "margin"]
    rows = []
    for figures in evaluation.figures:
        cells = [
            figure_cell(
                figures.measures, name, mean, wide=name in ("accuracy", "gain"), sign="+" if name == "gain" else ""
            )
            for name in COLUMNS.values()
        ]
        margin = "" if figures.margin is None else f"{figures.margin:.2f} ({figures.n_with_margin:,})"
        rows.append([name_of(figures.setup), *cells, f"{getattr(figures['agreement'], mean):.2f}", margin])
    return output.as_table(["", *columns], rows, right=columns)


def _replies(evaluation: ReaderEvaluation) -> str:
    rules = [rule for rule in RULES if any(figures.replies.by_rule[rule] for figures in evaluation.figures)]
    # Of samples; `failed` counts photos.
    has_failures = any(figures.replies.failed for figures in evaluation.figures)
    lost = ["no reply"] if has_failures else []
    columns = [*rules, *lost, "failed", "no text", "calls", "cached", "tokens in", "tokens out", "cost"]
    rows = []
    for figures in evaluation.figures:
        replies = figures.replies
        counts = [replies.by_rule[rule] for rule in rules] + [replies.failed] * has_failures + [figures.n_failed]
        calls = (replies.calls, replies.cached, replies.input_tokens, replies.output_tokens)
        cost = "unknown" if replies.unpriced else f"${replies.cost_usd:.4f}"
        shown = [f"{n:,}" for n in counts], f"{figures.n_without_text:.1f}", [f"{n:,}" for n in calls]
        rows.append([name_of(figures.setup), *shown[0], shown[1], *shown[2], cost])
    return output.as_table(["", *columns], rows, right=columns)


def _tests(evaluation: ReaderEvaluation) -> str:
    columns = ["difference", "95 % interval", "better/worse", "p", "p (Holm)"]
    rows = [
        [
            name_of(test.setup),
            *difference_cells(test.difference, test.interval, test.n_better, test.n_worse),
            p_text(test.p_value),
            p_text(test.p_corrected),
        ]
        for test in evaluation.tests
    ]
    head = f"accuracy of the reader minus that of {name_of(evaluation.tests[0].baseline)!r}, species by species"
    return head + "\n" + output.as_table(["", *columns], rows, right=columns)
