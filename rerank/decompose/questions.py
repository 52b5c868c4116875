"""Questions about a query: two or three written by a chat model and validated, or made by a rule; and its context."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from data.contracts import ChatModel
from data.errors import MalformedAnswer
from data.records import ChatMessage, ChatRequest, Context, QueryPart, Question
from rerank.decompose.plain_questions import direct_question, plain_questions
from rerank.prompting import Prompts, fenced_context, fields_in, is_readable, object_schema
from rerank.queries import Query, Task
from rerank.reranker import total_cost
from rerank.settings import DecomposeSettings

MIN_QUESTIONS, MAX_QUESTIONS = 2, 3  # the paper's; more gave it little
N_TRIES: Final = 2
MAX_TOKENS: Final = 1_500  # the questions take about 200
MAX_WORDS: Final = 60
_OPENERS: Final = frozenset((
    "is", "are", "was", "were", "does", "do", "did", "has", "have", "had", "can", "could", "will", "would",
))  # fmt: skip
_TEXTS: Final = ("question", "statement", "negation")
_SCHEMA: Final = object_schema(
    {
        "questions": {
            "type": "array",
            "minItems": MIN_QUESTIONS,
            "maxItems": MAX_QUESTIONS,
            "items": object_schema({name: {"type": "string"} for name in _TEXTS}),
        }
    }
)


class QuestionWriter:
    """Decomposes queries with a chat model and the prompt `decompose`, composed ones with `decompose_composed`.

    Source:
        Divide and Conquer, section 3.2 and line 2 of Algorithm 1. Differs: each question comes with a
        statement and a negation; an invalid reply is requested once more, with another seed.
    """

    def __init__(self, chat: ChatModel, *, prompts: Prompts | None = None) -> None:
        self._chat = chat
        self._prompts = prompts or Prompts()

    async def write(
        self, query: str, *, context: str = "", task: Task = "text"
    ) -> tuple[tuple[Question, ...], float | None]:
        """Return the questions of a query in logical order, and the cost of writing them in US dollars.

        Raises:
            MalformedAnswer: if no reply was valid.
            SourceError: if the provider failed for good, or the model refused.
        """
        name = "decompose_composed" if task == "composed" else "decompose"
        prompt = self._prompts.fill(name, query=query, context=fenced_context(context))
        cost: float | None = 0.0
        problem = ""
        for attempt in range(N_TRIES):
            request = ChatRequest(
                messages=(ChatMessage(role="user", text=prompt),),
                json_schema=_SCHEMA,
                max_tokens=MAX_TOKENS,
                # The same request would get the same reply, from the cache or the model.
                temperature=0.0 if attempt == 0 else 1.0,
                seed=None if attempt == 0 else attempt,
                usable=partial(is_readable, read=parse_questions),
            )
            try:
                reply = await self._chat.reply(request)
            except MalformedAnswer as error:
                error.cost_usd = total_cost((cost, error.cost_usd))
                raise
            cost = total_cost((cost, reply.cost_usd))
            try:
                return parse_questions(reply.text), cost
            except MalformedAnswer as error:
                problem = str(error)
        problem = f"{self._chat.name} wrote no valid questions for {query!r}: {problem}"
        raise MalformedAnswer(problem, cost_usd=cost)


def parse_questions(text: str) -> tuple[Question, ...]:
    """Return the questions in a reply.

    Raises:
        MalformedAnswer: if the reply breaks a rule; the message names it.
    """
    listed = fields_in(text).get("questions")
    if not isinstance(listed, list) or not MIN_QUESTIONS <= len(listed) <= MAX_QUESTIONS:
        n = len(listed) if isinstance(listed, list) else "none"
        raise MalformedAnswer(f"expected {MIN_QUESTIONS} or {MAX_QUESTIONS} questions, got {n}")
    questions = tuple(_question(entry) for entry in listed)
    if len({question.question.lower() for question in questions}) < len(questions):
        raise MalformedAnswer("expected different questions, got one twice")
    return questions


def _question(entry: object) -> Question:
    if not isinstance(entry, dict):
        raise MalformedAnswer(f"expected an object for each question, got {entry!r}")
    texts = {}
    for name in _TEXTS:
        value = entry.get(name)
        if not isinstance(value, str) or not value.strip():
            raise MalformedAnswer(f"expected a text as {name!r}, got {value!r}")
        texts[name] = " ".join(value.split())
        if (n := len(texts[name].split())) > MAX_WORDS:
            raise MalformedAnswer(f"expected at most {MAX_WORDS} words as {name!r}, got {n}")
    question = texts["question"]
    if not question.endswith("?") or question.split()[0].lower() not in _OPENERS:
        raise MalformedAnswer(f"expected a yes/no question, got {question!r}")
    return Question(question=question, statement=texts["statement"], negation=texts["negation"])


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """The questions that are asked about each photo of a query, and their origin."""

    questions: tuple[Question, ...]
    passage: str = ""
    looks: str = ""
    """The passage for encoders, which compare it with photos: empty if it leaves a name unexplained, or is an answer of
    the web, since words on behaviour or places would make any photo seem to fit."""
    cost_usd: float | None = 0.0
    problem: str = ""
    """Why the model wrote no valid questions; then the query itself is asked."""


async def plan_query(
    query: Query,
    settings: DecomposeSettings,
    *,
    context: Callable[[str], Context] | None,
    writer: QuestionWriter | None,
    parts: Callable[[str], Sequence[QueryPart]] | None,
) -> QueryPlan:
    """Return the questions and the context of a query; the arguments are those of `DecomposeReranker`.

    Source:
        Divide and Conquer, Algorithm 1, lines 1 and 2.
    """
    passage, looks = "", ""
    if settings.context and context is not None:
        explained = await asyncio.to_thread(context, query.text)
        passage = explained.passage
        looks = "" if explained.unexplained or explained.asked_on is not None else passage
    words, problem = query.described, ""
    by_rule = settings.direct or writer is None
    found = await asyncio.to_thread(parts, query.text) if by_rule and parts is not None else ()
    if settings.direct:
        return QueryPlan(questions=(direct_question(words, found),), passage=passage, looks=looks)
    if writer is None:
        questions = plain_questions(words, found, uses_looks=settings.context)
        return QueryPlan(questions=questions, passage=passage, looks=looks)
    try:
        questions, cost = await writer.write(words, context=passage, task=query.task)
    except MalformedAnswer as error:
        questions, cost, problem = (direct_question(words),), error.cost_usd, str(error)
    return QueryPlan(questions=questions, passage=passage, looks=looks, cost_usd=cost, problem=problem)
