"""VISA: questions about a query, and a vision model's answers about photos."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from data.contracts import ChatModel
from data.errors import CutOff, FieldmarkError, MalformedAnswer, Refused
from data.foreign_json import json_object
from data.records import ChatMessage, ChatRequest
from rerank.captions.texts import PhotoText
from rerank.prompting import Prompts, object_schema

N_QUESTIONS: Final = 3
TEMPERATURE: Final = 0.2
QUESTION_TOKENS: Final = 1_024
ANSWER_TOKENS: Final = 300
_UNCERTAIN: Final = re.compile(r"\buncertain\b", re.IGNORECASE)
_TEXTS: Final[dict[str, object]] = {"type": "array", "items": {"type": "string"}}
_SCHEMA: Final = object_schema({"phrases": _TEXTS, "questions": {**_TEXTS, "minItems": 3, "maxItems": 3}})


@dataclass(frozen=True, slots=True, kw_only=True)
class VisaQuestions:
    """Key phrases of a query and questions about photos; without questions, why there are none."""

    phrases: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    cost_usd: float | None = 0.0
    problem: FieldmarkError | None = None


class Visa:
    """Writes questions about queries, and answers them about photos.

    Source:
        VISA (Ding et al., ICML 2025) and its published code: key phrases and three questions of a query in one request
        at temperature 0.2, each question answered about each photo in a request of its own, answers that say Uncertain
        dropped. Differs: our own prompts and a JSON object; answers at temperature 0; a query without questions is
        ranked by captions alone, as there, and counted.
    """

    def __init__(self, text: ChatModel, vision: ChatModel, *, prompts: Prompts | None = None) -> None:
        self._text, self._vision, self._prompts = text, vision, prompts or Prompts()

    async def questions(self, query: str) -> VisaQuestions:
        """Return the questions about a query.

        Raises:
            SourceError, CostStop, NotCached: if the model cannot be reached now.
        """
        message = ChatMessage(role="user", text=self._prompts.fill("visa_questions", query=query))
        request = ChatRequest(
            messages=(message,), json_schema=_SCHEMA, max_tokens=QUESTION_TOKENS, temperature=TEMPERATURE,
            usable=lambda reply: len(_texts(json_object(reply.text)[0], "questions")) >= N_QUESTIONS,
        )  # fmt: skip
        try:
            reply = await self._text.reply(request)
        except (Refused, CutOff, MalformedAnswer) as error:
            return VisaQuestions(problem=error)
        payload, _ = json_object(reply.text)
        phrases, questions = (_texts(payload, name) for name in ("phrases", "questions"))
        if len(questions) < N_QUESTIONS:
            problem = MalformedAnswer(f"{self._text.name} wrote {len(questions)} of {N_QUESTIONS} questions")
            return VisaQuestions(cost_usd=reply.cost_usd, problem=problem)
        return VisaQuestions(phrases=phrases, questions=questions[:N_QUESTIONS], cost_usd=reply.cost_usd)

    async def answer(self, jpeg: bytes, question: str, phrases: tuple[str, ...]) -> PhotoText:
        """Return the answer about a photo; empty if the model is uncertain.

        Raises:
            SourceError, CostStop, NotCached: if the model declines or cannot be reached.
        """
        text = self._prompts.fill("visa_answer", question=question, phrases="; ".join(phrases))
        message = ChatMessage(role="user", text=text, images=(jpeg,))
        reply = await self._vision.reply(ChatRequest(messages=(message,), max_tokens=ANSWER_TOKENS))
        answer = " ".join(reply.text.split())
        return PhotoText(text="" if is_uncertain(answer) else answer, cost_usd=reply.cost_usd)


def is_uncertain(answer: str) -> bool:
    """Return whether an answer is the word Uncertain, alone or at its start or end."""
    words = re.findall(r"\w+", answer)
    return not words or _UNCERTAIN.fullmatch(words[0]) is not None or _UNCERTAIN.fullmatch(words[-1]) is not None


def _texts(payload: dict[str, object] | None, name: str) -> tuple[str, ...]:
    listed = (payload or {}).get(name)
    if not isinstance(listed, list):
        return ()
    return tuple(dict.fromkeys(" ".join(text.split()) for text in listed if isinstance(text, str) and text.strip()))
