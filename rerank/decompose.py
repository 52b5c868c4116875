"""Context, questions, answers, their mean: photos ranked by how many points of a query they fit."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from data.contracts import Judge, JudgesTogether, SeenImage
from data.errors import (
    BadInput,
    CostStop,
    FieldmarkError,
    MalformedAnswer,
    NotCached,
    SourceError,
    TooManyUnscored,
)
from data.files import sha256_hex
from data.records import Context, Job, JobImage, Judgement, QueryPart, Question, QuestionAnswer, RankedImage
from rerank.judge_vision import answer_of
from rerank.kept import KeptResults, key_of
from rerank.order import UNREADABLE_SCORE, first_stage_ranks
from rerank.plain_questions import direct_question, plain_questions
from rerank.questions import QuestionWriter
from rerank.routing import kind_of_query
from rerank.scheduling import all_of, current_query, current_step

Mode = Literal["direct", "questions", "context", "full"]
_FIGURES: Final = re.compile(r" \d+/\d+$|; yes and no have .*")
N_READERS: Final = 2  # threads that read photos
N_PHOTOS: Final = 128  # of a query in work: more wait on disk, not in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeSettings:
    """How a query is taken apart and its photos are scored."""

    asks_questions: bool = True
    """Whether the query is taken apart, or asked as it is."""
    uses_context: bool = True
    is_chained: bool = True
    """Whether a question comes with the earlier questions and their answers."""
    is_together: bool = False
    """Whether one call answers all questions on a photo, where the judge can; chained questions alone, which are
    answered in the light of each other anyway."""
    stop_below: float | None = None
    """A probability of yes below which the questions after it are not asked: they count as no."""
    unscored: Literal["zero", "mean"] = "zero"
    """What a question counts that was not answered: nothing, as in the paper, or the mean of its other photos."""
    max_unscored: float = 0.2
    """The share of unanswered questions above which a query fails."""
    is_routed: bool = False
    """Whether queries about appearance are asked as they are, with context; see `rerank.routing`."""

    def __post_init__(self) -> None:
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise ValueError(f"expected stop_below between 0 and 1, got {self.stop_below}")
        if not 0 <= self.max_unscored <= 1:
            raise ValueError(f"expected max_unscored between 0 and 1, got {self.max_unscored}")


PRESETS: Final[dict[str, DecomposeSettings]] = {
    # One call a photo instead of three, and most of the cost is the photo. Judges that answer one by one stop at a sure
    # no: what comes after it seldom lifts a photo above one that passed.
    "default": DecomposeSettings(is_together=True, stop_below=0.05),
    "paper": DecomposeSettings(),
}
"""Preset -> settings of the full method."""


def settings_of(preset: str, mode: Mode = "full") -> DecomposeSettings:
    """Return a preset in one of the four modes of the paper's ablation.

    `direct`: the query as one question. `questions`: answered independently, without context. `context`: the one
    question with context. `full`: questions with context, each with the answers before it.

    Source:
        Divide and Conquer, Figure 3 (a) to (d).

    Example:
        >>> settings = settings_of("paper", "questions")
        >>> settings.asks_questions, settings.uses_context, settings.is_chained
        (True, False, False)
    """
    if preset not in PRESETS:
        raise ValueError(f"expected one of {', '.join(PRESETS)}, got {preset!r}")
    asks, context = mode in ("questions", "full"), mode in ("context", "full")
    return replace(PRESETS[preset], asks_questions=asks, uses_context=context, is_chained=mode == "full")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked about the photos of one query, and where it comes from."""

    questions: tuple[Question, ...]
    passage: str = ""
    source: Literal["model", "rule", "query", "fallback"] = "query"
    """Who wrote the questions; `fallback`: the model failed to, and the query itself is asked."""
    cost_usd: float | None = 0.0
    note: str = ""


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
        self._context = context
        self._writer = writer
        self._parts = parts
        self._kept = kept or KeptResults(None)
        self._root = Path(root)
        self._readers = ThreadPoolExecutor(N_READERS, thread_name_prefix="photos")
        self.tally = Tally()

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            BadInput: if the job is no text query, or names an image twice.
            FieldmarkError: if the run as a whole cannot go on (a key is missing, the provider refuses us).
        """
        ranks = first_stage_ranks(job)
        if job.reference_image is not None:
            raise BadInput(f"the job {job.query_id} has a reference image: only texts can be taken apart")
        if not job.text.strip():
            raise BadInput(f"the job {job.query_id} has no text to take apart")
        current_query.set(job.query_id)
        settings = self._settings_for(job.text)
        try:
            plan = await self._plan(job, settings)
            self.tally.plans[job.query_id] = plan
            n_most = len(job.candidates) * len(plan.questions)
            seen = _Seen(max_unscored=settings.max_unscored, n_most=n_most)
            rows = await all_of([self._image(image, job, plan, settings, seen) for image in job.candidates])
            seen.check(is_last=True)
        except (SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            rows = [_Row(error=str(error)) for _ in job.candidates]
            plan = Plan(questions=())
        scores = _scores(rows, len(plan.questions), settings)
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
                cost_usd=_added(rows[i].cost_usd, share),
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

    # --- the questions of a query ---------------------------------------------------------------------------------

    async def _plan(self, job: Job, settings: DecomposeSettings) -> Plan:
        passage = ""
        if settings.uses_context and self._context is not None:
            passage = (await asyncio.to_thread(self._context, job.text)).passage
        if not settings.asks_questions:
            return Plan(questions=(direct_question(job.text),), passage=passage)
        if self._writer is None:
            parts = await asyncio.to_thread(self._parts, job.text) if self._parts is not None else ()
            questions = plain_questions(job.text, parts, uses_looks=settings.uses_context)
            return Plan(questions=questions, passage=passage, source="rule")
        key = key_of({"questions": 1, "writer": self._writer.name, "query": job.text, "context": passage})
        kept = self._kept.get(key)
        if kept is not None:
            payload = json.loads(kept)
            questions = tuple(Question(**entry) for entry in payload["questions"])
            return Plan(questions=questions, passage=passage, source="model", cost_usd=payload["cost_usd"])
        try:
            written = await self._writer.write(job.text, context=passage)
        except MalformedAnswer as error:
            return Plan(questions=(direct_question(job.text),), passage=passage, source="fallback", note=str(error))
        texts = [{"question": q.question, "statement": q.statement, "negation": q.negation} for q in written.questions]
        self._kept.put(key, json.dumps({"questions": texts, "cost_usd": written.cost_usd}, ensure_ascii=False))
        return Plan(questions=written.questions, passage=passage, source="model", cost_usd=written.cost_usd)

    # --- the answers on an image ----------------------------------------------------------------------------------

    async def _image(self, image: JobImage, job: Job, plan: Plan, settings: DecomposeSettings, seen: _Seen) -> _Row:
        loop = asyncio.get_running_loop()
        path = self._root / image.path
        try:
            digest = await loop.run_in_executor(self._readers, partial(_digest, path))
            key = self._key(digest, job, plan, settings) if digest else None
            row = _kept_row(self._kept.get(key)) if key else None
            if row is None:
                async with seen.in_work:
                    look = await loop.run_in_executor(self._readers, self._judge.look, path)
                    row = await self._ask(look, job, plan, settings, seen)
                if key is not None and all(answer.probability is not None for answer in row.answers):
                    self._kept.put(key, _as_text(row))
            else:
                seen.add(row.answers)
                self.tally.n_kept += 1
        except TooManyUnscored:
            raise  # the whole query fails
        except (BadInput, SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            return _Row(error=str(error))
        self._count(row, plan)
        return row

    def _key(self, digest: str, job: Job, plan: Plan, settings: DecomposeSettings) -> str:
        asked = [[q.question, q.statement, q.negation] for q in plan.questions]
        how = [settings.is_chained, settings.is_together, settings.stop_below]
        return key_of(
            {
                "answers": 1, "judge": self._judge.name, "image": digest, "query": job.text, "questions": asked,
                "context": plan.passage, "how": how,
            }
        )  # fmt: skip

    async def _ask(self, look: SeenImage, job: Job, plan: Plan, settings: DecomposeSettings, seen: _Seen) -> _Row:
        judge = self._judge
        is_together = settings.is_together and settings.is_chained and len(plan.questions) > 1
        if is_together and isinstance(judge, JudgesTogether):
            judged = await judge.judge_together(look, plan.questions, query=job.text, context=plan.passage)
            if judged is not None:
                answers = tuple(answer_of(question, one) for question, one in zip(plan.questions, judged, strict=True))
                seen.add(answers)
                seen.check()
                return _row(answers, judged)
        found: list[QuestionAnswer] = []
        said: list[Judgement] = []
        for question in plan.questions:
            current_step.set(len(found))
            earlier = tuple(found) if settings.is_chained else ()
            one = await judge.judge(look, question, query=job.text, context=plan.passage, earlier=earlier)
            found.append(answer_of(question, one))
            said.append(one)
            seen.add(found[-1:])
            seen.check()
            if one.probability is not None and one.probability < (settings.stop_below or 0.0):
                break
        return _row(tuple(found), said)

    def _count(self, row: _Row, plan: Plan) -> None:
        tally = self.tally
        tally.n_answers += len(row.answers)
        tally.n_unscored += sum(answer.probability is None for answer in row.answers)
        tally.n_not_asked += len(plan.questions) - len(row.answers)
        # How many voted for it and how much of the mass it was belongs to the answer, not to the way.
        tally.obtained_by.update(_FIGURES.sub("", answer.obtained_by) for answer in row.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What came out for one image."""

    answers: tuple[QuestionAnswer, ...] = ()
    cost_usd: float | None = 0.0
    error: str | None = None
    notes: tuple[str, ...] = ()
    """Reasons before an answer, or why there is none, each with the number of its question."""


def _row(answers: tuple[QuestionAnswer, ...], judged: Sequence[Judgement]) -> _Row:
    notes = tuple(f"{i}. {' '.join(one.note.split())}" for i, one in enumerate(judged, 1) if one.note)
    return _Row(answers=answers, cost_usd=_total([one.cost_usd for one in judged]), notes=notes)


@dataclass(slots=True, kw_only=True)
class _Seen:
    """How many answers of a query are missing, and how many photos are in work."""

    max_unscored: float
    n_most: int
    """How many answers there will be, if all questions are asked about all photos."""
    n: int = 0
    n_missing: int = 0
    in_work: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(N_PHOTOS))

    def add(self, answers: Sequence[QuestionAnswer]) -> None:
        self.n += len(answers)
        self.n_missing += sum(answer.probability is None for answer in answers)

    def check(self, *, is_last: bool = False) -> None:
        """Raise where too many are missing: what is left would be the order of the first stage under another name."""
        n = self.n if is_last else self.n_most  # by chance the first answers may be the missing ones
        if self.n_missing > self.max_unscored * n:
            raise TooManyUnscored(
                f"the judge could not tell for {self.n_missing} of {n} answers, at most "
                f"{self.max_unscored:.0%} may be missing",
                hint="kb doctor shows what the endpoint returns; the preset paper takes only `Yes` and `No` in this "
                "very spelling; --max-unscored allows more",
            )


def _scores(rows: Sequence[_Row], n_questions: int, settings: DecomposeSettings) -> list[float]:
    """Return the score of each row: 100 times the mean probability of yes over all questions."""
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
        # What was not asked after a sure no counts as no.
        scores.append(100 * sum(values) / max(1, n_questions))
    return scores


def _digest(path: Path) -> str:
    """Return the hash of a file; empty if it cannot be read, which the judge will say better."""
    try:
        return sha256_hex(path.read_bytes()) if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _as_text(row: _Row) -> str:
    answers = [[a.question, a.answer, a.probability, a.obtained_by] for a in row.answers]
    return json.dumps({"answers": answers, "cost_usd": row.cost_usd, "notes": row.notes}, ensure_ascii=False)


def _kept_row(text: str | None) -> _Row | None:
    if text is None:
        return None
    payload = json.loads(text)
    answers = tuple(
        QuestionAnswer(question=question, answer=answer, probability=probability, obtained_by=by)
        for question, answer, probability, by in payload["answers"]
    )
    return _Row(answers=answers, cost_usd=payload["cost_usd"], notes=tuple(payload.get("notes", ())))


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
