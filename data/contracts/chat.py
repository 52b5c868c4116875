"""Contracts of chat models and web search."""

from __future__ import annotations

from typing import Protocol

from data.records import ChatReply, ChatRequest, WebPassage


class ChatModel(Protocol):
    """A language or vision model. Many replies may be awaited at once; the model limits the number in flight."""

    @property
    def name(self) -> str:
        """The model and its provider, without secrets; part of fingerprints."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request.

        Raises:
            Refused: if the model will not answer.
            CostStop: if the reply could pass the limit of cost; nothing was asked.
            NotCached: if replies may only come from the cache, and this one is not there.
            SourceError: if the provider failed for good.
        """


class WebSearch(Protocol):
    """Finds passages on a question in the web, or in a wiki."""

    @property
    def name(self) -> str:
        """The searched service, without secrets."""

    def search(self, question: str, *, n: int = 3) -> list[WebPassage]:
        """Return up to `n` passages, best first, each with its source; empty if nothing was found."""
