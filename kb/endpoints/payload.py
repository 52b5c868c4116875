"""Chat requests as the JSON that goes over the wire, and the JSON that comes back as replies. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

from data.errors import MalformedAnswer, Refused
from data.records import ChatMessage, ChatReply, ChatRequest, Source, TokenLogprobs, WebPassage
from kb.endpoints.endpoint import JsonMode, Prices

Payload = dict[str, Any]
# What servers may lack, as they name it when they complain: it is left out or said in another way.
OPTIONAL = ("temperature", "seed", "max_tokens", "top_logprobs", "logprobs", "response_format")
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}
# A message costs a few tokens beside its text: role, separators.
TOKENS_A_MESSAGE = 16


def payload_of(model: str, request: ChatRequest, *, json_mode: JsonMode, without: Collection[str] = ()) -> Payload:
    """Return the body of a chat request.

    Args:
        model: the name that the server knows the model by.
        request: what is asked.
        json_mode: how a JSON schema is asked for.
        without: parameters that the server does not take, out of `OPTIONAL`.
    """
    if "response_format" in without:
        json_mode = "text"
    messages = [_message(message) for message in request.messages]
    payload: Payload = {"model": model, "messages": messages}
    if "temperature" not in without:
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
        else:
            messages.append({"role": "system", "content": _schema_in_words(request.json_schema)})
            if json_mode == "object":
                payload["response_format"] = {"type": "json_object"}
    return payload


def most_input_tokens(request: ChatRequest, *, image_tokens: int) -> int:
    """Return more tokens than the input of a request can have: no tokenizer makes more of them than there are bytes."""
    texts = sum(len(message.text.encode()) + TOKENS_A_MESSAGE for message in request.messages)
    images = image_tokens * sum(len(message.images) for message in request.messages)
    schema = request.json_schema
    # Said in words, a schema takes a sentence more.
    return texts + images + (len(_schema_in_words(schema).encode()) + TOKENS_A_MESSAGE if schema is not None else 0)


def reply_of(
    answer: object, request: ChatRequest, *, where: str, prices: Prices | None, image_tokens: int
) -> ChatReply:
    """Return the reply in the parsed JSON of an answer.

    Without a count of tokens in the answer, the cost is the highest that it can have been.

    Raises:
        Refused: if the model declined, or a filter of the provider did.
        MalformedAnswer: if it is no chat completion.
    """
    choice = _first_choice(answer, where)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise MalformedAnswer(f"{where}: a choice without a message")
    finish = choice.get("finish_reason")
    if refusal := message.get("refusal"):
        raise Refused(f"{where} declined: {shortened(refusal)}")
    if finish == "content_filter":
        raise Refused(f"{where}: the provider's filter held the reply back")
    text = _text(message.get("content"), where)
    logprobs = _logprobs(choice.get("logprobs"), where)
    if not text and not logprobs and finish != "length":
        raise MalformedAnswer(f"{where}: an empty reply")
    tokens_in, tokens_out = _usage(answer)
    cost = None
    if prices is not None:
        most_in = most_input_tokens(request, image_tokens=image_tokens) if tokens_in is None else tokens_in
        most_out = (request.max_tokens or len(text.encode())) if tokens_out is None else tokens_out
        cost = prices.cost_usd(most_in, most_out)
    model = answer.get("model") if isinstance(answer, Mapping) else None
    return ChatReply(
        text=text,
        model=model if isinstance(model, str) and model else where,
        input_tokens=tokens_in or 0,
        output_tokens=tokens_out or 0,
        cost_usd=cost,
        logprobs=logprobs,
        finish="length" if finish == "length" else "stop",
        citations=_citations(answer, message),
    )


def shortened(value: object, limit: int = 200) -> str:
    """Return a foreign text in one line of at most `limit` characters, fit for an error message."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _message(message: ChatMessage) -> Payload:
    if not message.images:
        return {"role": message.role, "content": message.text}
    parts: list[Payload] = [{"type": "text", "text": message.text}] if message.text else []
    parts += [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in message.images]
    return {"role": message.role, "content": parts}


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
    if isinstance(content, list):  # some servers answer in parts, as they are asked
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
        raise MalformedAnswer(f"{where}: log-probabilities in a form of their own: {shortened(tokens[0])}") from error


def _citations(answer: object, message: Mapping[str, Any]) -> tuple[WebPassage, ...]:
    """Return the sources in an answer: `search_results` or `citations` (Perplexity), or `annotations` (OpenAI)."""
    whole = answer if isinstance(answer, Mapping) else {}
    noted = message.get("annotations")
    annotations = [item.get("url_citation") for item in noted if isinstance(item, Mapping)] if noted else []
    for found in (whole.get("search_results"), whole.get("citations"), message.get("citations"), annotations):
        if not isinstance(found, list) or not found:
            continue
        passages = []
        for item in found:
            about = item if isinstance(item, Mapping) else {"url": item}
            # One that is no address keeps its place, or the marks would point at others.
            url = str(about.get("url") or "")
            url = url if url.startswith(("https://", "http://")) else ""
            text = about.get("snippet") or about.get("content") or ""
            title = shortened(about.get("title") or url or "unknown")
            passages.append(WebPassage(text=str(text), source=Source(title=title, url=url or None)))
        return tuple(passages)
    return ()


def _usage(answer: object) -> tuple[int | None, int | None]:
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return None, None
    found = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    # A reasoning model's hidden tokens are part of `completion_tokens`.
    first, second = (n if isinstance(n, int) and n >= 0 else None for n in found)
    return first, second
