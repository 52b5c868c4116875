"""Questions and context of a query, prepared before its photos are judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from data.codec import dumps, loads
from data.errors import MalformedAnswer
from data.records import Context, QueryPart, Question
from rerank.decompose.plain_questions import direct_question, plain_questions
from rerank.decompose.questions import QuestionWriter
from rerank.judgement_cache import JudgementCache, cache_key
from rerank.queries import Query
from rerank.settings import DecomposeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """The questions that are asked about each photo of a query, and their origin."""

    questions: tuple[Question, ...]
    passage: str = ""
    looks: str = ""
    """The passage for encoders, which compare it with photos: empty if it leaves a name unexplained, or is an answer of
    the web, since words on behaviour or places would make any photo seem to fit."""
    source: Literal["model", "rule", "query", "fallback"] = "query"
    """Author of the questions; `fallback`: the model wrote no valid questions, so the query itself is asked."""
    cost_usd: float | None = 0.0
    note: str = ""


async def plan_query(
    query: Query,
    settings: DecomposeSettings,
    *,
    context: Callable[[str], Context] | None,
    writer: QuestionWriter | None,
    parts: Callable[[str], Sequence[QueryPart]] | None,
    cache: JudgementCache,
) -> QueryPlan:
    """Return the questions and the context of a query; the arguments are those of `DecomposeReranker`.

    Source:
        Divide and Conquer, Algorithm 1, lines 1 and 2.

    Raises:
        SourceError: if context or questions are not available; a model that writes no valid questions is not an error.
        CostStop, NotCached: from the models.
    """
    passage, looks = "", ""
    if settings.context and context is not None:
        explained = await asyncio.to_thread(context, query.text)
        passage = explained.passage
        looks = "" if explained.unexplained or explained.asked_on is not None else passage
    words = query.described
    by_rule = settings.direct or writer is None
    found = await asyncio.to_thread(parts, query.text) if by_rule and parts is not None else ()
    if settings.direct:
        return QueryPlan(questions=(direct_question(words, found),), passage=passage, looks=looks)
    if writer is None:
        questions = plain_questions(words, found, uses_looks=settings.context)
        return QueryPlan(questions=questions, passage=passage, looks=looks, source="rule")
    key = cache_key({"questions": 3, "writer": writer.name_for(query.task), "query": words, "context": passage})
    cached = cache.get(key)
    if cached is not None:
        return replace(loads(QueryPlan, cached), looks=looks)
    try:
        questions, cost = await writer.write(words, context=passage, task=query.task)
    except MalformedAnswer as error:
        return QueryPlan(
            questions=(direct_question(words),), passage=passage, looks=looks, source="fallback",
            cost_usd=error.cost_usd, note=str(error),
        )  # fmt: skip
    plan = QueryPlan(questions=questions, passage=passage, looks=looks, source="model", cost_usd=cost)
    cache.put(key, dumps(plan))
    return plan
