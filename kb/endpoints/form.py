"""Chat requests in the form that a server takes: their bodies, and the least change with which it takes one."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args, get_type_hints

from data.errors import FieldmarkError
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The optional parts that a server takes, each with its values in the order tried; methods ask for the first.

    There is always a limit of tokens: the cost would have none.
    """

    json: Literal["schema", "plain schema", "object", "text"] = "schema"
    """`plain schema`: without limits of numbers and lists; `object`: `json_object`; `text`: described in words."""
    logprobs: Literal[20, 5, 0] = 20
    """Most alternatives per token, 20 by the protocol; 0 asks for no log-probabilities."""
    seed: Literal[True, False] = True
    temperature: Literal[True, False] = True
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: Literal[True, False] = True
    """Whether `reasoning_effort` is sent."""
    roles: Literal["all", "joined", "user"] = "all"
    """`joined`: messages of one role that follow each other are one; `user`: and so are those of the system."""
    stream: Literal[False, True] = False
    stream_usage: Literal[True, False] = True
    """Whether a streamed answer is asked for its tokens."""


Body = dict[str, Any]
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
    messages = _messages(request, form.roles, in_words)
    is_streamed, top = form.stream or endpoint.stream, min(request.top_logprobs or 0, form.logprobs)
    optional = {
        "stream_options": {"include_usage": True} if is_streamed and form.stream_usage else None,
        "temperature": request.temperature if form.temperature else None,
        form.tokens: request.max_tokens,
        "seed": request.seed if form.seed else None,
        "logprobs": True if top else None,
        "top_logprobs": top or None,
        "response_format": None if schema is None or form.json == "text" else _response_format(schema, form.json),
        "reasoning_effort": endpoint.reasoning_effort if form.effort else None,
    }
    sent = {name: value for name, value in optional.items() if value is not None}
    return {"model": endpoint.model, "messages": messages, "stream": is_streamed, **sent, **endpoint.extra_body}


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


def _messages(request: ChatRequest, roles: str, in_words: str) -> list[Body]:
    """Return the messages; `in_words`, the form of the reply, ends the last text of the user.

    It is no message of its own: some templates take instructions at the beginning alone.
    """
    last = max((i for i, message in enumerate(request.messages) if message.role == "user"), default=-1)
    found: list[tuple[str, list[Body]]] = []
    for i, message in enumerate(request.messages):
        role = "user" if roles == "user" and message.role == "system" else message.role
        text = "\n\n".join(part for part in (message.text, in_words if i == last else "") if part)
        parts: list[Body] = [{"type": "text", "text": text}] if text else []
        parts += [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in message.images]
        if found and found[-1][0] == role and (request.in_one or roles != "all"):
            found[-1][1].extend(parts)
        else:
            found.append((role, parts))
    return [{"role": role, "content": _content(parts)} for role, parts in found]


def _content(parts: list[Body]) -> str | list[Body]:
    has_images = any(part["type"] == "image_url" for part in parts)
    return parts if has_images else "\n\n".join(part["text"] for part in parts)


def _data_url(image: bytes) -> str:
    for magic, media_type in _MAGIC.items():
        if image.startswith(magic):
            return f"data:{media_type};base64,{base64.b64encode(image).decode()}"
    raise ValueError(f"expected the bytes of a JPEG or PNG file, got {image[:8]!r}")


# what a server refuses

Rung = tuple[str, Any]
"""A field of the form, and its new value."""
Attempt = Callable[[Form], Awaitable[ChatReply | None]]
"""Asks in a form; None if the server refuses it."""


def rungs(form: Form, request: ChatRequest, endpoint: Endpoint) -> Iterator[Rung]:
    """Yield the changes of a form that change the body of a request, each after the others, in a fixed order."""
    body = body_of(endpoint, request, form)
    for field, kind in get_type_hints(Form).items():
        values = get_args(kind)
        for value in values[values.index(getattr(form, field)) + 1 :]:
            tried = changed(form, (field, value))
            if (other := body_of(endpoint, request, tried)) != body:
                form, body = tried, other
                yield field, value


def bare(form: Form) -> Form:
    """Return a form without the parts that a request can be sent without."""
    return replace(form, json="text", logprobs=0, seed=False, temperature=False, effort=False)


def changed(form: Form, *changes: Rung) -> Form:
    """Return a form with some fields changed."""
    return replace(form, **dict(changes))


async def least_change(form: Form, ladder: list[Rung], attempt: Attempt) -> tuple[Form, ChatReply] | None:
    """Return the form nearest to `form` that the server takes, and its reply; None without one.

    The parts go one after the other until the server answers. What went before the last may not have been needed, so
    each is tried again, all of them first. Then `form` is: if the server takes it now, it was refused by accident. A
    failure of another kind, such as a busy server, ends this with `form` and the reply that is paid for, as nothing is
    sure then.
    """
    for n in range(1, len(ladder) + 1):
        reached = changed(form, *ladder[:n])
        if (reply := await attempt(reached)) is not None:
            break
    else:
        return None
    last = ladder[n - 1]
    others = [rung for rung in ladder[:n] if rung[0] != last[0]]
    try:
        if others and (again := await attempt(alone := changed(form, last))) is not None:
            reached, reply, others = alone, again, []
        for part in dict.fromkeys(field for field, _ in others):
            for better in (getattr(form, part), *(value for field, value in others if field == part)):
                tried = changed(reached, (part, better))
                if tried == reached:
                    break
                if (again := await attempt(tried)) is not None:
                    reached, reply = tried, again
                    break
        again = await attempt(form)
    except FieldmarkError:
        return form, reply
    return (reached, reply) if again is None else (form, again)
