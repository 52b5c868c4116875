"""Judge of answers: a model that compares them with the references."""

from __future__ import annotations

from typing import Final

from data.contracts import ChatModel
from data.prompts import Prompts, quoted
from data.records import ChatMessage, ChatReply, ChatRequest
from papers.answers.reader import PLACEHOLDERS
from papers.datasets.benchmark import VisualQuestion

MAX_TOKENS: Final = 300


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
        return await self._chat.reply(ChatRequest(messages=(message,), max_tokens=MAX_TOKENS))
