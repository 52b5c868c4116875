"""Reasoning of a model before its answers: the tokens that it takes, and settings that save them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from data.errors import SourceError
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.growing_chat import ROOMS, is_complete
from kb.endpoints.openai_chat import OpenAIChat
from kb.endpoints.retry import RetryingChat, RetryPolicy

LEAST: Final = 4_096
"""Least `max_tokens` suggested for a model that reasons."""
SPARE: Final = 4
"""Factor from the tokens for the question of the probe to the tokens suggested: photos and lists take more."""
QUESTION: Final = (
    "A flock of 17 gulls meets one of 26 terns, and 9 gulls leave. How many birds remain? Reply with the number."
)
REMEDIES: Final[tuple[tuple[str, Mapping[str, object]], ...]] = (
    ('reasoning_effort = "none"', {"reasoning_effort": "none"}),
    (
        "extra_body = {chat_template_kwargs = {enable_thinking = false}}",
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
    ),
    ('reasoning_effort = "low"', {"reasoning_effort": "low"}),
)
"""Settings tried against reasoning, as they are written in `fieldmark.toml`, and as fields of an endpoint."""

_REQUEST: Final = ChatRequest(messages=(ChatMessage(role="user", text=QUESTION),), max_tokens=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """Reasoning of a model."""

    tokens: int
    """Tokens of the reply to a small question, reasoning included; 0 for a model that answers at once."""
    is_complete: bool = True
    """Whether the reply ended by itself within the most tokens tried."""
    remedy: str = ""
    """Setting that turns the reasoning off or down."""

    @property
    def max_tokens(self) -> int:
        """The `max_tokens` suggested: a power of two."""
        return max(LEAST, 1 << (SPARE * self.tokens - 1).bit_length())


def find_reasoning(endpoint: Endpoint, key: str, patience: RetryPolicy) -> Reasoning:
    """Return the reasoning of a model, from a small question; three more if it reasons."""
    asked = replace(endpoint, max_tokens=None)
    reply, is_whole = _ask(asked, key, patience)
    if not reply.reasoning:
        return Reasoning(tokens=0, is_complete=is_whole)
    tokens = _tokens_of(reply)
    remedy = ""
    for setting, changes in REMEDIES:
        try:
            other, is_whole_too = _ask(replace(asked, **changes), key, patience)  # type: ignore[arg-type]
        except SourceError:
            continue  # the server does not take the setting
        if is_whole_too and (not other.reasoning or 2 * _tokens_of(other) < tokens):
            remedy = setting
            break
    return Reasoning(tokens=tokens, is_complete=is_whole, remedy=remedy)


def _ask(endpoint: Endpoint, key: str, patience: RetryPolicy) -> tuple[ChatReply, bool]:
    """Return the reply to the question with as many tokens as it needs, and whether it is complete."""
    with OpenAIChat(endpoint, key) as chat:
        for room in ROOMS:
            request = replace(_REQUEST, max_tokens=(_REQUEST.max_tokens or 0) + room)
            reply = wait_for(RetryingChat(chat, patience).reply(request))
            if is_complete(reply, request):
                return reply, True
    return reply, False


def _tokens_of(reply: ChatReply) -> int:
    return reply.output_tokens or len(f"{reply.reasoning} {reply.text}".split())
