"""Replies in the answers of chat servers: text, tokens, cost, log-probabilities, and how the reply ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from data.errors import MalformedAnswer, Refused
from data.records import ChatReply, ChatRequest, Source, TokenLogprobs, WebPassage
from kb.endpoints.body import most_input_tokens
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import shortened
from kb.endpoints.reasoning import separated, tokens_of_answer

End = Literal["complete", "cut off", "refused", "failed"]
_COMPLETE: Final = frozenset({"", "stop", "eos", "eos_token", "end_turn"})
_CUT_OFF: Final = re.compile(r"length|max_\w*tokens|token_limit")
_REFUSED: Final = re.compile(r"content_filter|safety|refus|sensitive|recitation|prohibited|blocklist|guardrail")
THINKING_HINT: Final = (
    "Turn the reasoning off: extra_body = {chat_template_kwargs = {enable_thinking = false}} or reasoning_effort = "
    '"none" of the model. What the server then sends as reasoning is read as the answer.'
)


def end_of(finish: object) -> End:
    """Return how a reply ended, by its `finish_reason`; words that are not known are failures."""
    word = str(finish or "").strip().lower()
    if word in _COMPLETE:
        return "complete"
    if _REFUSED.search(word):
        return "refused"
    return "cut off" if _CUT_OFF.search(word) else "failed"


def reply_of(answer: object, request: ChatRequest, endpoint: Endpoint) -> ChatReply:
    """Return the reply in the parsed JSON of an answer.

    If the answer has no token counts, the cost is the highest possible. Tokens that only the total shows are output.

    Raises:
        Refused: if the model or the provider's filter declined.
        MalformedAnswer: if it is not a chat completion, or one that ended with an error.
    """
    where, prices = endpoint.address, endpoint.prices
    whole = answer if isinstance(answer, Mapping) else {}
    choices = whole.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise MalformedAnswer(f"{where}: expected a chat completion, got {shortened(answer)}")
    choice = choices[0]
    message, finish = choice.get("message"), choice.get("finish_reason")
    end = "failed" if choice.get("error") else end_of(finish)
    tokens_in, tokens_out, tokens_said, tokens_thought = _usage(whole)
    used: dict[str, Any] = {"input_tokens": tokens_in or 0, "output_tokens": tokens_out or 0}
    refusal = message.get("refusal") if isinstance(message, Mapping) else None
    if refusal or end == "refused":
        why = f" declined: {shortened(refusal)}" if refusal else f": the provider's filter blocked the reply ({finish})"
        cost = None if prices is None else prices.cost_usd(tokens_in or 0, tokens_out or 0)
        raise Refused(f"{where}{why}", cost_usd=cost, **used)
    if end == "failed":
        error = choice.get("error")
        told = error.get("message") if isinstance(error, Mapping) else error
        raise MalformedAnswer(f"{where}: the reply ended with {shortened(finish)!r}: {shortened(told or 'no reason')}")
    if not isinstance(message, Mapping):  # all tokens went into thoughts
        message, end = {}, "cut off"
    thoughts, said = separated(_text(message.get("content"), where))
    thoughts = "\n".join(part for part in (_field_of_reasoning(message), thoughts) if part)
    text, logprobs = said or "", _logprobs(choice.get("logprobs"), where)
    if thoughts and not text and end == "complete" and not endpoint.thinks:
        text, thoughts = thoughts, ""  # the server takes the whole reply for reasoning
    if thoughts and logprobs:
        logprobs = tokens_of_answer(logprobs, text) if text else None
    is_cut = end == "cut off" or _is_cut_in_hidden_thoughts(text, request, tokens_said, tokens_thought)
    if not text and not logprobs and not is_cut:
        what = "reasoning without an answer" if thoughts else "an empty reply"
        raise MalformedAnswer(f"{where}: {what}", hint=THINKING_HINT if thoughts else None)
    cost = None
    if prices is not None:
        most_in = most_input_tokens(request, image_tokens=endpoint.image_tokens) if tokens_in is None else tokens_in
        most_out = (request.max_tokens or len(f"{thoughts}{text}".encode())) if tokens_out is None else tokens_out
        cost = prices.cost_usd(most_in, most_out)
    model = whole.get("model")
    return ChatReply(
        text=text,
        model=model if isinstance(model, str) and model else where,
        cost_usd=cost,
        logprobs=logprobs,
        finish="length" if is_cut else "stop",
        reasoning=thoughts,
        reasoning_tokens=tokens_thought,
        citations=_citations(whole, message),
        **used,
    )


def is_complete(reply: ChatReply, request: ChatRequest) -> bool:
    """Return whether a reply ended by itself, or begins with all that the request needs."""
    if reply.finish == "stop":
        return True
    first = re.match(r"\W*(\w+)\b", reply.text)
    return first is not None and first[1].lower() in request.first_words


def _usage(answer: Mapping[str, Any]) -> tuple[int | None, int | None, int, int]:
    """Return the tokens of request and reply, None if unknown; the ones which the limit counts, and those of reasoning.

    Some servers leave the reasoning out of `completion_tokens`, and only their total shows it.
    """
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None, None, 0, 0
    details = usage.get("completion_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = (*(usage.get(name) for name in names), details.get("reasoning_tokens"))
    asked, said, total, thought = (n if isinstance(n, int) and n >= 0 else None for n in counts)
    out = said if total is None or asked is None else max(said or 0, total - asked)
    return asked, out, said or 0, thought or 0


def _is_cut_in_hidden_thoughts(text: str, request: ChatRequest, n_out: int, n_thought: int) -> bool:
    """Return whether the tokens of a reply with hidden thoughts are used up, whatever its `finish_reason`."""
    return n_thought > 0 and (not text or (request.max_tokens is not None and n_out >= request.max_tokens))


def _text(content: object, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # some servers answer in parts
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    raise MalformedAnswer(f"{where}: expected a text, got {shortened(content)}")


def _field_of_reasoning(message: Mapping[str, Any]) -> str:
    for name in ("reasoning_content", "reasoning"):
        if isinstance(found := message.get(name), str) and found.strip():
            return found.strip()
    return ""


def _logprobs(found: object, where: str) -> tuple[TokenLogprobs, ...] | None:
    tokens = found.get("content") if isinstance(found, Mapping) else None
    if not isinstance(tokens, list) or not tokens:
        return None
    try:
        return tuple(
            TokenLogprobs(
                token=str(item["token"]),
                logprob=float("-inf") if item["logprob"] is None else float(item["logprob"]),
                top=tuple(
                    (str(one["token"]), float(one["logprob"]))
                    for one in item.get("top_logprobs") or ()
                    if one["logprob"] is not None  # an impossible token, where JSON knows no infinity
                ),
            )
            for item in tokens
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedAnswer(f"{where}: log-probabilities in an unknown format: {shortened(tokens[0])}") from error


def _citations(answer: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[WebPassage, ...]:
    """Return the sources in an answer: `search_results` or `citations` (Perplexity), or `annotations` (OpenAI)."""
    notes = message.get("annotations")
    notes = [note for note in notes if isinstance(note, Mapping)] if isinstance(notes, list) else []
    annotations = [note.get("url_citation") for note in notes]
    for found in (answer.get("search_results"), answer.get("citations"), message.get("citations"), annotations):
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
