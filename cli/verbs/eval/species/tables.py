"""Tables and warnings of `kb eval species`, and the same figures as CSV and JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.reports import unmatched_text
from cli.verbs.eval.cells import difference_cells, figure_cell, p_text
from data.words import plural

if TYPE_CHECKING:
    from kb.checklist.reconcile import UnmatchedName
    from recognize.evaluation.comparison import SetupFigures, SpeciesEvaluation
    from recognize.evaluation.labelled import MeasuredPhotos, SelectedPhotos

SHOWN = ("top-1", "top-5", "hit@30", "MRR@1", "MRR@5", "MRR@10", "genus")
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
            photos = plural(found.n_unmatched, "photo")
            labels = plural(len(self.unmatched), "label")
            yield f"{labels} ({photos}) matched no species: {unmatched_text(self.unmatched, rest=rest)}"
        if found.absent:
            photos = plural(found.n_absent, "photo")
            species = plural(len(found.absent), "species", "species")
            yield f"{species} ({photos}) not in the knowledge base: {output.first_few(found.absent, rest=rest)}"

    def text(self) -> str:
        """Return both as one line."""
        return "; ".join(self.lines())


def warnings(photos: MeasuredPhotos, skipped: Skipped, *, leaks_kept: bool) -> Iterator[str]:
    """Yield skipped photos, and leaks that make figures too high."""
    yield from skipped.lines(rest=" (--format json has all)")
    if skipped.unmatched:
        yield NAMES_HINT
    done = "measured too, so figures are too high" if leaks_kept else "skipped"
    if photos.n_leaks:
        tests = ", ".join(f"{n:,} {test}" for test, n in photos.leaks.items())
        tests += "; some by several tests" if sum(photos.leaks.values()) > photos.n_leaks else ""
        yield f"{plural(photos.n_leaks, 'photo')} equal or nearly equal to reference photos ({tests}): {done}"
    if photos.n_trained:
        yield f"{plural(photos.n_trained, 'photo')} among the training photos of the encoders: {done}"
    if photos.unreadable:
        path, why = next(iter(photos.unreadable.items()))
        yield f"{plural(len(photos.unreadable), 'photo')} unreadable; the first is {path}: {why}"


def payload(
    evaluation: SpeciesEvaluation, photos: MeasuredPhotos, skipped: Skipped, *, kb: str, leaks_kept: bool
) -> dict[str, object]:
    """Return the figures as JSON values, with the definition of each measure."""
    from data.codec import to_json
    from recognize.evaluation.comparison import DEFINITIONS

    selected = skipped.selected
    return {
        "kb": kb,
        "dataset": selected.kind,
        "photos": {
            "of_dataset": selected.n_photos,
            "label_unmatched": selected.n_unmatched,
            "species_not_in_kb": selected.n_absent,
            "asked": len(selected.photos),
            "unreadable": photos.unreadable,
            "leaks": {"n": photos.n_leaks, "kept": leaks_kept, **photos.leaks},
            "trained_on": photos.n_trained,
            "anchors": {name: len(anchor_set.photos) for name, anchor_set in photos.anchor_sets.items()},
        },
        "unmatched": [to_json(name) for name in skipped.unmatched],
        "not_in_kb": list(selected.absent),
        **to_json(evaluation),
        "definitions": DEFINITIONS,
    }


def as_text(evaluation: SpeciesEvaluation, *, kb: str, dataset: str) -> str:
    """Return the tables for people, in percent, and the definitions of their words."""
    from recognize.evaluation.comparison import DEFINITIONS

    species = plural(evaluation.n_species, "species", "species")
    parts = [f"{dataset}: {plural(evaluation.n, 'photo')} of {species}; knowledge base {kb}"]
    for vocabulary in dict.fromkeys(figures.setup.vocabulary for figures in evaluation.figures):
        rows = [figures for figures in evaluation.figures if figures.setup.vocabulary == vocabulary]
        head = f"{vocabulary}, {plural(rows[0].n_searched, 'possible answer')}"
        parts.append(f"{head}; mean over photos (micro), percent\n{_table(rows, 'micro')}")
        parts.append(f"{head}; mean over species (macro), percent\n{_table(rows, 'macro')}")
        if tests := _tests_table(evaluation, vocabulary):
            parts.append(tests)
    parts.append("\n".join(f"{word}: {meaning}" for word, meaning in DEFINITIONS.items()))
    return "\n\n".join(parts)


def _table(rows: Sequence[SetupFigures], mean: str) -> str:
    has_chunks = any(found.name in CHUNKS for row in rows for found in row.measures)
    columns = [*SHOWN, *(CHUNKS if has_chunks else ())]
    return output.as_table(
        ["", *columns],
        [
            [row.setup.name, *(figure_cell(row.measures, name, mean, wide=name == "top-1") for name in columns)]
            for row in rows
        ],
        right=columns,
    )


def _tests_table(evaluation: SpeciesEvaluation, vocabulary: str) -> str:
    tests = [test for test in evaluation.tests if test.setup.vocabulary == vocabulary]
    if not tests:
        return ""
    columns = ["measure", "difference", "95 % interval", "better/worse", "p", "p (Holm)"]
    rows = [
        [
            *(test.setup.name, test.measure),
            *difference_cells(test.test.difference, test.test.interval, test.test.n_better, test.test.n_worse),
            *(p_text(test.test.p_value), p_text(test.p_corrected)),
        ]
        for test in tests
    ]
    head = f"{vocabulary}: difference from {tests[0].baseline.name!r}, species by species"
    return head + "\n" + output.as_table(["", *columns], rows, right=columns[1:])
