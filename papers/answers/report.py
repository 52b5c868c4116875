"""Figures of answers by evidence, with intervals over questions and paired tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from data.metrics import N_TEST_RESAMPLES
from data.metrics.ranked import Measured, PairedTest, holm, measure, paired_test
from rerank.reranker import total_cost

FAULTS: Final[tuple[Outcome, ...]] = ("refused", "cut off", "no answer", "unreadable judgement")
"""Outcomes that score 0 without a judgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """The figures of one kind of evidence."""

    evidence: str
    """Pictures of the reader."""
    n: int
    """Measured questions."""
    n_errors: int
    """Questions that could not be asked; not measured."""
    images: float
    """Mean number of pictures."""
    accuracy: Measured | None
    """Mean score; None without a measured question."""
    hallucination: float
    """Share of answers marked for features that no reference lists."""
    redundant: float
    """Share of answers marked for information that was not asked for."""
    faults: Mapping[str, int]
    """Outcome that scores 0 -> number of answers."""
    cost_usd: float | None
    """Cost of answers and judgements in US dollars; None if a price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTest:
    """Accuracy of one kind of evidence minus that of the first, over the questions measured with both."""

    evidence: str
    """Pictures of the reader."""
    baseline: str
    test: PairedTest
    p_corrected: float
    """`test.p_value` with Holm's correction over the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """The figures of a run."""

    n_questions: int
    """Number of questions."""
    figures: tuple[AnswerFigures, ...]
    """Figures by evidence."""
    tests: tuple[AnswerTest, ...]
    """Comparisons with the first kind of evidence, `no image`."""


def report_of(rows: Sequence[AnswerRow], *, n_resamples: int = N_TEST_RESAMPLES, seed: int = 0) -> AnswerReport:
    """Return the figures of the rows by evidence, in their order.

    Args:
        rows: the rows of a run.
        n_resamples: bootstrap and randomisation resamples.
        seed: random seed of both.

    Raises:
        ValueError: if there are no rows.
    """
    if not rows:
        raise ValueError("expected at least one row")
    by_evidence: dict[str, list[AnswerRow]] = {}
    for row in rows:
        by_evidence.setdefault(row.evidence, []).append(row)
    scores = {name: {r.question_id: r.score for r in of if r.score is not None} for name, of in by_evidence.items()}
    baseline, *others = by_evidence
    tests = {}
    for name in others:
        both = [scores[name][q] - score for q, score in scores[baseline].items() if q in scores[name]]
        if both:
            tests[name] = paired_test(both, n_resamples=n_resamples, seed=seed)
    corrected = holm([test.p_value for test in tests.values()])
    return AnswerReport(
        n_questions=len({row.question_id for row in rows}),
        figures=tuple(_figures(name, of, n_resamples, seed) for name, of in by_evidence.items()),
        tests=tuple(
            AnswerTest(evidence=name, baseline=baseline, test=test, p_corrected=p)
            for (name, test), p in zip(tests.items(), corrected, strict=True)
        ),
    )


def _figures(name: str, rows: Sequence[AnswerRow], n_resamples: int, seed: int) -> AnswerFigures:
    measured = [row for row in rows if row.score is not None]
    n = len(measured)
    outcomes = Counter(row.outcome for row in measured)
    values = [row.score for row in measured if row.score is not None]
    return AnswerFigures(
        evidence=name,
        n=n,
        n_errors=len(rows) - n,
        images=sum(len(row.images) for row in measured) / max(n, 1),
        accuracy=measure("accuracy", values, range(n), n_resamples=n_resamples, seed=seed) if n else None,
        hallucination=sum(row.hallucination for row in measured) / max(n, 1),
        redundant=sum(row.redundant for row in measured) / max(n, 1),
        faults={outcome: outcomes[outcome] for outcome in FAULTS},
        cost_usd=total_cost(row.cost_usd for row in rows),
    )


Outcome = Literal["judged", "refused", "cut off", "no answer", "unreadable judgement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """An answer to a question from one kind of evidence: one line of `python -m papers answers`."""

    question_id: str
    """Id of the question."""
    evidence: str
    """Pictures of the reader: `no image`, `drawing`, or a run and its depth."""
    question: str
    """The question."""
    references: tuple[str, ...]
    """Reference answers; any one is right."""
    images: tuple[str, ...] = ()
    """Ids of the pictures shown, in order."""
    answer: str | None = None
    """The reader's answer; null if there is none."""
    reasoning: str = ""
    """The reader's reasoning."""
    outcome: Outcome | None = None
    """`judged`, or why the score is 0: `refused` or `cut off` by the reader, `no answer`, `unreadable judgement`."""
    score: float | None = None
    """Score, 0 to 1; null in case of an error."""
    hallucination: bool = False
    """Marked for features that no reference lists."""
    redundant: bool = False
    """Marked for information that was not asked for."""
    judgement: str = ""
    """The judge's reply."""
    note: str = ""
    """Pictures left out because they cannot be read."""
    status: Literal["ok", "error"] = "ok"
    """Whether the answer was measured."""
    error: str | None = None
    """Why it was not."""
    cost_usd: float | None = 0.0
    """Cost of answer and judgement in US dollars; null if a price is unknown."""
