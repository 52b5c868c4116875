"""Chat requests as request JSON, and response JSON as chat replies; pure functions."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from data.errors import MalformedAnswer, Refused
from data.records import ChatReply, ChatRequest, Source, TokenLogprobs, WebPassage
from kb.endpoints.endpoint import Endpoint, Prices, SystemRole
from kb.endpoints.reasoning import separated, tokens_of_answer

Payload = dict[str, Any]
# Parameters that servers may reject, by the name in their errors; they are left out or replaced.
OPTIONAL = (
    "temperature", "seed", "max_tokens", "top_logprobs", "logprobs", "response_format", "reasoning_effort",
    "system messages", "consecutive messages",
)  # fmt: skip
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}
# Tokens per message besides its text: role, separators.
TOKENS_PER_MESSAGE = 16


def payload_of(endpoint: Endpoint, request: ChatRequest, *, without: Collection[str] = ()) -> Payload:
    """Return the body of a chat request, without the parameters of `OPTIONAL` that the server rejects.

    Without system messages, instructions are part of the user's next message; without consecutive messages of one
    role, these are joined to one, texts and pictures in turn.
    """
    json_mode = "text" if "response_format" in without else endpoint.json
    in_words = "" if request.json_schema is None or json_mode == "schema" else _schema_in_words(request.json_schema)
    messages = _messages(request, "user" if "system messages" in without else endpoint.system_role, in_words)
    if request.in_one or "consecutive messages" in without:
        messages = _joined(messages, [True] * len(messages))
    payload: Payload = {"model": endpoint.model, "messages": messages}
    if request.temperature is not None and "temperature" not in without:
        payload["temperature"] = request.temperature
    if request.max_tokens is not None:
        # Newer servers know only the longer name, older ones only the shorter one.
        payload["max_completion_tokens" if "max_tokens" in without else "max_tokens"] = request.max_tokens
    if request.seed is not None and "seed" not in without:
        payload["seed"] = request.seed
    if request.top_logprobs is not None and not {"logprobs", "top_logprobs"} & set(without):
        payload |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if request.json_schema is not None:
        if json_mode == "schema":
            schema = {"name": "reply", "strict": True, "schema": dict(request.json_schema)}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif json_mode == "object":
            payload["response_format"] = {"type": "json_object"}
    if endpoint.reasoning_effort is not None and "reasoning_effort" not in without:
        payload["reasoning_effort"] = endpoint.reasoning_effort
    return payload | dict(endpoint.extra_body)


def most_input_tokens(request: ChatRequest, *, image_tokens: int) -> int:
    """Return an upper bound of the input tokens of a request: one per byte of text, plus images."""
    texts = sum(len(message.text.encode()) + TOKENS_PER_MESSAGE for message in request.messages)
    images = image_tokens * sum(len(message.images) for message in request.messages)
    schema = request.json_schema
    # In words, a schema takes one more sentence.
    return texts + images + (len(_schema_in_words(schema).encode()) + TOKENS_PER_MESSAGE if schema is not None else 0)


def reply_of(
    answer: object, request: ChatRequest, *, where: str, prices: Prices | None, image_tokens: int
) -> ChatReply:
    """Return the reply in the parsed JSON of an answer.

    If the answer has no token counts, the cost is the highest possible.

    Raises:
        Refused: if the model or the provider's filter declined.
        MalformedAnswer: if it is not a chat completion.
    """
    choice = _first_choice(answer, where)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise MalformedAnswer(f"{where}: a choice without a message")
    finish = choice.get("finish_reason")
    tokens_in, tokens_out, tokens_thought = _usage(answer)
    if refusal := message.get("refusal"):
        raise _refused(f"{where} declined: {shortened(refusal)}", tokens_in, tokens_out, prices)
    if finish == "content_filter":
        raise _refused(f"{where}: the provider's filter blocked the reply", tokens_in, tokens_out, prices)
    content = _text(message.get("content"), where)
    thoughts, said = separated(content)
    thoughts = "\n".join(part for part in (_field_of_reasoning(message), thoughts) if part)
    text, logprobs = said or "", _logprobs(choice.get("logprobs"), where)
    if thoughts and logprobs:
        logprobs = tokens_of_answer(logprobs, text) if text else None
    is_cut = finish == "length" or _is_cut_in_hidden_thoughts(text, request, tokens_out or 0, tokens_thought)
    if not text and not logprobs and not is_cut:
        raise MalformedAnswer(f"{where}: " + ("reasoning without an answer" if thoughts else "an empty reply"))
    cost = None
    if prices is not None:
        most_in = most_input_tokens(request, image_tokens=image_tokens) if tokens_in is None else tokens_in
        most_out = (request.max_tokens or len(f"{thoughts}{text}".encode())) if tokens_out is None else tokens_out
        cost = prices.cost_usd(most_in, most_out)
    model = answer.get("model") if isinstance(answer, Mapping) else None
    return ChatReply(
        text=text,
        model=model if isinstance(model, str) and model else where,
        input_tokens=tokens_in or 0,
        output_tokens=tokens_out or 0,
        cost_usd=cost,
        logprobs=logprobs,
        finish="length" if is_cut else "stop",
        reasoning=thoughts,
        reasoning_tokens=tokens_thought,
        citations=_citations(answer, message),
    )


def _refused(text: str, tokens_in: int | None, tokens_out: int | None, prices: Prices | None) -> Refused:
    """Return the error of a model that declined, with its cost if the server stated tokens."""
    used_in, used_out = tokens_in or 0, tokens_out or 0
    cost = None if prices is None else prices.cost_usd(used_in, used_out)
    return Refused(text, cost_usd=cost, input_tokens=used_in, output_tokens=used_out)


def shortened(value: object, limit: int = 200) -> str:
    """Return an external text as one line of at most `limit` characters, for error messages."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _messages(request: ChatRequest, system_role: SystemRole, in_words: str) -> list[Payload]:
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


def _content(text: str, images: Sequence[bytes]) -> str | list[Payload]:
    if not images:
        return text
    parts: list[Payload] = [{"type": "text", "text": text}] if text else []
    return parts + [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]


def _joined(messages: Sequence[Payload], at: Sequence[bool]) -> list[Payload]:
    """Return the messages with those at some places joined to the next one, if it has the same role."""
    found: list[Payload] = []
    joins = False
    for message, joins_next in zip(messages, at, strict=True):
        if joins and found[-1]["role"] == message["role"]:
            found[-1] = {"role": message["role"], "content": _both(found[-1]["content"], message["content"])}
        else:
            found.append(message)
        joins = joins_next
    return found


def _both(first: str | list[Payload], second: str | list[Payload]) -> str | list[Payload]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [
        part
        for content in (first, second)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def _field_of_reasoning(message: Mapping[str, Any]) -> str:
    for name in ("reasoning_content", "reasoning"):
        if isinstance(found := message.get(name), str) and found.strip():
            return found.strip()
    return ""


def _data_url(image: bytes) -> str:
    for magic, media_type in _MAGIC.items():
        if image.startswith(magic):
            return f"data:{media_type};base64,{base64.b64encode(image).decode()}"
    raise ValueError(f"expected the bytes of a JPEG or PNG file, got {image[:8]!r}")


def _schema_in_words(schema: Mapping[str, object]) -> str:
    return f"Reply with one JSON object and nothing else. It follows this JSON schema:\n{json.dumps(schema)}"


def _first_choice(answer: object, where: str) -> Mapping[str, Any]:
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise MalformedAnswer(f"{where}: expected a chat completion, got {shortened(answer)}")
    return choices[0]


def _text(content: object, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # some servers answer in parts
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    raise MalformedAnswer(f"{where}: expected a text, got {shortened(content)}")


def _logprobs(found: object, where: str) -> tuple[TokenLogprobs, ...] | None:
    tokens = found.get("content") if isinstance(found, Mapping) else None
    if not isinstance(tokens, list) or not tokens:
        return None
    try:
        return tuple(
            TokenLogprobs(
                token=str(item["token"]),
                logprob=float(item["logprob"]),
                top=tuple((str(one["token"]), float(one["logprob"])) for one in item.get("top_logprobs") or ()),
            )
            for item in tokens
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedAnswer(f"{where}: log-probabilities in an unknown format: {shortened(tokens[0])}") from error


def _citations(answer: object, message: Mapping[str, Any]) -> tuple[WebPassage, ...]:
    """Return the sources in an answer: `search_results` or `citations` (Perplexity), or `annotations` (OpenAI)."""
    whole = answer if isinstance(answer, Mapping) else {}
    notes = message.get("annotations")
    notes = [note for note in notes if isinstance(note, Mapping)] if isinstance(notes, list) else []
    annotations = [note.get("url_citation") for note in notes]
    for found in (whole.get("search_results"), whole.get("citations"), message.get("citations"), annotations):
        if not isinstance(found, list) or not found:
            continue
        passages = []
        for item in found:
            about = item if isinstance(item, Mapping) else {"url": item}
            # An invalid address keeps its place, so that citation marks stay aligned.
            url = str(about.get("url") or "")
            url = url if url.startswith(("https://", "http://")) else ""
            text = about.get("snippet") or about.get("content") or ""
            title = shortened(about.get("title") or url or "unknown")
            passages.append(WebPassage(text=str(text), source=Source(title=title, url=url or None)))
        return tuple(passages)
    return ()


def _is_cut_in_hidden_thoughts(text: str, request: ChatRequest, n_out: int, n_thought: int) -> bool:
    """Return whether the tokens of a reply with hidden thoughts are used up, whatever its `finish_reason`."""
    return n_thought > 0 and (not text or (request.max_tokens is not None and n_out >= request.max_tokens))


def _usage(answer: object) -> tuple[int | None, int | None, int]:
    """Return the tokens of request and reply, None if unknown, and those of the reply that are reasoning."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return None, None, 0
    details = usage.get("completion_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    found = [usage.get("prompt_tokens"), usage.get("completion_tokens"), details.get("reasoning_tokens")]
    # A reasoning model's hidden tokens are part of `completion_tokens`.
    first, second, third = (n if isinstance(n, int) and n >= 0 else None for n in found)
    return first, second, third or 0
