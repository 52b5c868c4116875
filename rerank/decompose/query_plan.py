"""Questions and context of a query, prepared before its photos are judged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from data.errors import MalformedAnswer
from data.records import Context, QueryPart, Question
from rerank.decompose.plain_questions import direct_question, plain_questions
from rerank.decompose.questions import QuestionWriter
from rerank.decompose.settings import DecomposeSettings
from rerank.judgement_cache import JudgementCache, cache_key


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """The questions that are asked about each photo of a query, and their origin."""

    questions: tuple[Question, ...]
    passage: str = ""
    source: Literal["model", "rule", "query", "fallback"] = "query"
    """Author of the questions; `fallback`: the model wrote no valid questions, so the query itself is asked."""
    cost_usd: float | None = 0.0
    note: str = ""


class QueryPlanner:
    """Plans queries.

    Args:
        context: returns background on the words of a query; used where the settings ask for context.
        writer: writes questions; without it a plain rule does.
        parts: finds the names in a query, for the plain rule.
        cache: questions of earlier runs.

    Source:
        Divide and Conquer, Algorithm 1, lines 1 and 2.
    """

    def __init__(
        self,
        *,
        context: Callable[[str], Context] | None = None,
        writer: QuestionWriter | None = None,
        parts: Callable[[str], Sequence[QueryPart]] | None = None,
        cache: JudgementCache,
    ) -> None:
        self._context = context
        self._writer = writer
        self._parts = parts
        self._cache = cache

    async def plan(self, query: str, settings: DecomposeSettings) -> QueryPlan:
        """Return the questions and the context of a query.

        Raises:
            SourceError: if context or questions are not available; a model that writes no valid questions is no error.
            CostStop, NotCached: from the models.
        """
        passage = ""
        if settings.context and self._context is not None:
            passage = (await asyncio.to_thread(self._context, query)).passage
        if settings.direct:
            return QueryPlan(questions=(direct_question(query),), passage=passage)
        if self._writer is None:
            parts = await asyncio.to_thread(self._parts, query) if self._parts is not None else ()
            questions = plain_questions(query, parts, uses_looks=settings.context)
            return QueryPlan(questions=questions, passage=passage, source="rule")
        key = cache_key({"questions": 1, "writer": self._writer.name, "query": query, "context": passage})
        cached = self._cache.get(key)
        if cached is not None:
            payload = json.loads(cached)
            questions = tuple(Question(**entry) for entry in payload["questions"])
            return QueryPlan(questions=questions, passage=passage, source="model", cost_usd=payload["cost_usd"])
        try:
            written = await self._writer.write(query, context=passage)
        except MalformedAnswer as error:
            return QueryPlan(questions=(direct_question(query),), passage=passage, source="fallback", note=str(error))
        texts = [{"question": q.question, "statement": q.statement, "negation": q.negation} for q in written.questions]
        self._cache.put(key, json.dumps({"questions": texts, "cost_usd": written.cost_usd}, ensure_ascii=False))
        return QueryPlan(questions=written.questions, passage=passage, source="model", cost_usd=written.cost_usd)
