"""Bodies of chat requests: a request in the form that the server takes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from data.records import ChatRequest
from kb.endpoints.endpoint import Endpoint, SystemRole
from kb.endpoints.form import JSON_FORMS, Form

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
    json_form = max(form.json, endpoint.json, key=JSON_FORMS.index)
    schema = request.json_schema
    in_words = "" if schema is None or "schema" in json_form else _in_words(schema)
    messages = _messages(request, endpoint.system_role if form.system else "user", in_words)
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
    if schema is not None and json_form != "text":
        body["response_format"] = _response_format(schema, json_form)
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


def _messages(request: ChatRequest, system_role: SystemRole, in_words: str) -> list[Body]:
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
