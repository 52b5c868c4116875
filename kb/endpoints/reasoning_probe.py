"""Reasoning of a model before its answers: the tokens that it takes, and settings that save them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from data.errors import CutOff, SourceError
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.growing_chat import GrowingChat
from kb.endpoints.openai_chat import OpenAIChat
from kb.endpoints.retry import RetryingChat, RetryPolicy

LEAST: Final = 4_096
"""Least `max_tokens` suggested for a model that reasons."""
SPARE: Final = 4
"""Factor from the tokens for the question of the probe to the tokens suggested: photos and lists take more."""
QUESTION: Final = (
    "A flock of 17 gulls meets one of 26 terns, and 9 gulls leave. How many birds remain? Reply with the number."
)
EFFORTS: Final = ("none", "low")
NO_THINKING: Final = {"enable_thinking": False}
"""Setting of chat templates, in `chat_template_kwargs` of `extra_body`."""

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


def find_reasoning(chat: OpenAIChat, growing: GrowingChat, patience: RetryPolicy) -> Reasoning:
    """Return the reasoning of a model, from a small question.

    The question is asked once, and with more tokens where the reply is cut off; then, if the model reasons, once with
    each setting against it until one helps. It is asked with few tokens, whatever the settings say: a server that
    neither shows nor counts the reasoning gives it away by cutting the reply off.
    """
    least = _REQUEST.max_tokens or 0
    if (chat.endpoint.max_tokens or 0) > least:
        growing = GrowingChat(RetryingChat(chat, patience), warns=False)
    try:
        reply = wait_for(growing.reply(_REQUEST))
    except CutOff as error:
        tokens, is_complete = error.output_tokens or least, False
    else:
        # What needs more tokens than a number has reasons, even if they are hidden.
        has_grown = (growing.limits(_REQUEST)[0] or 0) > least
        tokens = max(_tokens_of(reply), least if has_grown else 0) if reply.reasons or has_grown else 0
        is_complete = True
    if not tokens:
        return Reasoning(tokens=0)
    # With a setting that helps, half of the tokens are enough.
    request = replace(_REQUEST, max_tokens=max(_REQUEST.max_tokens or 0, tokens // 2))
    for setting, changed in remedies(chat.endpoint):
        try:
            with OpenAIChat(changed, chat.key) as other:
                found = wait_for(RetryingChat(other, patience).reply(request))
        except SourceError:
            continue  # the server does not take the setting
        if found.finish == "stop" and (not found.reasons or 2 * _tokens_of(found) < tokens):
            return Reasoning(tokens=tokens, is_complete=is_complete, remedy=setting)
    return Reasoning(tokens=tokens, is_complete=is_complete)


def remedies(endpoint: Endpoint) -> Iterator[tuple[str, Endpoint]]:
    """Yield settings against reasoning as lines of `fieldmark.toml`, and the endpoint with each; none is set yet."""
    template = endpoint.extra_body.get("chat_template_kwargs")
    template = {**(template if isinstance(template, Mapping) else {}), **NO_THINKING}
    extra_body = {**endpoint.extra_body, "chat_template_kwargs": template}
    none, low = ((f'reasoning_effort = "{effort}"', replace(endpoint, reasoning_effort=effort)) for effort in EFFORTS)
    for setting, changed in (
        none,
        (f"extra_body = {_toml(extra_body)}", replace(endpoint, extra_body=extra_body)),
        low,
    ):
        if changed != endpoint:
            yield setting, changed


def _tokens_of(reply: ChatReply) -> int:
    """Return the tokens of a reply; some servers do not count those of the reasoning in."""
    return max(reply.output_tokens, reply.reasoning_tokens) or len(f"{reply.reasoning} {reply.text}".split())


def _toml(value: object) -> str:
    """Return a value of the settings as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
