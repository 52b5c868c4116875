"""Reader of questions, a vision model that is shown the evidence; and judge of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from data.contracts import ChatModel
from data.errors import BadImage
from data.images import MAX_SIDE
from data.images.views import jpeg_of
from data.prompts import Prompts, quoted
from data.records import ChatMessage, ChatReply, ChatRequest
from papers.answers.evidence import Picture
from papers.datasets.benchmark import VisualQuestion

PLACEHOLDERS: Final = {
    "answer_alone": (),
    "answer_one": (),
    "answer_two": (),
    "answer_judge": ("question", "reference", "answer"),
}
"""Prompts of reader and judge: `papers/prompts`."""
JUDGE_TOKENS: Final = 300
MAX_TOKENS: Final = 1_000  # of reasoning and answer, as in the authors' code


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A readable picture as a JPEG."""

    picture: Picture
    jpeg: bytes


class AnswerReader:
    """Asks a vision model to answer questions from pictures.

    Args:
        chat: the model.
        prompts: the prompts `answer_*`.

    Source:
        VisRet (Wu et al., 2025), appendix B, figures 9 and 10: reasoning, then the answer; pictures before knowledge.
        Differs: our own prompts, temperature 0, and pictures of at most 1,024 pixels.
    """

    def __init__(self, chat: ChatModel, *, prompts: Prompts | None = None) -> None:
        self._chat = chat
        self._prompts = prompts or Prompts("papers", PLACEHOLDERS)

    async def look(self, pictures: Sequence[Picture]) -> tuple[list[Shown], list[str]]:
        """Return the readable pictures, and why others are left out."""
        return await asyncio.to_thread(self._look, pictures)

    async def answer(self, question: VisualQuestion, shown: Sequence[Shown]) -> ChatReply:
        """Return the model's reply; errors are those of the model."""
        request = ChatRequest(messages=tuple(self._messages(question, shown)), max_tokens=MAX_TOKENS, in_one=True)
        return await self._chat.reply(request)

    def _look(self, pictures: Sequence[Picture]) -> tuple[list[Shown], list[str]]:
        shown, left_out = [], []
        for picture in pictures:
            try:
                shown.append(Shown(picture=picture, jpeg=jpeg_of(picture.path, max_side=MAX_SIDE)))
            except BadImage as error:
                left_out.append(str(error))
        return shown, left_out

    def _messages(self, question: VisualQuestion, shown: Sequence[Shown]) -> Iterator[ChatMessage]:
        name = "answer_alone" if not shown else "answer_one" if len(question.entities) == 1 else "answer_two"
        yield ChatMessage(role="system", text=self._prompts.fill(name))
        yield ChatMessage(role="user", text=question.text)
        for n, each in enumerate(shown, start=1):
            kind = "Drawing" if each.picture.is_drawing else "Photo"
            yield ChatMessage(role="user", text=f"{kind} {n}: {each.picture.entity}", images=(each.jpeg,))


class AnswerJudge:
    """Asks a model for the score of an answer, 0 to 1.

    Args:
        chat: the model.
        prompts: the prompt `answer_judge`.

    Source:
        The rubric of Visual-RAG (Wu et al., 2025b), as in VisRet, figure 11: shares of key features, .5 off for a
        hallucination, redundant information marked. Differs: our own prompt and examples, temperature 0.
    """

    def __init__(self, chat: ChatModel, *, prompts: Prompts | None = None) -> None:
        self._chat = chat
        self._prompts = prompts or Prompts("papers", PLACEHOLDERS)

    async def judge(self, question: VisualQuestion, answer: str) -> ChatReply:
        """Return the model's reply; errors are those of the model."""
        prompt = self._prompts.fill(
            "answer_judge", question=question.text, reference=" OR ".join(question.answers), answer=quoted(answer)
        )
        message = ChatMessage(role="user", text=prompt)
        return await self._chat.reply(ChatRequest(messages=(message,), max_tokens=JUDGE_TOKENS))
