"""A run of question answering: every question with every kind of evidence, answered and judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from data.errors import BadInput, CostStop, CutOff, FieldmarkError, NotCached, Refused, SourceError
from papers.answers.evidence import Evidence
from papers.answers.reader import AnswerJudge, AnswerReader
from papers.answers.replies import read_answer, read_verdict
from papers.answers.report import AnswerRow
from papers.datasets.benchmark import VisualQuestion
from rerank.reranker import total_cost
from rerank.scheduling import all_of, current_query

N_OPEN = 16  # answers at a time; each holds its pictures in memory


@dataclass(slots=True, kw_only=True)
class AnswerRun:
    """The rows of a run, by question and then by evidence, and what went wrong."""

    rows: list[AnswerRow]
    failures: list[FieldmarkError] = field(default_factory=list)
    """The errors of the rows with one."""

    def raise_if_all_failed(self) -> None:
        """Raise the first error if no answer was measured."""
        if self.failures and all(row.status == "error" for row in self.rows):
            raise self.failures[0]


def run_answers(
    questions: Sequence[VisualQuestion],
    evidence: Sequence[Evidence],
    *,
    reader: AnswerReader,
    judge: AnswerJudge,
    on_row: Callable[[AnswerRow], None] = lambda _row: None,
) -> AnswerRun:
    """Return the judged answers to all questions; `on_row` is called as each is complete, in order of completion.

    An answer that the reader refuses or does not finish scores 0, and so does one with an unreadable judgement. A row
    has an error if its evidence is missing, or a model cannot be asked now.
    """
    pairs = [(question, each) for question in questions for each in evidence]
    rows: dict[int, AnswerRow] = {}
    failures: list[FieldmarkError] = []

    async def work(waiting: Iterator[tuple[int, tuple[VisualQuestion, Evidence]]]) -> None:
        for place, (question, each) in waiting:
            current_query.set(question.question_id)
            row = AnswerRow(
                question_id=question.question_id,
                evidence=each.name,
                question=question.text,
                references=question.answers,
            )
            try:
                row = await _answered(row, question, each, reader=reader, judge=judge)
            except (BadInput, SourceError, CostStop, NotCached) as error:
                failures.append(error)
                row = replace(row, status="error", error=str(error))
            rows[place] = row
            on_row(row)

    async def main() -> None:
        waiting = iter(enumerate(pairs))
        await all_of([work(waiting) for _ in range(N_OPEN)])

    asyncio.run(main())
    return AnswerRun(rows=[rows[place] for place in range(len(pairs))], failures=failures)


async def _answered(
    row: AnswerRow, question: VisualQuestion, evidence: Evidence, *, reader: AnswerReader, judge: AnswerJudge
) -> AnswerRow:
    pictures = await evidence.pictures(question)
    shown, left_out = await reader.look(pictures)
    if pictures and not shown:
        raise BadInput("; ".join(left_out))
    row = replace(
        row,
        images=tuple(each.picture.image_id for each in shown),
        note=f"left out: {'; '.join(left_out)}" if left_out else "",
    )
    try:
        reply = await reader.answer(question, shown)
    except Refused:
        return replace(row, outcome="refused", score=0.0)
    except CutOff as error:
        return replace(row, outcome="cut off", score=0.0, cost_usd=error.cost_usd)
    read = read_answer(reply.text)
    row = replace(row, reasoning=read.reasoning, cost_usd=reply.cost_usd)
    if not read.answer:
        return replace(row, outcome="no answer", score=0.0)
    row = replace(row, answer=read.answer)
    try:
        judged = await judge.judge(question, read.answer)
    except (Refused, CutOff) as error:
        cost = error.cost_usd if isinstance(error, CutOff) else 0.0
        row = replace(row, judgement=str(error), cost_usd=total_cost((reply.cost_usd, cost)))
        return replace(row, outcome="unreadable judgement", score=0.0)
    row = replace(row, judgement=judged.text, cost_usd=total_cost((reply.cost_usd, judged.cost_usd)))
    verdict = read_verdict(judged.text)
    if verdict is None:
        return replace(row, outcome="unreadable judgement", score=0.0)
    return replace(
        row, outcome="judged", score=verdict.score, hallucination=verdict.hallucination, redundant=verdict.redundant
    )
