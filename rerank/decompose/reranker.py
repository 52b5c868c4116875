"""Query decomposition: photos ranked by the mean probability of yes to questions about the query."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from data.contracts import Judge, SeenImage
from data.errors import BadInput, MalformedAnswer, NoEvidence, TooManyUnscored
from data.records import Context, Job, JobImage, Judgement, QueryPart, Question, QuestionAnswer, RankedImage
from data.words import plural
from rerank.decompose.questions import QueryPlan, QuestionWriter, plan_query
from rerank.judges.answers import NO_EVIDENCE, answer_of
from rerank.queries import check_decompose, reading_reference
from rerank.reranker import FAILURES, UNREADABLE_SCORE, Tally, begin, ranked_by_score, share_of, total_cost
from rerank.scheduling import all_of, current_step, read_in_thread
from rerank.settings import MAX_UNSCORED, STOP_BELOW, DecomposeSettings


def with_answers(row: RankedImage, questions: Sequence[Question], judged: Sequence[Judgement]) -> RankedImage:
    """Return a row with its answers, their total cost, and the notes on them, each with the number of its question."""
    answers = tuple(answer_of(question, one) for question, one in zip(questions, judged, strict=False))  # some skipped
    notes = [f"{i}. {' '.join(one.note.split())}" for i, one in enumerate(judged, 1) if one.note]
    cost = total_cost(one.cost_usd for one in judged)
    return replace(row, questions=answers, evaluation="\n".join(notes) or None, cost_usd=cost)


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

    def add(self, judged: Sequence[Judgement]) -> None:
        """Count answers."""
        counted = [one for one in judged if one.obtained_by != NO_EVIDENCE]
        self.n += len(counted)
        self.n_missing += sum(one.probability is None for one in counted)
        self.n_without_evidence += len(judged) - len(counted)
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


def photo_scores(photos: Sequence[RankedImage], n_questions: int, unscored: Literal["zero", "mean"]) -> list[float]:
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
            known = [p for one in photos if len(one.questions) > j and (p := one.questions[j].probability) is not None]
            fill[j] = sum(known) / len(known) if known else 0.5
    silent = questions_without_evidence(photos)
    scores = []
    for photo in photos:
        if photo.error is not None:
            scores.append(UNREADABLE_SCORE)
            continue
        values = [
            answer.probability if answer.probability is not None else fill[j]
            for j, answer in enumerate(photo.questions)
            if j not in silent
        ]
        scores.append(100 * sum(values) / max(1, n_questions - len(silent)))
    return scores


def questions_without_evidence(photos: Sequence[RankedImage]) -> dict[int, str]:
    """Return number of a question that the judge has nothing to go by for -> the question."""
    return {
        j: answer.question
        for photo in photos
        for j, answer in enumerate(photo.questions)
        if answer.obtained_by == NO_EVIDENCE
    }


_FIGURES: Final = re.compile(r" \d+/\d+$|; yes and no have .*")
N_PHOTOS: Final = 128  # photos of a query in memory at once; the others wait on disk


_WORDS: Final = {
    "answers": ("answer", "answers"),
    "unscored": ("without a usable answer",) * 2,
    "skipped": ("question skipped after a sure no", "questions skipped after a sure no"),
}
_WARNED: Final = {
    "unsure": (
        "query with few usable answers, so the order of its photos means little (kb doctor tests the endpoint)",
        "queries with few usable answers, so the order of their photos means little (kb doctor tests the endpoint)",
    )
}


class DecomposeReranker:
    """Ranks photos by the mean probability of yes to the questions of a query; a `Reranker`.

    Scores are 0 to 100. A photo that cannot be read or judged is an error row behind all others. Where the questions
    themselves fail, or too many answers are missing, all photos of the query are error rows: first-stage order is
    never returned as a re-ranking.

    Args:
        judge: answers the questions.
        settings: modes and constants.
        context: returns background on the words of a query; used where the settings ask for context.
        writer: writes questions; without it a plain rule does.
        parts: finds the names in a query, for the plain rule.

    Source:
        Divide and Conquer, Algorithm 1 and sections 3.1 to 3.4. Differs: the preset `paper` has the paper's constants,
        but our own prompts, and context from the knowledge base; `default` asks all questions on a photo in one call,
        or stops at a sure no. Composed queries and dialogues are ours: the change or the dialogue is the query, and a
        reference photo is shown with every question.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        settings: DecomposeSettings | None = None,
        context: Callable[[str], Context] | None = None,
        writer: QuestionWriter | None = None,
        parts: Callable[[str], Sequence[QueryPart]] | None = None,
    ) -> None:
        self._judge = judge
        self._settings = settings or DecomposeSettings()
        self._by_rule = writer is None and not self._settings.direct
        self._plan = partial(plan_query, context=context, writer=writer, parts=parts)
        self.tally = Tally(words=_WORDS, warned=_WARNED)

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        rows, query = begin(job)
        check_decompose(query, sees_photos=self._judge.sees_references, by_rule=self._by_rule)
        reference = b""
        if job.reference_image is not None:
            look = partial(self._judge.look, Path(job.reference_image))
            with reading_reference(job):
                reference = (await read_in_thread(look)).jpeg
        try:
            plan = await self._plan(query, self._settings)
            if plan.problem:
                self.tally.remarks.append(f"query {job.query_id} was asked whole, not decomposed: {plan.problem}")
                self.tally.has_fallbacks = True
            n_expected = len(job.candidates) * len(plan.questions)
            missing = MissingAnswers(max_share=self._settings.max_unscored, n_expected=n_expected)
            work = _QueryWork(query=query.described, plan=plan, missing=missing, reference=reference)
            photos = await all_of([self._photo(*each, work) for each in zip(rows, job.candidates, strict=True)])
            missing.check(is_last=True)
            if missing.n_missing > MAX_UNSCORED * missing.n:
                n, reason = plural(missing.n, "question"), f" ({missing.reason})" if missing.reason else ""
                self.tally.warn("unsure", f"{job.query_id}: no usable answer to {missing.n_missing:,} of {n}{reason}")
                self.tally.has_fallbacks = True
            self.tally.remarks += [
                f"query {job.query_id}: the judge has no evidence on {question!r}, which does not count"
                for question in questions_without_evidence(photos).values()
            ]
        except (*FAILURES, NoEvidence) as error:
            self.tally.failures.append(error)
            photos = [replace(row, error=str(error)) for row in rows]
            plan = QueryPlan(questions=())
        scores = photo_scores(photos, len(plan.questions), self._settings.unscored)
        # The photos share the cost of writing the questions.
        share = share_of(plan.cost_usd, len(photos))
        return ranked_by_score(
            replace(photo, score=score, cost_usd=total_cost((photo.cost_usd, share)))
            for score, photo in zip(scores, photos, strict=True)
        )

    @property
    def _stop_below(self) -> float:
        default = STOP_BELOW if self._judge.costs_money else 0.0
        return default if self._settings.stop_below is None else self._settings.stop_below

    async def _photo(self, row: RankedImage, image: JobImage, work: _QueryWork) -> RankedImage:
        """Return the row of a photo with the judge's answers."""
        judged: list[Judgement] = []
        try:
            async with work.slots:
                look = await read_in_thread(partial(self._judge.look, Path(image.path)))
                look = replace(look, reference=work.reference) if work.reference else look
                await self._ask(look, work, judged)
            photo = with_answers(row, work.plan.questions, judged)
        except TooManyUnscored:
            raise  # the whole query fails
        except (BadInput, *FAILURES) as error:
            self.tally.failures.append(error)
            paid = [one.cost_usd for one in judged] + ([error.cost_usd] if isinstance(error, MalformedAnswer) else [])
            return replace(row, error=str(error), cost_usd=total_cost(paid))
        n = len(photo.questions)
        n_missing = sum(each.probability is None and each.obtained_by != NO_EVIDENCE for each in photo.questions)
        self.tally.counts.update(answers=n, unscored=n_missing, skipped=len(work.plan.questions) - n)
        # Without the number of samples and the probability mass, which belong to a single answer.
        self.tally.origins.update(_FIGURES.sub("", answer.obtained_by) for answer in photo.questions)
        return photo

    async def _ask(self, look: SeenImage, work: _QueryWork, judged: list[Judgement]) -> None:
        """Ask the judge all questions in one call where it supports that, else one after the other.

        Each judgement is added to `judged`, so that its cost counts where a later one fails.

        Source:
            Divide and Conquer, Algorithm 1, lines 4 to 8.
        """
        judge, plan, settings, context = self._judge, work.plan, self._settings, self._context(work)
        if settings.together and settings.is_chained and len(plan.questions) > 1:
            together = await judge.judge_together(look, plan.questions, query=work.query, context=context)
            if together is not None:
                judged += together
                work.missing.add(judged)
                work.missing.check()
                return
        found: list[QuestionAnswer] = []
        for question in plan.questions:
            current_step.set(len(found))
            earlier = tuple(found) if settings.is_chained else ()
            one = await judge.judge(look, question, query=work.query, context=context, earlier=earlier)
            found.append(answer_of(question, one))
            judged.append(one)
            work.missing.add([one])
            work.missing.check()
            if one.probability is not None and one.probability < self._stop_below:
                break

    def _context(self, work: _QueryWork) -> str:
        """Return the passage; encoders, which see no reference photos either, take it for looks."""
        return work.plan.passage if self._judge.sees_references else work.plan.looks


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueryWork:
    """A query in progress: its questions, and the count of missing answers so far."""

    query: str
    plan: QueryPlan
    missing: MissingAnswers
    reference: bytes = b""
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(N_PHOTOS))
