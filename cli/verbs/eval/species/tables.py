"""The tables of `kb eval species`, and the same figures as CSV and JSON values."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cli.common import output
from cli.verbs.eval.species import readers as reader_evaluating
from cli.verbs.eval.species.evaluation import KB
from cli.verbs.eval.species.readers import WITHOUT_ANCHORS, p_text

if TYPE_CHECKING:
    from cli.verbs.eval.species.evaluation import Report
    from data.metrics.ranked import Measured
    from recognize.evaluation.comparison import SetupFigures, SpeciesEvaluation
    from recognize.evaluation.reader_comparison import ReaderEvaluation
    from recognize.evaluation.setups import Setup

SHOWN = ("top-1", "top-5", "hit@30", "MRR@1", "MRR@5", "MRR@10", "genus")
CSV_COLUMNS = (
    *("vocabulary", "texts", "preset", "encoders", "measure", "n_photos", "n_species", "n_searched"),
    *("micro", "micro_low", "micro_high", "macro", "macro_low", "macro_high"),
    *("baseline", "difference", "difference_low", "difference_high", "p", "p_holm"),
    *("anchors", "reader", "reader_context", "reader_k"),
)
CHUNKS = ("chunk MRR@1", "chunk MRR@5", "chunk MRR@10")


def payload(report: Report) -> dict[str, object]:
    """Return the report as JSON values, with the definition of each measure."""
    from data.codec import to_json

    given = report.asked
    return {
        "kb": report.kb,
        "dataset": given.kind,
        "photos": {
            "of_dataset": given.n_photos,
            "label_unmatched": given.n_unmatched,
            "species_not_in_kb": given.n_absent,
            "asked": len(given.photos),
            "unreadable": report.unreadable,
            "leaks": {"n": report.n_leaks, "kept": report.leaks_kept, **report.leaks},
            "trained_on": report.n_trained,
            "anchors": report.n_anchors,
        },
        "unmatched": [to_json(name) for name in given.unmatched],
        "not_in_kb": list(given.absent),
        **to_json(report.evaluation),
        "readers": None if report.readers is None else to_json(report.readers),
        "definitions": _definitions(report),
    }


def as_csv(report: Report) -> str:
    """Return one row for each way of ranking and measure; figures from 0 to 1."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    evaluation = report.evaluation
    tests = {(test.setup, test.measure): test for test in evaluation.tests}
    names = _names(evaluation)
    for figures in evaluation.figures:
        setup = figures.setup
        for found in figures.measures:
            test = tests.get((setup, found.name))
            writer.writerow(
                [setup.vocabulary, setup.texts, setup.preset, "+".join(figures.encoder_names), found.name]
                + [evaluation.n, evaluation.n_species, figures.n_searched]
                + [found.micro, *found.micro_interval, found.macro, *found.macro_interval]
                + ([names[test.baseline], test.test.difference, *test.test.interval] if test else [""] * 4)
                + ([test.test.p_value, test.p_corrected] if test else [""] * 2)
                + [setup.anchors, "", "", ""]
            )
    if report.readers is not None:
        _write_readers(writer.writerow, report.readers)
    return out.getvalue()


def _write_readers(write: Callable[[list[object]], object], readers: ReaderEvaluation) -> None:
    for reader_setup, found, tested in reader_evaluating.csv_rows(readers):
        setup = reader_setup.retrieval
        place = ["", "", "no retrieval"] if setup is None else [setup.vocabulary, setup.texts, setup.preset]
        told = ["", ""] if setup is None else [reader_setup.context, reader_setup.k]
        figures = [found.micro, *found.micro_interval, found.macro, *found.macro_interval]
        anchors = "" if setup is None else setup.anchors
        counts = [readers.n, readers.n_species, ""]
        write([*place, "", found.name, *counts, *figures, *tested, anchors, readers.model, *told])


def as_text(report: Report) -> str:
    """Return the tables for people, in percent, and what the words in them mean."""
    evaluation, given = report.evaluation, report.asked
    parts = [
        f"{given.kind}: {output.plural(evaluation.n, 'photo')} of "
        f"{output.plural(evaluation.n_species, 'species', 'species')}; knowledge base {report.kb}"
    ]
    for vocabulary in dict.fromkeys(figures.setup.vocabulary for figures in evaluation.figures):
        rows = [figures for figures in evaluation.figures if figures.setup.vocabulary == vocabulary]
        head = f"{vocabulary}, {output.plural(rows[0].n_searched, 'species', 'species')} can be the answer"
        parts.append(f"{head}; by photo (micro), percent\n{_table(rows, 'micro')}")
        parts.append(f"{head}; by species (macro), percent\n{_table(rows, 'macro')}")
        if tests := _tests_table(evaluation, vocabulary):
            parts.append(tests)
    if report.readers is not None:
        parts.append(reader_evaluating.as_text(report.readers))
    parts.append("\n".join(f"{word}: {meaning}" for word, meaning in _definitions(report).items()))
    return "\n\n".join(parts)


def _definitions(report: Report) -> dict[str, str]:
    from recognize.evaluation.comparison import DEFINITIONS

    if report.readers is None:
        return dict(DEFINITIONS)
    from recognize.evaluation.reader_comparison import READER_DEFINITIONS

    return {**DEFINITIONS, **READER_DEFINITIONS}


def _table(rows: Sequence[SetupFigures], mean: str) -> str:
    columns = [*SHOWN, *(CHUNKS if any(_has_chunks(row) for row in rows) else ())]
    return output.as_table(
        ["", *columns],
        [[_name(row), *(_cell(row, name, mean, wide=name == "top-1") for name in columns)] for row in rows],
        right=columns,
    )


def _tests_table(evaluation: SpeciesEvaluation, vocabulary: str) -> str:
    tests = [test for test in evaluation.tests if test.setup.vocabulary == vocabulary]
    if not tests:
        return ""
    names = _names(evaluation)
    columns = ["measure", "difference", "its interval", "better/worse", "p", "p (Holm)"]
    rows = []
    for test in tests:
        found = test.test
        low, high = (f"{100 * bound:+.1f}" for bound in found.interval)
        figures = [f"{100 * found.difference:+.1f}", f"{low} to {high}", f"{found.n_better}/{found.n_worse}"]
        rows.append([names[test.setup], test.measure, *figures, p_text(found.p_value), p_text(test.p_corrected)])
    head = f"{vocabulary}, less {names[tests[0].baseline]!r}, species by species"
    return head + "\n" + output.as_table(["", *columns], rows, right=columns[1:])


def _names(evaluation: SpeciesEvaluation) -> dict[Setup, str]:
    return {figures.setup: _name(figures) for figures in evaluation.figures}


def _name(figures: SetupFigures) -> str:
    """Return what a row is called; the encoders are named where a row says which take part."""
    setup = figures.setup
    name = setup.preset
    if setup.encoders is not None:
        name = "+".join(figures.encoder_names) + (", re-ranked" if setup.preset == "vr-rag-v1" else "")
    name += ", names" if setup.texts == "names" else ""
    return name if setup.anchors == KB or setup.preset in WITHOUT_ANCHORS else f"{name}, anchors {setup.anchors}"


def _has_chunks(figures: SetupFigures) -> bool:
    return any(found.name in CHUNKS for found in figures.measures)


def _cell(figures: SetupFigures, name: str, mean: str, *, wide: bool) -> str:
    found: Measured | None = next((found for found in figures.measures if found.name == name), None)
    if found is None:
        return ""
    value, (low, high) = (found.micro, found.micro_interval) if mean == "micro" else (found.macro, found.macro_interval)
    return f"{100 * value:.1f}" + (f" ({100 * low:.1f} to {100 * high:.1f})" if wide else "")
