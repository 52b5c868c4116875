"""Abilities of an endpoint, tested with small requests of the forms that the methods send; and its reasoning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

from data.errors import CutOff, FieldmarkError, MissingRequirement, SourceError
from data.event_loop import wait_for
from data.foreign_json import load_json
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.answer import reply_of
from kb.endpoints.body import body_of
from kb.endpoints.chat import Connection
from kb.endpoints.client import Client
from kb.endpoints.drawing.image_connection import DrawingCache, ImageConnection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import shortened
from kb.endpoints.retry import RetryPolicy

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


def find_reasoning(chat: Connection, key: str) -> Reasoning:
    """Return the reasoning of a model, from a small question.

    The question is asked once, and with more tokens where the reply is cut off; then, if the model reasons, once with
    each setting against it until one helps. It is asked with few tokens, whatever the settings say: a server that
    neither shows nor counts the reasoning gives it away by cutting the reply off.
    """
    endpoint, least = chat.endpoint, _REQUEST.max_tokens or 0
    if (endpoint.max_tokens or 0) > least:
        with Connection(replace(endpoint, max_tokens=None), key, retry=_PATIENCE, warns=False) as other_chat:
            tokens, is_complete = _tokens_for_the_question(other_chat, least)
    else:
        tokens, is_complete = _tokens_for_the_question(chat, least)
    if not tokens:
        return Reasoning(tokens=0)
    # With a setting that helps, half of the tokens are enough.
    request = replace(_REQUEST, max_tokens=max(least, tokens // 2))
    for setting, other in remedies(endpoint):
        try:
            with Client(other, key) as client:
                found = reply_of(wait_for(client.chat(body_of(other, request, chat.form))), request, other)
        except (SourceError, MissingRequirement):
            continue  # the server does not take the setting
        if found.finish == "stop" and (not found.reasons or 2 * _tokens_of(found) < tokens):
            return Reasoning(tokens=tokens, is_complete=is_complete, remedy=setting)
    return Reasoning(tokens=tokens, is_complete=is_complete)


def _tokens_for_the_question(chat: Connection, least: int) -> tuple[int, bool]:
    """Return the tokens of the reply with its reasoning, 0 if there is none; and whether the reply is complete."""
    tries, before = chat.limits(_REQUEST), chat.budget.meter.cut_off
    try:
        reply = wait_for(chat.reply(_REQUEST))
    except CutOff as error:
        return error.output_tokens or least, False
    n_cut_off = chat.budget.meter.cut_off - before
    # What needs more tokens than a number has reasons, even if they are hidden.
    needs_more = n_cut_off > 0 or (tries[0] or 0) > least
    if not reply.reasons and not needs_more:
        return 0, True
    tokens = _tokens_of(reply) - sum(limit or 0 for limit in tries[:n_cut_off])
    return max(tokens, least if needs_more else 0), True


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
_SCHEMA: Final[dict[str, object]] = {  # with all that the schemas of the methods have
    "type": "object",
    "properties": {
        "legs": {"type": "integer", "minimum": 0, "maximum": 100},
        "animal": {"type": "string", "enum": ["spider"]},
        "colours": {"type": "array", "items": {"type": "string"}, "minItems": 0, "maxItems": 3},
    },
    "required": ["legs", "animal"],
    "additionalProperties": False,
}
_TOP_LOGPROBS: Final = 20  # as the judges ask for


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


def probe(kind: Kind, endpoint: Endpoint, key: str = "") -> list[Probe]:
    """Return the abilities of a model that Fieldmark uses, each tested with one small request.

    A model that reasons first gets more: where a reply is cut off, and for settings against the reasoning; and a server
    that refuses a request, until it takes one. Testing stops if the model does not answer at all.
    """
    found: list[Probe] = []
    with Connection(endpoint, key, retry=_PATIENCE, warns=False) as chat:
        for ability in ABILITIES[kind]:
            try:
                is_there, seen, *advice = _tested(ability, chat, key)
            except FieldmarkError as error:
                is_there, seen, advice = False, f"{error} ({error.hint})" if error.hint else str(error), []
            without = "" if is_there else "; ".join([WITHOUT[ability], *advice])
            model = endpoint.address
            found.append(
                Probe(endpoint=kind, model=model, ability=ability, is_there=is_there, seen=seen, without=without)
            )
            if ability == "answers" and not is_there:
                break
    return found


def _tested(ability: Ability, chat: Connection, key: str) -> tuple[bool, str] | tuple[bool, str, str]:
    """Return whether a model has an ability, what it replied, and advice."""
    if ability == "answers":
        return True, f"replied {_quoted(_reply(chat, 'Reply with the single word: ready'))}"
    if ability == "answers at once":
        return _answers_at_once(chat, key)
    if ability == "JSON schema":
        return _json_schema(chat)
    if ability == "logprobs":
        return _logprobs(chat)
    if ability == "vision":
        return _vision(chat)
    if ability == "citations":
        reply = _reply(chat, "What is a speculum on the wing of a duck? One sentence.")
        n = sum(citation.source.url is not None for citation in reply.citations)
        return n > 0, f"{n} sources named"
    prices = chat.endpoint.prices
    if prices is None:
        return False, "price_in and price_out are not set"
    return True, f"${prices.per_million_in:g} in, ${prices.per_million_out:g} out per million tokens"


def _reply(chat: Connection, text: str, *, images: tuple[bytes, ...] = (), **more: Any) -> ChatReply:  # noqa: ANN401
    message = ChatMessage(role="user", text=text, images=images)
    return wait_for(chat.reply(ChatRequest(messages=(message,), **{"max_tokens": 300} | more)))


def _answers_at_once(chat: Connection, key: str) -> tuple[bool, str] | tuple[bool, str, str]:
    found = find_reasoning(chat, key)
    if not found.tokens:
        return True, "no reasoning before the answer"
    advice = f"max_tokens = {found.max_tokens} saves this"
    if found.remedy:
        advice += f", and {found.remedy} saves most of the reasoning"
    seen = f"reasons first, {found.tokens:,} tokens for a small question"
    return False, seen if found.is_complete else f"{seen}, and is not done then", advice


def _json_schema(chat: Connection) -> tuple[bool, str]:
    # The schema contradicts the question, so that following it is no accident.
    reply = _reply(chat, "Name an animal and its number of legs, as JSON. The animal is a dog.", json_schema=_SCHEMA)
    if chat.form.json in ("object", "text"):
        return False, "the server refuses JSON schemas" + ("" if chat.form.json == "text" else ", but sends JSON")
    try:
        value = load_json(reply.text)
    except ValueError:
        return False, f"replied {_quoted(reply)}"
    follows = isinstance(value, dict) and value.get("animal") == "spider" and isinstance(value.get("legs"), int)
    without = ", but no limits of numbers and lists" if chat.form.json == "plain schema" else ""
    return follows, f"followed{without}" if follows else f"accepted but not followed: {_quoted(reply)}"


def _logprobs(chat: Connection) -> tuple[bool, str]:
    reply = _reply(
        chat, "Is the sky blue on a clear day? Answer Yes or No.", top_logprobs=_TOP_LOGPROBS, max_tokens=5,
        first_words=("yes", "no"),
    )  # fmt: skip
    if not reply.logprobs:
        return False, "refused by the server" if chat.form.logprobs == 0 else "none returned"
    top = reply.logprobs[0].top
    if len(top) < 2:
        return False, "no alternatives to the token itself"
    tokens = {token.strip().lower() for token, _ in top}
    if not tokens & {"yes", "no"}:
        seen = ", ".join(sorted(tokens))
        return False, f"neither yes nor no is among the top tokens: {seen}"
    return True, f"{len(top)} alternatives per token"


def _vision(chat: Connection) -> tuple[bool, str]:
    from PIL import Image

    red = BytesIO()
    Image.new("RGB", (96, 96), (214, 24, 30)).save(red, "PNG")
    reply = _reply(chat, "What colour is this picture? Answer with one word.", images=(red.getvalue(),))
    is_red = any(word in reply.text.lower() for word in ("red", "crimson", "scarlet"))
    return is_red, f"called a red picture {_quoted(reply)}"


def _quoted(reply: ChatReply) -> str:
    return repr(shortened(reply.text, 40))


_PROMPT: Final = "Generate a small image of a red circle"
_SIZE: Final = re.compile(r"(\d+)x(\d+)")


def probe_images(endpoint: Endpoint, key: str = "") -> list[Probe]:
    """Return the abilities of the generator `[llm.image]` from one drawing, which costs as much as any other."""

    def result(ability: Ability, is_there: bool, seen: str) -> Probe:
        without = "" if is_there else WITHOUT[ability]
        return Probe(endpoint="image", model=endpoint.address, ability=ability, is_there=is_there, seen=seen,
                     without=without)  # fmt: skip

    try:
        with (
            TemporaryDirectory() as folder,
            ImageConnection(endpoint, key, cache=DrawingCache(Path(folder)), retry=_PATIENCE) as images,
        ):
            drawn = wait_for(images.draw(_PROMPT, 1))
            width, height = _size(drawn.paths[0].read_bytes())
    except FieldmarkError as error:
        return [result("answers", False, f"{error} ({error.hint})" if error.hint else str(error))]
    found = [result("answers", True, f"drew a picture of {width} x {height} pixels")]
    asked = _SIZE.fullmatch(str(endpoint.extra_body.get("size", "")))
    if asked is not None:
        is_same = (int(asked[1]), int(asked[2])) == (width, height)
        found.append(result("size", is_same, "as set in extra_body" if is_same else f"{asked[0]} was asked for"))
    is_priced = drawn.cost_usd is not None
    seen = f"${drawn.cost_usd:.4g} for this drawing" if is_priced else "price_per_request is not set"
    return [*found, result("price", is_priced, seen)]


def _size(content: bytes) -> tuple[int, int]:
    from data.images.decode import read_image

    return read_image(content).size
