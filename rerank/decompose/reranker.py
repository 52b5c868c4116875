"""Context, questions, answers, their mean: photos ranked by how many points of a query they fit."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from data.contracts import Judge, JudgesTogether, SeenImage
from data.errors import BadInput, CostStop, FieldmarkError, NotCached, SourceError, TooManyUnscored
from data.files import sha256_hex
from data.records import Context, Job, JobImage, Judgement, QueryPart, QuestionAnswer, RankedImage
from rerank.costs import total
from rerank.decompose.plan import Plan, Planner
from rerank.decompose.questions import QuestionWriter
from rerank.decompose.routing import kind_of_query
from rerank.decompose.rows import Missing, Row, row_in, row_of, scores_of, text_of_row
from rerank.decompose.settings import PRESETS, DecomposeSettings
from rerank.judgement_cache import KeptResults, key_of
from rerank.judges.judgements import answer_of
from rerank.original_order import text_job_ranks
from rerank.scheduling import all_of, current_query, current_step

_FIGURES: Final = re.compile(r" \d+/\d+$|; yes and no have .*")
N_READERS: Final = 2  # threads that read photos
N_PHOTOS: Final = 128  # of a query in work: more wait on disk, not in memory


@dataclass(slots=True)
class Tally:
    """What happened in a run so far; `plans` has the questions of each query."""

    n_answers: int = 0
    n_unscored: int = 0
    n_not_asked: int = 0
    n_kept: int = 0
    """Photos whose answers were there from an earlier run."""
    obtained_by: Counter[str] = field(default_factory=Counter)
    plans: dict[str, Plan] = field(default_factory=dict)
    failures: list[FieldmarkError] = field(default_factory=list)
    """Why images or whole queries could not be judged, in the order in which it happened."""

    def add(self, row: Row, *, n_questions: int) -> None:
        """Count the answers on an image."""
        self.n_answers += len(row.answers)
        self.n_unscored += sum(answer.probability is None for answer in row.answers)
        self.n_not_asked += n_questions - len(row.answers)
        # How many voted for it and how much of the mass it was belongs to the answer, not to the way.
        self.obtained_by.update(_FIGURES.sub("", answer.obtained_by) for answer in row.answers)


class DecomposeReranker:
    """Ranks photos by the mean probability of yes to the questions of a query; a `QueryReranker`.

    Scores are 0 to 100. A photo that cannot be read or judged is an error row behind all others; where the questions
    themselves fail, or too many answers are missing, all photos of the query are error rows: the order of the first
    stage is never given out as a re-ranking.

    Args:
        judge: who answers.
        settings: see `settings_of`.
        context: looks the words of a query up; needed where the settings use context.
        writer: writes questions; without it they come from a plain rule.
        parts: finds the names in a query, for the plain rule.
        kept: what was answered before.
        root: the folder that relative paths of a job start from.

    Source:
        Divide and Conquer, Algorithm 1 and sections 3.1 to 3.4. Differs: the preset `paper` has the paper's constants,
        but prompts are in our words and context is from the knowledge base; `default` differs as `PRESETS` says.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        settings: DecomposeSettings | None = None,
        context: Callable[[str], Context] | None = None,
        writer: QuestionWriter | None = None,
        parts: Callable[[str], Sequence[QueryPart]] | None = None,
        kept: KeptResults | None = None,
        root: str | Path = ".",
    ) -> None:
        self._judge = judge
        self._settings = settings or PRESETS["default"]
        self._kept = kept or KeptResults(None)
        self._planner = Planner(context=context, writer=writer, parts=parts, kept=self._kept)
        self._root = Path(root)
        self._readers = ThreadPoolExecutor(N_READERS, thread_name_prefix="photos")
        self.tally = Tally()

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            BadInput: if the job is no text query, or names an image twice.
            FieldmarkError: if the run as a whole cannot go on (a key is missing, the provider refuses us).
        """
        ranks = text_job_ranks(job, method="decompose")
        current_query.set(job.query_id)
        settings = self._settings_for(job.text)
        try:
            plan = await self._planner.plan(job.text, settings)
            self.tally.plans[job.query_id] = plan
            n_most = len(job.candidates) * len(plan.questions)
            missing = Missing(max_share=settings.max_unscored, n_most=n_most)
            asked = _Asked(query=job.text, plan=plan, settings=settings, missing=missing)
            rows = await all_of([self._image(image, asked) for image in job.candidates])
            missing.check(is_last=True)
        except (SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            rows = [Row(error=str(error)) for _ in job.candidates]
            plan = Plan(questions=())
        scores = scores_of(rows, len(plan.questions), settings)
        order = sorted(range(len(rows)), key=lambda i: (rows[i].error is not None, -scores[i], ranks[i]))
        # The cost of the questions is shared by the photos that they were written for.
        share = None if plan.cost_usd is None else plan.cost_usd / max(1, len(rows))
        return [
            RankedImage(
                query_id=job.query_id,
                image_id=job.candidates[i].image_id,
                rank=rank,
                score=round(scores[i], 6),
                first_stage_rank=ranks[i],
                status="ok" if rows[i].error is None else "error",
                error=rows[i].error,
                questions=rows[i].answers,
                evaluation="\n".join(rows[i].notes) or None,
                cost_usd=total((rows[i].cost_usd, share)),
            )
            for rank, i in enumerate(order, start=1)
        ]

    def close(self) -> None:
        """End the threads that read photos."""
        self._readers.shutdown(wait=False, cancel_futures=True)

    def _settings_for(self, query: str) -> DecomposeSettings:
        if self._settings.is_routed and kind_of_query(query) == "appearance":
            return replace(self._settings, asks_questions=False, is_chained=False)
        return self._settings

    async def _image(self, image: JobImage, asked: _Asked) -> Row:
        """Return what comes out for an image: what was kept, else what the judge says now."""
        loop = asyncio.get_running_loop()
        path = self._root / image.path
        try:
            digest = await loop.run_in_executor(self._readers, partial(_digest, path))
            key = asked.key(self._judge.name, digest) if digest else None
            kept = self._kept.get(key) if key else None
            if kept is None:
                async with asked.in_work:
                    look = await loop.run_in_executor(self._readers, self._judge.look, path)
                    row = await self._ask(look, asked)
                if key is not None and row.is_whole:
                    self._kept.put(key, text_of_row(row))
            else:
                row = row_in(kept)
                asked.missing.add(row.answers)
                self.tally.n_kept += 1
        except TooManyUnscored:
            raise  # the whole query fails
        except (BadInput, SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            return Row(error=str(error))
        self.tally.add(row, n_questions=len(asked.plan.questions))
        return row

    async def _ask(self, look: SeenImage, asked: _Asked) -> Row:
        """Return the judge's answers to the questions: all at once where it can, else one after the other.

        Source:
            Divide and Conquer, Algorithm 1, lines 4 to 8.
        """
        judge, plan, settings = self._judge, asked.plan, asked.settings
        is_together = settings.is_together and settings.is_chained and len(plan.questions) > 1
        if is_together and isinstance(judge, JudgesTogether):
            judged = await judge.judge_together(look, plan.questions, query=asked.query, context=plan.passage)
            if judged is not None:
                answers = [answer_of(question, one) for question, one in zip(plan.questions, judged, strict=True)]
                asked.missing.add(answers)
                asked.missing.check()
                return row_of(answers, judged)
        found: list[QuestionAnswer] = []
        said: list[Judgement] = []
        for question in plan.questions:
            current_step.set(len(found))
            earlier = tuple(found) if settings.is_chained else ()
            one = await judge.judge(look, question, query=asked.query, context=plan.passage, earlier=earlier)
            found.append(answer_of(question, one))
            said.append(one)
            asked.missing.add(found[-1:])
            asked.missing.check()
            if one.probability is not None and one.probability < (settings.stop_below or 0.0):
                break
        return row_of(found, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A query in work: what is asked about each of its photos, and what is missing so far."""

    query: str
    plan: Plan
    settings: DecomposeSettings
    missing: Missing
    in_work: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(N_PHOTOS))

    def key(self, judge: str, digest: str) -> str:
        """Return the key of all that decides the answers on an image."""
        texts = [[q.question, q.statement, q.negation] for q in self.plan.questions]
        how = [self.settings.is_chained, self.settings.is_together, self.settings.stop_below]
        return key_of(
            {
                "answers": 1, "judge": judge, "image": digest, "query": self.query, "questions": texts,
                "context": self.plan.passage, "how": how,
            }
        )  # fmt: skip


def _digest(path: Path) -> str:
    """Return the hash of a file; empty if it cannot be read, which the judge will say better."""
    try:
        return sha256_hex(path.read_bytes()) if path.is_file() else ""
    except (OSError, ValueError):
        return ""
