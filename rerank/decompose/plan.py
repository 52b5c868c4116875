"""What is asked about the photos of a query: its context, and the questions that a model or a plain rule makes."""

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
from rerank.judgement_cache import KeptResults, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked about the photos of one query, and where it comes from."""

    questions: tuple[Question, ...]
    passage: str = ""
    source: Literal["model", "rule", "query", "fallback"] = "query"
    """Who wrote the questions; `fallback`: the model failed to, and the query itself is asked."""
    cost_usd: float | None = 0.0
    note: str = ""


class Planner:
    """Plans queries.

    Args:
        context: looks the words of a query up; needed where the settings use context.
        writer: writes questions; without it they come from a plain rule.
        parts: finds the names in a query, for the plain rule.
        kept: questions that were written before.

    Source:
        Divide and Conquer, Algorithm 1, lines 1 and 2.
    """

    def __init__(
        self,
        *,
        context: Callable[[str], Context] | None = None,
        writer: QuestionWriter | None = None,
        parts: Callable[[str], Sequence[QueryPart]] | None = None,
        kept: KeptResults,
    ) -> None:
        self._context = context
        self._writer = writer
        self._parts = parts
        self._kept = kept

    async def plan(self, query: str, settings: DecomposeSettings) -> Plan:
        """Return what is asked about the photos of a query.

        Raises:
            SourceError: if context or questions cannot be had; a model that writes no questions is no failure.
            CostStop, NotCached: from the models behind them.
        """
        passage = ""
        if settings.uses_context and self._context is not None:
            passage = (await asyncio.to_thread(self._context, query)).passage
        if not settings.asks_questions:
            return Plan(questions=(direct_question(query),), passage=passage)
        if self._writer is None:
            parts = await asyncio.to_thread(self._parts, query) if self._parts is not None else ()
            questions = plain_questions(query, parts, uses_looks=settings.uses_context)
            return Plan(questions=questions, passage=passage, source="rule")
        key = key_of({"questions": 1, "writer": self._writer.name, "query": query, "context": passage})
        kept = self._kept.get(key)
        if kept is not None:
            payload = json.loads(kept)
            questions = tuple(Question(**entry) for entry in payload["questions"])
            return Plan(questions=questions, passage=passage, source="model", cost_usd=payload["cost_usd"])
        try:
            written = await self._writer.write(query, context=passage)
        except MalformedAnswer as error:
            return Plan(questions=(direct_question(query),), passage=passage, source="fallback", note=str(error))
        texts = [{"question": q.question, "statement": q.statement, "negation": q.negation} for q in written.questions]
        self._kept.put(key, json.dumps({"questions": texts, "cost_usd": written.cost_usd}, ensure_ascii=False))
        return Plan(questions=written.questions, passage=passage, source="model", cost_usd=written.cost_usd)
