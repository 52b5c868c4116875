"""Chat requests in the form that a server takes: their bodies, and the least change with which it takes one."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal

from data.errors import FieldmarkError
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint

JsonForm = Literal["schema", "plain schema", "object", "text"]
JSON_FORMS: Final[tuple[JsonForm, ...]] = ("schema", "plain schema", "object", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The optional parts that a server takes; by default all, in the form that the methods ask for."""

    json: JsonForm = "schema"
    """`plain schema`: without limits of numbers and lists; `object`: `json_object`; `text`: described in words."""
    logprobs: int | None = None
    """Most alternatives per token; 0 asks for no log-probabilities."""
    seed: bool = True
    temperature: bool = True
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: bool = True
    """Whether `reasoning_effort` is sent."""
    system: bool = True
    """Whether there may be system messages; if not, they are part of the next message of the user."""
    neighbours: bool = True
    """Whether messages of one role may follow each other; if not, they are joined."""
    stream: bool = False
    stream_usage: bool = True
    """Whether a streamed answer is asked for its tokens."""


Body = dict[str, Any]
TOKENS: Final = ("max_tokens", "max_completion_tokens")
TOKENS_PER_MESSAGE: Final = 16  # besides its text: role, separators
_MAGIC: Final = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}
# Keywords of JSON schemas that some strict servers refuse; the methods check the values themselves.
_LIMITS: Final = frozenset({
    "additionalProperties", "minItems", "maxItems", "uniqueItems", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "default", "$schema", "title",
})  # fmt: skip


def body_of(endpoint: Endpoint, request: ChatRequest, form: Form | None = None) -> Body:
    """Return the body of a chat request in a form; by default with all its parts."""
    form = form or Form()
    schema = request.json_schema
    in_words = "" if schema is None or "schema" in form.json else _in_words(schema)
    messages = _messages(request, "system" if form.system else "user", in_words)
    if request.in_one or not form.neighbours:
        messages = _joined(messages, [True] * len(messages))
    body: Body = {"model": endpoint.model, "messages": messages, "stream": form.stream or endpoint.stream}
    if body["stream"] and form.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.temperature is not None and form.temperature:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[form.tokens] = request.max_tokens
    if request.seed is not None and form.seed:
        body["seed"] = request.seed
    if request.top_logprobs is not None and form.logprobs != 0:
        most = request.top_logprobs if form.logprobs is None else min(form.logprobs, request.top_logprobs)
        body |= {"logprobs": True, "top_logprobs": most}
    if schema is not None and form.json != "text":
        body["response_format"] = _response_format(schema, form.json)
    if endpoint.reasoning_effort is not None and form.effort:
        body["reasoning_effort"] = endpoint.reasoning_effort
    return body | dict(endpoint.extra_body)


def most_input_tokens(request: ChatRequest, *, image_tokens: int) -> int:
    """Return an upper bound of the input tokens of a request: one per byte of text, plus images."""
    texts = sum(len(message.text.encode()) + TOKENS_PER_MESSAGE for message in request.messages)
    images = image_tokens * sum(len(message.images) for message in request.messages)
    schema = request.json_schema
    # In words, a schema takes one more sentence.
    return texts + images + (len(_in_words(schema).encode()) + TOKENS_PER_MESSAGE if schema is not None else 0)


def _response_format(schema: Mapping[str, object], form: str) -> Body:
    if form == "object":
        return {"type": "json_object"}
    is_strict = form == "schema"
    kept = dict(schema) if is_strict else _without_limits(schema)
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": is_strict, "schema": kept}}


def _without_limits(schema: object) -> Any:  # noqa: ANN401  # JSON values
    if isinstance(schema, Mapping):
        # A property may have the name of a keyword.
        return {
            name: {each: _without_limits(value) for each, value in content.items()}
            if name == "properties" and isinstance(content, Mapping)
            else _without_limits(content)
            for name, content in schema.items()
            if name not in _LIMITS
        }
    return [_without_limits(each) for each in schema] if isinstance(schema, list | tuple) else schema


def _in_words(schema: Mapping[str, object]) -> str:
    return f"Reply with one JSON object and nothing else. It follows this JSON schema:\n{json.dumps(schema)}"


def _messages(request: ChatRequest, system_role: Literal["system", "user"], in_words: str) -> list[Body]:
    """Return the messages; `in_words`, the form of the reply, ends the last text of the user.

    It is no message of its own: some templates take instructions at the beginning alone.
    """
    last = max((i for i, message in enumerate(request.messages) if message.role == "user"), default=-1)
    messages = []
    for i, message in enumerate(request.messages):
        text = "\n\n".join(part for part in (message.text, in_words if i == last else "") if part)
        role = system_role if message.role == "system" else message.role
        messages.append({"role": role, "content": _content(text, message.images)})
    is_system = [message.role == "system" for message in request.messages]
    return _joined(messages, is_system) if system_role == "user" else messages


def _content(text: str, images: Sequence[bytes]) -> str | list[Body]:
    if not images:
        return text
    parts: list[Body] = [{"type": "text", "text": text}] if text else []
    return parts + [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]


def _joined(messages: Sequence[Body], at: Sequence[bool]) -> list[Body]:
    """Return the messages with those at some places joined to the next one, if it has the same role."""
    found: list[Body] = []
    joins = False
    for message, joins_next in zip(messages, at, strict=True):
        if joins and found[-1]["role"] == message["role"]:
            found[-1] = {"role": message["role"], "content": _both(found[-1]["content"], message["content"])}
        else:
            found.append(message)
        joins = joins_next
    return found


def _both(first: str | list[Body], second: str | list[Body]) -> str | list[Body]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [
        part
        for content in (first, second)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def _data_url(image: bytes) -> str:
    for magic, media_type in _MAGIC.items():
        if image.startswith(magic):
            return f"data:{media_type};base64,{base64.b64encode(image).decode()}"
    raise ValueError(f"expected the bytes of a JPEG or PNG file, got {image[:8]!r}")


# what a server refuses

Rung = tuple[str, object]
"""A field of the form, and its new value."""
Attempt = Callable[[Form], Awaitable[ChatReply | None]]
"""Asks in a form; None if the server refuses it."""


def rungs(form: Form, request: ChatRequest, endpoint: Endpoint) -> Iterator[Rung]:
    """Yield the changes of the optional parts that a request has in a form, in the order in which they are tried."""
    roles = [message.role for message in request.messages]
    if request.json_schema is not None:
        yield from (("json", each) for each in JSON_FORMS[JSON_FORMS.index(form.json) + 1 :])
    asked = min(request.top_logprobs or 0, request.top_logprobs or 0 if form.logprobs is None else form.logprobs)
    yield from (("logprobs", n) for n in (5, 0) if n < asked)
    if request.seed is not None and form.seed:
        yield "seed", False
    if request.temperature is not None and form.temperature:
        yield "temperature", False
    if request.max_tokens is not None and form.tokens == "max_tokens":
        yield "tokens", "max_completion_tokens"  # never without a limit: the cost would have none
    if endpoint.reasoning_effort is not None and form.effort:
        yield "effort", False
    if "system" in roles and form.system:
        yield "system", False
    has_neighbours = any(one == other for one, other in pairwise(roles)) or "system" in roles
    if has_neighbours and form.neighbours and not request.in_one:
        yield "neighbours", False
    if not form.stream:
        yield "stream", True
    if form.stream_usage:
        yield "stream_usage", False


def changed(form: Form, *changes: Rung) -> Form:
    """Return a form with some fields changed."""
    return replace(form, **dict(changes))  # type: ignore[arg-type]


async def least_change(form: Form, ladder: list[Rung], attempt: Attempt) -> tuple[Form, ChatReply, bool] | None:
    """Return the form nearest to `form` that the server takes, its reply, and whether that is sure; None without one.

    The parts go one after the other until the server answers. What went before the last may not have been needed, so
    each is tried again, all of them first. Then `form` is: if the server takes it now, it was refused by accident. A
    failure of another kind, such as a busy server, ends this without losing the reply, which is paid for.
    """
    for n in range(1, len(ladder) + 1):
        reached = changed(form, *ladder[:n])
        reply = await attempt(reached)
        if reply is not None:
            break
    else:
        return None
    last = ladder[n - 1]
    others = [rung for rung in ladder[:n] if rung[0] != last[0]]
    try:
        return *await _nearest(form, last, others, (reached, reply), attempt), True
    except FieldmarkError:
        return reached, reply, False


async def _nearest(
    form: Form, last: Rung, others: list[Rung], found: tuple[Form, ChatReply], attempt: Attempt
) -> tuple[Form, ChatReply]:
    """Return the form nearest to `form` and its reply, from the first one found: `last` went last, `others` before."""
    reached, reply = found
    if others and (again := await attempt(alone := changed(form, last))) is not None:
        reached, reply, others = alone, again, []
    for other in dict.fromkeys(field for field, _ in others):
        for better in (getattr(form, other), *(value for field, value in others if field == other)):
            tried = changed(reached, (other, better))
            if tried == reached:
                break
            if (again := await attempt(tried)) is not None:
                reached, reply = tried, again
                break
    if (again := await attempt(form)) is not None:
        return form, again
    return reached, reply
