"""Re-ranking by texts about photos: their captions, and for VISA answers to questions about the query."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from data.errors import BadImage, FieldmarkError, Refused, UsageError
from data.images import MAX_SIDE
from data.images.jpeg import jpeg_of
from data.records import Job, JobImage, QuestionAnswer, RankedImage
from data.words import plural
from rerank.captions.scores import TextScorer, bounded, min_max
from rerank.captions.texts import Captioner
from rerank.captions.visa import Visa, VisaQuestions
from rerank.ranked_images import ScoredImage, error_rows, ranked_by_score, share_of, total_cost
from rerank.reranker import FAILURES, Tally, begin
from rerank.scheduling import all_of, current_step
from rerank.settings import CaptionSettings

N_OPEN: Final = 32  # photos in memory at a time
_CAPTION: Final = "caption: "  # before the caption in the evaluation of a photo


@dataclass(slots=True, kw_only=True)
class CaptionTally(Tally):
    """Counts of `captions`, and of `answers` to questions, of which some are `uncertain`."""

    scorer: str = ""
    """Name of the scorer of texts."""
    without_questions: list[str] = field(default_factory=list)
    """Queries for which no questions were written."""

    def lines(self) -> list[str]:
        """Return the counts in words."""
        lines = [f"{plural(self.counts['captions'], 'caption')}, compared with the query by {self.scorer}"]
        if n := self.counts["answers"]:
            lines.append(f"{plural(n, 'answer')}, {self.counts['uncertain']:,} uncertain")
        return lines

    def warnings(self) -> list[str]:
        """Return the queries without questions."""
        if not self.without_questions:
            return []
        n, names = plural(len(self.without_questions), "query", "queries"), ", ".join(self.without_questions[:5])
        return [f"No questions for {n}, ranked by captions alone: {names}"]


class CaptionReranker:
    """Ranks photos by the similarity of query and caption as texts; with `visa`, of query and answers with caption.

    A `Reranker` of texts and dialogues. A photo without a caption is an error row.

    Source:
        VisRet (Wu et al., 2025), appendix B: captioning re-ranking and VISA re-ranking of the first 30 photos
        (`--depth 30`). As in VISA's code, text scores and first-stage scores are scaled to 0 to 1 over these photos and
        summed. Differs: the text scorer is one of `CaptionSettings.scorer`; theirs is bge-reranker-v2.5-gemma2.
    """

    def __init__(
        self,
        captioner: Captioner,
        scorer: TextScorer,
        *,
        visa: Visa | None = None,
        settings: CaptionSettings | None = None,
        root: str | Path = ".",
    ) -> None:
        self._captioner, self._scorer, self._visa = captioner, scorer, visa
        self._settings = settings or CaptionSettings()
        self._root = Path(root)
        self._scoring = asyncio.Lock()
        self._open = asyncio.Semaphore(N_OPEN)
        self.tally = CaptionTally(scorer=scorer.name)

    def close(self) -> None:
        """Do nothing: no threads or files stay open."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        if job.reference_image is not None:
            raise UsageError("Captions are compared with words; use --method similarity for a reference image.")
        ranks, asked_for = begin(job)
        query = asked_for.text
        asked = VisaQuestions()
        if self._visa is not None and ranks:
            try:
                asked = await self._visa.questions(query)
            except FAILURES as error:
                self.tally.failures.append(error)
                return error_rows(job, str(error))
            if asked.problem is not None:
                self.tally.failures.append(asked.problem)
                self.tally.without_questions.append(job.query_id)
        found = await all_of([self._read(image, asked) for image in job.candidates])
        async with self._scoring:
            scored = await asyncio.to_thread(self._scored, job, query, found, asked)
        return ranked_by_score(job, scored, ranks)

    async def _read(self, image: JobImage, asked: VisaQuestions) -> ScoredImage:
        """Return caption and answers about a photo, without a score."""
        path = self._root / image.path
        costs: list[float | None] = []
        answers: list[QuestionAnswer] = []
        async with self._open:
            try:
                caption = await self._captioner.caption(path)
                costs.append(caption.cost_usd)
                self.tally.counts["captions"] += 1
                if asked.questions and self._visa is not None:
                    jpeg = await asyncio.to_thread(jpeg_of, path, max_side=MAX_SIDE)
                    for question in asked.questions:
                        answers.append(await self._answer(self._visa, jpeg, question, asked.phrases, costs))
                        current_step.set(len(answers))
            except (*FAILURES, BadImage) as error:
                self.tally.failures.append(error)
                costs.append(getattr(error, "cost_usd", 0.0))
                return ScoredImage(error=str(error), cost_usd=total_cost(costs))
        return ScoredImage(questions=tuple(answers), evaluation=f"{_CAPTION}{caption.text}", cost_usd=total_cost(costs))

    async def _answer(
        self, visa: Visa, jpeg: bytes, question: str, phrases: tuple[str, ...], costs: list[float | None]
    ) -> QuestionAnswer:
        """Return the answer to a question; a refused one is missing, like an uncertain one, and counted."""
        problem: FieldmarkError | None = None
        text = ""
        try:
            answer = await visa.answer(jpeg, question, phrases)
            text = answer.text
            costs.append(answer.cost_usd)
        except Refused as error:
            problem = error
            self.tally.failures.append(error)
        self.tally.counts["answers"] += 1
        self.tally.counts["uncertain"] += not text
        origin = "text" if text else "uncertain" if problem is None else f"refused: {problem}"
        return QuestionAnswer(question=question, answer=text or None, probability=None, obtained_by=origin)

    def _scored(self, job: Job, query: str, found: Sequence[ScoredImage], asked: VisaQuestions) -> list[ScoredImage]:
        good = [i for i, each in enumerate(found) if each.error is None]
        scores = self._scorer.scores(query, [_whole(found[i]) for i in good])
        if self._settings.first_stage:
            scores = min_max(scores) + min_max([job.candidates[i].score for i in good])
        else:
            scores = bounded(scores)  # rows with an error have -1
        by_place = dict(zip(good, np.asarray(scores, dtype=np.float64).tolist(), strict=True))
        extra = share_of(asked.cost_usd, len(found))
        return [
            replace(each, score=by_place.get(i, each.score), cost_usd=total_cost((each.cost_usd, extra)))
            for i, each in enumerate(found)
        ]


def _whole(image: ScoredImage) -> str:
    """Return the answers about a photo, then its caption."""
    caption = (image.evaluation or "").removeprefix(_CAPTION)
    return " ".join([*(answer.answer or "" for answer in image.questions), caption]).strip()
