"""VisRet as a re-ranker: the query is drawn, and photos are ranked by their similarity to the drawings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from data.arrays import FloatArray
from data.contracts import ChatModel, TextImageEncoder
from data.errors import (
    BadImage,
    CostStop,
    CutOff,
    FieldmarkError,
    MalformedAnswer,
    NotCached,
    Refused,
    SourceError,
    UsageError,
)
from data.records import ChatMessage, ChatRequest, Job, JobImage, RankedImage
from data.words import plural
from rerank.prompting import Prompts
from rerank.queries import query_of
from rerank.ranked_images import ScoredImage, error_rows, first_stage_ranks, ranked_by_score, total_cost
from rerank.scheduling import current_query
from rerank.similarity import SimilarityReranker
from rerank.tally import Tally
from rerank.visret.fusion import Scores, fuse
from rerank.visret.settings import VisretSettings

MAX_TOKENS: Final = 300


class Drawn(Protocol):
    """Drawings of a prompt as files, their cost, and why there are fewer than were asked for."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order drawn."""

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None if unknown."""

    @property
    def problem(self) -> FieldmarkError | None:
        """Why some are missing."""


Draw = Callable[[str, int], Awaitable[Drawn]]
"""Draws a number of images of a prompt."""


@dataclass(slots=True, kw_only=True)
class VisretTally(Tally):
    """Counts of drawn queries."""

    n_drawn: int = 0
    by_text: list[str] = field(default_factory=list)
    """Queries without a drawing, ranked by their text."""

    def lines(self) -> list[str]:
        """Return the counts in words."""
        return [f"{plural(self.n_drawn, 'drawing')}"]

    def warnings(self) -> list[str]:
        """Return the queries that were not drawn."""
        if not self.by_text:
            return []
        n = plural(len(self.by_text), "query", "queries")
        return [f"{n} could not be drawn and ranked by text similarity instead: {', '.join(self.by_text[:5])}"]


class VisretReranker:
    """Ranks photos by drawings of the query; a `Reranker` for texts and dialogues.

    Where a query cannot be drawn, its photos are ranked by the similarity of its text, which their rows and the report
    say; a provider that is down, or the cost limit, makes error rows instead, for the next run to complete.

    Args:
        encoder: a text-image encoder.
        draw: draws the images, such as the endpoint `[llm.image]`.
        text: writes the instruction; without it the query itself is drawn.
        settings: prompt, number of drawings and fusion.
        prompts: the prompts `visret_*`.
        root: folder of relative paths in jobs.

    Source:
        VisRet (Wu et al., 2025), section 3.2 and appendix B: one instruction per query at temperature 0 (figures 6 and
        8), three images of it, cosine to each drawing, reciprocal rank fusion with lambda = 1. Differs: our own
        prompts; a question gets the prompt of figure 6 and any other query that of figure 8; a generator that refuses
        never becomes a black image, and a missing drawing is no copy of another one (both in the authors' code); ties
        keep first-stage order.
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        draw: Draw,
        *,
        text: ChatModel | None = None,
        settings: VisretSettings | None = None,
        prompts: Prompts | None = None,
        root: str | Path = ".",
    ) -> None:
        self._draw, self._text = draw, text
        self._settings = settings or VisretSettings()
        self._prompts = prompts or Prompts()
        self._similarity = SimilarityReranker(encoder, root=root)
        self._encoding = asyncio.Lock()
        self.tally = VisretTally()

    def close(self) -> None:
        """Do nothing: no threads or files stay open."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            UsageError: for a composed query.
            BadInput: if the job has no words, or lists an image twice.
        """
        ranks = first_stage_ranks(job)
        if job.reference_image is not None:
            raise UsageError("The method visret draws texts and dialogues, no changes to a reference image.")
        query = query_of(job)
        current_query.set(job.query_id)
        if not ranks:
            return []
        costs: list[float | None] = []
        notes: list[str] = []
        try:
            instruction = await self._instruction(query.text, notes, costs)
            paths = await self._drawings(job, instruction, notes, costs)
        except (SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            return error_rows(job, str(error))
        async with self._encoding:
            scored, unread = await asyncio.to_thread(self._scored, job, paths, ranks)
        if unread:
            self.tally.failures += map(BadImage, unread)
            notes.append(f"drawings left out: {'; '.join(unread)}")
            if len(unread) == len(paths):
                self.tally.by_text.append(job.query_id)
                notes.append("ranked by text similarity")
        share = total_cost(costs)
        note = "; ".join(notes)
        scored = [
            replace(each, evaluation=note, cost_usd=None if share is None else share / len(ranks)) for each in scored
        ]
        return ranked_by_score(job, scored, ranks)

    async def _instruction(self, text: str, notes: list[str], costs: list[float | None]) -> str:
        """Return the phrase to draw; the query itself where no model can write one."""
        if self._text is None:
            notes.append(f"the query itself is drawn, since no text model is set: {text}")
            return text
        kind = self._settings.prompt
        kind = ("feature" if text.rstrip().endswith("?") else "scene") if kind == "auto" else kind
        message = ChatMessage(role="user", text=self._prompts.fill(f"visret_{kind}", query=text))
        try:
            reply = await self._text.reply(ChatRequest(messages=(message,), max_tokens=MAX_TOKENS, temperature=0.0))
        except (Refused, CutOff, MalformedAnswer) as error:
            self.tally.failures.append(error)
            notes.append(f"the query itself is drawn, since the text model wrote no instruction: {error}")
            return text
        costs.append(reply.cost_usd)
        lines = [line.strip() for line in reply.text.splitlines() if line.strip()]
        instruction = lines[0].removeprefix("Phrase:").removeprefix("Description:").strip(" \"'") if lines else ""
        notes.append(f"instruction: {instruction or text}")
        return instruction or text

    async def _drawings(
        self, job: Job, instruction: str, notes: list[str], costs: list[float | None]
    ) -> tuple[Path, ...]:
        """Return the drawings to search by; none where the generator declines."""
        prompt = self._settings.template.replace("{instruction}", instruction)
        try:
            drawn = await self._draw(prompt, self._settings.images)
        except SourceError as error:
            if error.retryable:
                raise
            self.tally.failures.append(error)
            self.tally.by_text.append(job.query_id)
            notes.append(f"not drawn, ranked by text similarity: {error}")
            return ()
        costs.append(drawn.cost_usd)
        self.tally.n_drawn += len(drawn.paths)
        paths = drawn.paths
        if drawn.problem is not None:
            self.tally.failures.append(drawn.problem)
            notes.append(f"{len(paths)} of {self._settings.images} drawings: {drawn.problem}")
        if self._settings.sample is not None:
            chosen = min(self._settings.sample, len(paths))
            paths = paths[chosen - 1 : chosen]
            notes.append(f"drawing {chosen} alone")
        notes.append(f"drawings: {', '.join(path.name for path in paths)}")
        return paths

    def _scored(self, job: Job, paths: Sequence[Path], ranks: Sequence[int]) -> tuple[list[ScoredImage], list[str]]:
        """Return score or error of each candidate, in the order of the job, and why drawings cannot be read."""
        found = self._similarity.encode_images(job.candidates)
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        seen = {i: vector for i in order if not isinstance(vector := found[i], str)}

        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        def cosines(query: FloatArray) -> Scores:
            return np.array([float(np.dot(vector, query)) for vector in seen.values()], dtype=np.float64)

        drawings = self._similarity.encode_images(
            [JobImage(image_id=path.name, path=str(path.absolute()), score=0.0) for path in paths]
        )
        readable = [vector for vector in drawings if not isinstance(vector, str)]
        if readable:
            rows = np.stack([cosines(vector) for vector in readable])
            is_with_text = self._settings.fusion == "with-text"
            text = cosines(self._similarity.encode_query(job)) if is_with_text else None
            scores = fuse(rows, fusion=self._settings.fusion, damping=self._settings.damping, text=text)
        else:
            scores = cosines(self._similarity.encode_query(job))
        by_place = dict(zip(seen, scores.tolist(), strict=True))
        scored = [
            ScoredImage(error=vector) if isinstance(vector, str) else ScoredImage(score=by_place[i])
            for i, vector in enumerate(found)
        ]
        return scored, [vector for vector in drawings if isinstance(vector, str)]
