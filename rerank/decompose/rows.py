"""What came out for each photo of a query: its answers as they are kept, counted and scored. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from data.errors import TooManyUnscored
from data.records import Judgement, QuestionAnswer
from rerank.costs import total
from rerank.decompose.settings import DecomposeSettings
from rerank.original_order import UNREADABLE_SCORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came out for one image."""

    answers: tuple[QuestionAnswer, ...] = ()
    cost_usd: float | None = 0.0
    error: str | None = None
    notes: tuple[str, ...] = ()
    """Reasons before an answer, or why there is none, each with the number of its question."""

    @property
    def is_whole(self) -> bool:
        """Whether every question that was asked has an answer; only such a row is kept."""
        return self.error is None and all(answer.probability is not None for answer in self.answers)


def row_of(answers: Sequence[QuestionAnswer], judged: Sequence[Judgement]) -> Row:
    """Return the row of an image: the answers, what they cost together, and what was noted of them."""
    notes = tuple(f"{i}. {' '.join(one.note.split())}" for i, one in enumerate(judged, 1) if one.note)
    return Row(answers=tuple(answers), cost_usd=total(one.cost_usd for one in judged), notes=notes)


def text_of_row(row: Row) -> str:
    """Return a row as a text to keep."""
    answers = [[a.question, a.answer, a.probability, a.obtained_by] for a in row.answers]
    return json.dumps({"answers": answers, "cost_usd": row.cost_usd, "notes": row.notes}, ensure_ascii=False)


def row_in(text: str) -> Row:
    """Return the row in a text that was kept."""
    payload = json.loads(text)
    answers = tuple(
        QuestionAnswer(question=question, answer=answer, probability=probability, obtained_by=by)
        for question, answer, probability, by in payload["answers"]
    )
    return Row(answers=answers, cost_usd=payload["cost_usd"], notes=tuple(payload.get("notes", ())))


@dataclass(slots=True, kw_only=True)
class Missing:
    """How many answers of a query are missing."""

    max_share: float
    n_most: int
    """How many answers there will be, if all questions are asked about all photos."""
    n: int = 0
    n_missing: int = 0

    def add(self, answers: Sequence[QuestionAnswer]) -> None:
        """Count answers."""
        self.n += len(answers)
        self.n_missing += sum(answer.probability is None for answer in answers)

    def check(self, *, is_last: bool = False) -> None:
        """Raise where too many are missing: what is left would be the order of the first stage under another name.

        Raises:
            TooManyUnscored: if so, of all that were asked, or before the last one of all that there will be.
        """
        n = self.n if is_last else self.n_most  # by chance the first answers may be the missing ones
        if self.n_missing > self.max_share * n:
            raise TooManyUnscored(
                f"the judge could not tell for {self.n_missing} of {n} answers, at most "
                f"{self.max_share:.0%} may be missing",
                hint="kb doctor shows what the endpoint returns; the preset paper takes only `Yes` and `No` in this "
                "very spelling; --max-unscored allows more",
            )


def scores_of(rows: Sequence[Row], n_questions: int, settings: DecomposeSettings) -> list[float]:
    """Return the score of each row: 100 times the mean probability of yes over all questions.

    Source:
        Divide and Conquer, section 3.4 and line 9 of Algorithm 1. What was not asked after a sure no counts as no.
    """
    fill = [0.0] * n_questions
    if settings.unscored == "mean":
        for j in range(n_questions):
            known = [p for row in rows if len(row.answers) > j and (p := row.answers[j].probability) is not None]
            fill[j] = sum(known) / len(known) if known else 0.5
    scores = []
    for row in rows:
        if row.error is not None:
            scores.append(UNREADABLE_SCORE)
            continue
        values = [
            answer.probability if answer.probability is not None else fill[j] for j, answer in enumerate(row.answers)
        ]
        scores.append(100 * sum(values) / max(1, n_questions))
    return scores
