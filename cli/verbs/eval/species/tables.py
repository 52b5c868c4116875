"""Tables and warnings of `kb eval species`, and the same figures as CSV and JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.common import csv_and_parquet, output
from cli.verbs.eval.cells import difference_cells, figure_cell, p_text
from cli.verbs.eval.species import reader_tables
from data.words import plural

if TYPE_CHECKING:
    from kb.checklist.reconcile import UnmatchedName
    from recognize.evaluation.comparison import SetupFigures, SpeciesEvaluation
    from recognize.evaluation.labelled import LabelledReport, SelectedPhotos
    from recognize.evaluation.setups import Setup

SHOWN = ("top-1", "top-5", "hit@30", "MRR@1", "MRR@5", "MRR@10", "genus")
CSV_COLUMNS = (
    *("vocabulary", "texts", "preset", "encoders", "measure", "n_photos", "n_species", "n_searched"),
    *("micro", "micro_low", "micro_high", "macro", "macro_low", "macro_high"),
    *("baseline", "difference", "difference_low", "difference_high", "p", "p_holm"),
    *("anchors", "reader", "reader_context", "reader_k"),
)
CHUNKS = ("chunk MRR@1", "chunk MRR@5", "chunk MRR@10")
NAMES_HINT = "Labels must be scientific or English names of species; `kb taxa --file FILE` shows their matches."


@dataclass(frozen=True, slots=True)
class Skipped:
    """Photos of a dataset that are not measured, since the knowledge base lacks their species."""

    selected: SelectedPhotos
    unmatched: tuple[UnmatchedName, ...]
    """Labels that match no species."""

    def lines(self, *, rest: str = "") -> Iterator[str]:
        """Yield the labels without a species, and the species outside the knowledge base."""
        found = self.selected
        if self.unmatched:
            names = [
                f"{name.name} ({name.reason}{', like ' + ' or '.join(name.suggestions) if name.suggestions else ''})"
                for name in self.unmatched
            ]
            photos = plural(found.n_unmatched, "photo")
            labels = plural(len(names), "label")
            yield f"{labels} ({photos}) matched no species: {output.first_few(names, rest=rest)}"
        if found.absent:
            photos = plural(found.n_absent, "photo")
            species = plural(len(found.absent), "species", "species")
            yield f"{species} ({photos}) not in the knowledge base: {output.first_few(found.absent, rest=rest)}"

    def text(self) -> str:
        """Return both as one line."""
        return "; ".join(self.lines())


def warnings(report: LabelledReport, skipped: Skipped, *, leaks_kept: bool) -> Iterator[str]:
    """Yield skipped photos, leaks that make figures too high, and failures of readers, which make them too low."""
    yield from skipped.lines(rest=" (--format json has all)")
    if skipped.unmatched:
        yield NAMES_HINT
    done = "measured too, so figures are too high" if leaks_kept else "skipped"
    if report.n_leaks:
        tests = ", ".join(f"{n:,} {test}" for test, n in report.leaks.items())
        tests += "; some by several tests" if sum(report.leaks.values()) > report.n_leaks else ""
        yield f"{plural(report.n_leaks, 'photo')} equal or nearly equal to reference photos ({tests}): {done}"
    if report.n_trained:
        yield f"{plural(report.n_trained, 'photo')} among the training photos of the encoders: {done}"
    if report.unreadable:
        path, why = next(iter(report.unreadable.items()))
        yield f"{plural(len(report.unreadable), 'photo')} unreadable; the first is {path}: {why}"
    if report.readers is not None:
        yield from reader_tables.warnings(report.readers)


def payload(report: LabelledReport, skipped: Skipped, *, kb: str, leaks_kept: bool) -> dict[str, object]:
    """Return the report as JSON values, with the definition of each measure."""
    from data.codec import to_json

    selected = skipped.selected
    return {
        "kb": kb,
        "dataset": selected.kind,
        "photos": {
            "of_dataset": selected.n_photos,
            "label_unmatched": selected.n_unmatched,
            "species_not_in_kb": selected.n_absent,
            "asked": len(selected.photos),
            "unreadable": report.unreadable,
            "leaks": {"n": report.n_leaks, "kept": leaks_kept, **report.leaks},
            "trained_on": report.n_trained,
            "anchors": report.n_anchors,
        },
        "unmatched": [to_json(name) for name in skipped.unmatched],
        "not_in_kb": list(selected.absent),
        **to_json(report.evaluation),
        "readers": None if report.readers is None else to_json(report.readers),
        "definitions": _definitions(report),
    }


def as_csv(report: LabelledReport) -> str:
    """Return one row for each setup and measure; figures from 0 to 1."""
    readers = [] if report.readers is None else reader_tables.csv_rows(report.readers)
    return csv_and_parquet.as_csv(CSV_COLUMNS, [*_csv_rows(report.evaluation), *readers])


def _csv_rows(evaluation: SpeciesEvaluation) -> Iterator[list[object]]:
    tests = {(test.setup, test.measure): test for test in evaluation.tests}
    names = _names(evaluation)
    for figures in evaluation.figures:
        setup = figures.setup
        for found in figures.measures:
            test = tests.get((setup, found.name))
            tested: list[object] = [""] * 6
            if test is not None:
                tested = [names[test.baseline], test.test.difference, *test.test.interval]
                tested += [test.test.p_value, test.p_corrected]
            yield [
                *(setup.vocabulary, setup.texts, setup.preset, "+".join(figures.encoder_names), found.name),
                *(evaluation.n, evaluation.n_species, figures.n_searched),
                *(found.micro, *found.micro_interval, found.macro, *found.macro_interval),
                *(*tested, setup.anchors, "", "", ""),
            ]


def as_text(report: LabelledReport, *, kb: str, dataset: str) -> str:
    """Return the tables for people, in percent, and the definitions of their words."""
    evaluation = report.evaluation
    species = plural(evaluation.n_species, "species", "species")
    parts = [f"{dataset}: {plural(evaluation.n, 'photo')} of {species}; knowledge base {kb}"]
    for vocabulary in dict.fromkeys(figures.setup.vocabulary for figures in evaluation.figures):
        rows = [figures for figures in evaluation.figures if figures.setup.vocabulary == vocabulary]
        head = f"{vocabulary}, {plural(rows[0].n_searched, 'possible answer')}"
        parts.append(f"{head}; mean over photos (micro), percent\n{_table(rows, 'micro')}")
        parts.append(f"{head}; mean over species (macro), percent\n{_table(rows, 'macro')}")
        if tests := _tests_table(evaluation, vocabulary):
            parts.append(tests)
    if report.readers is not None:
        parts.append(reader_tables.as_text(report.readers))
    parts.append("\n".join(f"{word}: {meaning}" for word, meaning in _definitions(report).items()))
    return "\n\n".join(parts)


def _definitions(report: LabelledReport) -> dict[str, str]:
    from recognize.evaluation.comparison import DEFINITIONS
    from recognize.evaluation.reader_comparison import READER_DEFINITIONS

    return {**DEFINITIONS, **({} if report.readers is None else READER_DEFINITIONS)}


def _table(rows: Sequence[SetupFigures], mean: str) -> str:
    has_chunks = any(found.name in CHUNKS for row in rows for found in row.measures)
    columns = [*SHOWN, *(CHUNKS if has_chunks else ())]
    return output.as_table(
        ["", *columns],
        [
            [_name(row), *(figure_cell(row.measures, name, mean, wide=name == "top-1") for name in columns)]
            for row in rows
        ],
        right=columns,
    )


def _tests_table(evaluation: SpeciesEvaluation, vocabulary: str) -> str:
    tests = [test for test in evaluation.tests if test.setup.vocabulary == vocabulary]
    if not tests:
        return ""
    names = _names(evaluation)
    columns = ["measure", "difference", "95 % interval", "better/worse", "p", "p (Holm)"]
    rows = [
        [
            *(names[test.setup], test.measure),
            *difference_cells(test.test.difference, test.test.interval, test.test.n_better, test.test.n_worse),
            *(p_text(test.test.p_value), p_text(test.p_corrected)),
        ]
        for test in tests
    ]
    head = f"{vocabulary}: difference from {names[tests[0].baseline]!r}, species by species"
    return head + "\n" + output.as_table(["", *columns], rows, right=columns[1:])


def _names(evaluation: SpeciesEvaluation) -> dict[Setup, str]:
    return {figures.setup: _name(figures) for figures in evaluation.figures}


def _name(figures: SetupFigures) -> str:
    """Return the name of a row: the preset, or the encoders of an ablation."""
    from recognize.evaluation.labelled import WITHOUT_ANCHORS

    setup = figures.setup
    name = setup.preset
    if setup.encoders is not None:
        name = "+".join(figures.encoder_names) + (", re-ranked" if setup.preset == "vr-rag-v1" else "")
    name += "" if setup.texts == "descriptions" else f", {setup.texts}"
    return name if setup.anchors == "kb" or setup.preset in WITHOUT_ANCHORS else f"{name}, anchors {setup.anchors}"
