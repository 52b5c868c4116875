"""Abilities of an endpoint, tested with small requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from data.contracts import ChatModel
from data.errors import FieldmarkError, MissingRequirement
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_chat import OpenAIChat
from kb.endpoints.retry import RetryingChat, RetryPolicy

Kind = Literal["text", "vision", "search"]
Ability = Literal["answers", "JSON schema", "logprobs", "vision", "citations", "price"]
ABILITIES: dict[Kind, tuple[Ability, ...]] = {
    "text": ("answers", "JSON schema", "price"),
    "vision": ("answers", "vision", "logprobs", "JSON schema", "price"),
    "search": ("answers", "citations", "price"),
}
# The fallback when an ability is missing.
WITHOUT: dict[Ability, str] = {
    "answers": "features that need this model are not available",
    "JSON schema": "the schema is described in words; replies that do not follow it are requested again",
    "logprobs": "yes/no answers are weighed by the confidence that the model states, or by sampling",
    "vision": "photos cannot be read or judged",
    "citations": "its findings cannot be checked and are dropped",
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
    """`text`, `vision`, `search`."""
    model: str
    ability: Ability
    is_there: bool
    seen: str
    without: str = ""


def probe(kind: Kind, endpoint: Endpoint, key: str = "") -> list[Probe]:
    """Return the abilities of a model that Fieldmark uses, tested with a few tiny requests.

    Testing stops if the model does not answer at all.
    """
    found: list[Probe] = []
    with OpenAIChat(endpoint, key) as bare:
        chat = RetryingChat(bare, _PATIENCE)
        for ability in ABILITIES[kind]:
            is_there, seen = _check(ability, chat, bare, endpoint)
            found.append(
                Probe(
                    endpoint=kind,
                    model=endpoint.address,
                    ability=ability,
                    is_there=is_there,
                    seen=seen,
                    without="" if is_there else WITHOUT[ability],
                )
            )
            if ability == "answers" and not is_there:
                break
    return found


def _check(ability: Ability, chat: ChatModel, bare: OpenAIChat, endpoint: Endpoint) -> tuple[bool, str]:
    """Return whether a model has an ability, and what it replied."""
    try:
        match ability:
            case "answers":
                return True, f"replied {_quoted(_ask(chat, 'Reply with the single word: ready'))}"
            case "JSON schema":
                return _json(chat, bare)
            case "logprobs":
                return _logprobs(chat)
            case "vision":
                return _vision(chat)
            case "citations":
                return _citations(chat)
            case "price":
                return _price(endpoint)
    except FieldmarkError as error:
        needs_hint = isinstance(error, MissingRequirement) and error.hint
        return False, f"{error} ({error.hint})" if needs_hint else str(error)


def _price(endpoint: Endpoint) -> tuple[bool, str]:
    prices = endpoint.prices
    if prices is None:
        return False, "price_in and price_out are not set"
    return True, f"${prices.per_million_in:g} in, ${prices.per_million_out:g} out per million tokens"


def _ask(
    chat: ChatModel,
    text: str,
    *,
    images: tuple[bytes, ...] = (),
    json_schema: dict[str, object] | None = None,
    top_logprobs: int | None = None,
    max_tokens: int = 300,
) -> ChatReply:
    request = ChatRequest(
        messages=(ChatMessage(role="user", text=text, images=images),),
        json_schema=json_schema,
        top_logprobs=top_logprobs,
        max_tokens=max_tokens,
    )
    return wait_for(chat.reply(request))


def _json(chat: ChatModel, bare: OpenAIChat) -> tuple[bool, str]:
    # The schema contradicts the question, so that following it is no accident.
    reply = _ask(chat, "Name an animal and its number of legs, as JSON. The animal is a dog.", json_schema=_SCHEMA)
    if "response_format" in bare.unsupported:
        return False, "the server rejects response_format"
    try:
        value = json.loads(reply.text)
    except ValueError:
        return False, f"replied {_quoted(reply)}"
    follows = isinstance(value, dict) and value.get("animal") == "spider" and isinstance(value.get("legs"), int)
    return follows, "followed" if follows else f"accepted but not followed: {_quoted(reply)}"


def _logprobs(chat: ChatModel) -> tuple[bool, str]:
    reply = _ask(chat, "Is the sky blue on a clear day? Answer Yes or No.", top_logprobs=5, max_tokens=5)
    if not reply.logprobs:
        return False, "none returned"
    first = reply.logprobs[0]
    if len(first.top) < 2:
        return False, "no alternatives to the token itself"
    tokens = {token.strip().lower() for token, _ in first.top}
    if not tokens & {"yes", "no"}:
        return (
            False,
            f"neither yes nor no is among the top tokens: {', '.join(sorted(tokens))} (reasoning first?)",
        )
    return True, f"{len(first.top)} alternatives per token"


def _vision(chat: ChatModel) -> tuple[bool, str]:
    reply = _ask(chat, "What colour is this picture? Answer with one word.", images=(_red_picture(),))
    is_red = any(word in reply.text.lower() for word in ("red", "crimson", "scarlet"))
    return is_red, f"called a red picture {_quoted(reply)}"


def _citations(chat: ChatModel) -> tuple[bool, str]:
    reply = _ask(chat, "What is a speculum on the wing of a duck? One sentence.")
    n = sum(citation.source.url is not None for citation in reply.citations)
    return n > 0, f"{n} sources named"


def _red_picture() -> bytes:
    from PIL import Image

    out = BytesIO()
    Image.new("RGB", (96, 96), (214, 24, 30)).save(out, "PNG")
    return out.getvalue()


def _quoted(reply: ChatReply) -> str:
    line = " ".join(reply.text.split())
    return repr(line if len(line) <= 40 else line[:39] + "…")
