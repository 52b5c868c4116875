"""Answers about the photos of a query: collected, counted and scored. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from data.errors import NoEvidence, TooManyUnscored
from data.records import Judgement, QuestionAnswer
from rerank.judges.judgements import NO_EVIDENCE
from rerank.ranked_images import UNREADABLE_SCORE, total_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoAnswers:
    """The answers on one photo, or the error that prevented them."""

    answers: tuple[QuestionAnswer, ...] = ()
    cost_usd: float | None = 0.0
    error: str | None = None
    notes: tuple[str, ...] = ()
    """Reasons given before an answer, or why it is missing, each with the number of its question."""

    @property
    def is_complete(self) -> bool:
        """Whether every question that was asked has an answer or counts for nothing; only such photos are cached."""
        found = [answer for answer in self.answers if answer.obtained_by != NO_EVIDENCE]
        return self.error is None and bool(found) and all(answer.probability is not None for answer in found)


def collect_answers(answers: Sequence[QuestionAnswer], judged: Sequence[Judgement]) -> PhotoAnswers:
    """Return the answers on a photo with their total cost and notes."""
    notes = tuple(f"{i}. {' '.join(one.note.split())}" for i, one in enumerate(judged, 1) if one.note)
    return PhotoAnswers(answers=tuple(answers), cost_usd=total_cost(one.cost_usd for one in judged), notes=notes)


@dataclass(slots=True, kw_only=True)
class MissingAnswers:
    """Count of the answers of a query that are missing."""

    max_share: float
    n_expected: int
    """Answers if all questions are asked about all photos."""
    n: int = 0
    n_missing: int = 0
    n_without_evidence: int = 0
    """Answers to questions that the judge cannot answer for any photo; they count neither as given nor as missing."""
    reason: str = ""
    """Why the first one is missing, if the judge says so."""

    def add(self, answers: Sequence[QuestionAnswer], judged: Sequence[Judgement] = ()) -> None:
        """Count answers; `judged` are the judgements that they come from, unless they are cached."""
        counted = [answer for answer in answers if answer.obtained_by != NO_EVIDENCE]
        self.n += len(counted)
        self.n_missing += sum(answer.probability is None for answer in counted)
        self.n_without_evidence += len(answers) - len(counted)
        self.reason = self.reason or next((one.note for one in judged if one.probability is None), "")

    def check(self, *, is_last: bool = False) -> None:
        """Raise if too many answers are missing: the ranking would be little more than the first-stage order.

        Raises:
            TooManyUnscored: if more than `max_share` of the expected answers are missing; with `is_last`, of the
                answers that were asked for.
            NoEvidence: with `is_last`, if the judge has nothing to go by for any question.
        """
        if is_last and not self.n and self.n_without_evidence:
            raise NoEvidence(
                f"The judge cannot rank photos for this query: {self.reason}.",
                hint="A vision model answers any question: set [llm.vision] in fieldmark.toml.",
            )
        n = (
            self.n if is_last else self.n_expected - self.n_without_evidence
        )  # by chance the first answers may be the missing ones
        if self.n_missing > self.max_share * n:
            raise TooManyUnscored(
                f"The judge gave no usable answer to {self.n_missing} of {n} questions"
                f"{f' ({self.reason})' if self.reason else ''}; at most {self.max_share:.0%} may be missing.",
                hint="kb doctor tests the endpoint; --preset paper accepts only the exact spellings `Yes` and `No`; "
                "--set decompose.max_unscored=0.5 allows more",
            )


def photo_scores(photos: Sequence[PhotoAnswers], n_questions: int, unscored: Literal["zero", "mean"]) -> list[float]:
    """Return the score of each photo: 100 times the mean probability of yes over all questions.

    Questions without evidence do not count.

    Args:
        photos: the answers on each photo.
        n_questions: questions of the query; those skipped after a sure no count as no.
        unscored: value of a missing answer: 0, or the mean of that question over the other photos.

    Source:
        Divide and Conquer, section 3.4 and line 9 of Algorithm 1.
    """
    fill = [0.0] * n_questions
    if unscored == "mean":
        for j in range(n_questions):
            known = [p for one in photos if len(one.answers) > j and (p := one.answers[j].probability) is not None]
            fill[j] = sum(known) / len(known) if known else 0.5
    silent = questions_without_evidence(photos)
    scores = []
    for photo in photos:
        if photo.error is not None:
            scores.append(UNREADABLE_SCORE)
            continue
        values = [
            answer.probability if answer.probability is not None else fill[j]
            for j, answer in enumerate(photo.answers)
            if j not in silent
        ]
        scores.append(100 * sum(values) / max(1, n_questions - len(silent)))
    return scores


def questions_without_evidence(photos: Sequence[PhotoAnswers]) -> dict[int, str]:
    """Return number of a question that the judge has nothing to go by for -> the question."""
    return {
        j: answer.question
        for photo in photos
        for j, answer in enumerate(photo.answers)
        if answer.obtained_by == NO_EVIDENCE
    }
