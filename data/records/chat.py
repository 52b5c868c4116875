"""Requests to chat models, replies and web passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from data.records.articles import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message to a chat model; `images` are JPEG or PNG files, shown after the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A request to a chat model; with the model's name it is the cache key of the reply."""

    messages: tuple[ChatMessage, ...]
    json_schema: Mapping[str, object] | None = None
    """The JSON schema that the reply must follow; None for free text."""
    max_tokens: int | None = None
    temperature: float | None = 0.0
    """None sends none: the server decides."""
    top_logprobs: int | None = None
    """Number of alternatives per token of the reply; None asks for no log-probabilities."""
    seed: int | None = None
    first_words: tuple[str, ...] = ()
    """Words in lower case: a reply that begins with one of them may be cut off."""
    in_one: bool = False
    """Send neighbouring messages of one role as one message, texts and pictures in turn."""
    usable: Callable[[ChatReply], bool] | None = field(default=None, compare=False, repr=False)
    """Whether the method can use a reply: one that it cannot use is passed on, but not remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """A token of a reply with its natural log-probability and the `top` alternatives, itself included."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """Reply of a chat model and its cost; a cached reply costs nothing."""

    text: str
    """The answer, without reasoning."""
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None if the price of the model is unknown."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """Of the tokens of the answer; None if the server returned none."""
    finish: Literal["stop", "length"] = "stop"
    cached: bool = False
    reasoning: str = ""
    """The model's thoughts before the answer, where it sends them."""
    reasoning_tokens: int = 0
    """Tokens of thoughts, as counted by the server; they may be hidden."""
    citations: tuple[WebPassage, ...] = ()
    """Sources named by a model that searches the web, in the order of its marks [1], [2], ...; texts may be empty."""

    @property
    def reasons(self) -> bool:
        """Whether the model thought before it answered."""
        return bool(self.reasoning or self.reasoning_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPassage:
    """A text found by a web search, with its source."""

    text: str
    source: Source
