"""Abilities of an endpoint, tested with small requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from data.errors import FieldmarkError, MissingRequirement
from data.event_loop import wait_for
from data.foreign_json import load_json
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.growing_chat import GrowingChat
from kb.endpoints.openai_chat import OpenAIChat
from kb.endpoints.payload import shortened
from kb.endpoints.reasoning_probe import find_reasoning
from kb.endpoints.retry import RetryingChat, RetryPolicy

Kind = Literal["text", "vision", "search"]
Ability = Literal["answers", "answers at once", "JSON schema", "logprobs", "vision", "citations", "size", "price"]
ABILITIES: dict[Kind, tuple[Ability, ...]] = {
    "text": ("answers", "answers at once", "JSON schema", "price"),
    "vision": ("answers", "answers at once", "vision", "logprobs", "JSON schema", "price"),
    "search": ("answers", "answers at once", "citations", "price"),
}
# The fallback when an ability is missing.
WITHOUT: dict[Ability, str] = {
    "answers": "features that need this model are not available",
    "answers at once": "replies that are cut off are asked for again with more tokens",
    "JSON schema": "the schema is described in words; replies that do not follow it are requested again",
    "logprobs": "yes/no answers are weighed by the confidence that the model states, or by sampling",
    "vision": "photos cannot be read or judged",
    "citations": "its answers cannot be checked; they are used with a warning",
    "size": "drawings are used in the size that the server sends; it may cost more or less",
    "price": "--max-cost is not available; cost is not reported",
}
_PATIENCE = RetryPolicy(tries=2, tries_if_malformed=1)
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"legs": {"type": "integer"}, "animal": {"type": "string", "enum": ["spider"]}},
    "required": ["legs", "animal"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Result of testing one ability of an endpoint, with the fallback if it is missing."""

    endpoint: str
    """`text`, `vision`, `search`, `image`."""
    model: str
    ability: Ability
    is_there: bool
    seen: str
    without: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A model under test: its chat, and the same with replies that are complete."""

    chat: OpenAIChat
    growing: GrowingChat


def probe(kind: Kind, endpoint: Endpoint, key: str = "") -> list[Probe]:
    """Return the abilities of a model that Fieldmark uses, each tested with one small request.

    A model that reasons first gets more: where a reply is cut off, and for settings against the reasoning.
    Testing stops if the model does not answer at all.
    """
    found: list[Probe] = []
    with OpenAIChat(endpoint, key) as chat:
        growing = GrowingChat(RetryingChat(chat, _PATIENCE), first=endpoint.max_tokens, warns=False)
        model = _Model(chat=chat, growing=growing)
        for ability in ABILITIES[kind]:
            try:
                is_there, seen, *advice = _TESTS[ability](model)
            except FieldmarkError as error:
                needs_hint = isinstance(error, MissingRequirement) and error.hint
                is_there, seen, advice = False, f"{error} ({error.hint})" if needs_hint else str(error), []
            found.append(
                Probe(
                    endpoint=kind,
                    model=endpoint.address,
                    ability=ability,
                    is_there=is_there,
                    seen=seen,
                    without="" if is_there else "; ".join([WITHOUT[ability], *advice]),
                )
            )
            if ability == "answers" and not is_there:
                break
    return found


def _reply(
    model: _Model,
    text: str,
    *,
    images: tuple[bytes, ...] = (),
    json_schema: dict[str, object] | None = None,
    top_logprobs: int | None = None,
    max_tokens: int = 300,
    first_words: tuple[str, ...] = (),
) -> ChatReply:
    message = ChatMessage(role="user", text=text, images=images)
    request = ChatRequest(
        messages=(message,), json_schema=json_schema, top_logprobs=top_logprobs, max_tokens=max_tokens,
        first_words=first_words,
    )  # fmt: skip
    return wait_for(model.growing.reply(request))


def _answers(model: _Model) -> tuple[bool, str]:
    return True, f"replied {_quoted(_reply(model, 'Reply with the single word: ready'))}"


def _answers_at_once(model: _Model) -> tuple[bool, str] | tuple[bool, str, str]:
    found = find_reasoning(model.chat, model.growing, _PATIENCE)
    if not found.tokens:
        return True, "no reasoning before the answer"
    advice = f"max_tokens = {found.max_tokens} saves this"
    if found.remedy:
        advice += f", and {found.remedy} saves most of the reasoning"
    seen = f"reasons first, {found.tokens:,} tokens for a small question"
    return False, seen if found.is_complete else f"{seen}, and is not done then", advice


def _json_schema(model: _Model) -> tuple[bool, str]:
    # The schema contradicts the question, so that following it is no accident.
    reply = _reply(model, "Name an animal and its number of legs, as JSON. The animal is a dog.", json_schema=_SCHEMA)
    if "response_format" in model.chat.unsupported:
        return False, "the server rejects response_format"
    try:
        value = load_json(reply.text)
    except ValueError:
        return False, f"replied {_quoted(reply)}"
    follows = isinstance(value, dict) and value.get("animal") == "spider" and isinstance(value.get("legs"), int)
    return follows, "followed" if follows else f"accepted but not followed: {_quoted(reply)}"


def _logprobs(model: _Model) -> tuple[bool, str]:
    reply = _reply(
        model, "Is the sky blue on a clear day? Answer Yes or No.", top_logprobs=5, max_tokens=5,
        first_words=("yes", "no"),
    )  # fmt: skip
    if not reply.logprobs:
        return False, "none returned"
    top = reply.logprobs[0].top
    if len(top) < 2:
        return False, "no alternatives to the token itself"
    tokens = {token.strip().lower() for token, _ in top}
    if not tokens & {"yes", "no"}:
        seen = ", ".join(sorted(tokens))
        return False, f"neither yes nor no is among the top tokens: {seen}"
    return True, f"{len(top)} alternatives per token"


def _vision(model: _Model) -> tuple[bool, str]:
    from PIL import Image

    red = BytesIO()
    Image.new("RGB", (96, 96), (214, 24, 30)).save(red, "PNG")
    reply = _reply(model, "What colour is this picture? Answer with one word.", images=(red.getvalue(),))
    is_red = any(word in reply.text.lower() for word in ("red", "crimson", "scarlet"))
    return is_red, f"called a red picture {_quoted(reply)}"


def _citations(model: _Model) -> tuple[bool, str]:
    reply = _reply(model, "What is a speculum on the wing of a duck? One sentence.")
    n = sum(citation.source.url is not None for citation in reply.citations)
    return n > 0, f"{n} sources named"


def _price(model: _Model) -> tuple[bool, str]:
    prices = model.chat.endpoint.prices
    if prices is None:
        return False, "price_in and price_out are not set"
    return True, f"${prices.per_million_in:g} in, ${prices.per_million_out:g} out per million tokens"


def _quoted(reply: ChatReply) -> str:
    return repr(shortened(reply.text, 40))


_TESTS: dict[Ability, Callable[[_Model], tuple[bool, str] | tuple[bool, str, str]]] = {
    "answers": _answers,
    "answers at once": _answers_at_once,
    "JSON schema": _json_schema,
    "logprobs": _logprobs,
    "vision": _vision,
    "citations": _citations,
    "price": _price,
}
"""Ability -> its test: whether a model has it, what it replied, and advice."""
