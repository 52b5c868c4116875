"""Replies in the answers of chat servers: put together if streamed, read, and separated from the reasoning. Pure.

Models that reason first send that in a field of its own, or in the text between tags, of which templates and servers
may swallow the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, Literal

from data.codec import load_json, parse_json
from data.errors import MalformedAnswer, Refused, ReplyLost
from data.records import ChatReply, ChatRequest, Source, TokenLogprobs, WebPassage
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import ERRORS, shortened
from kb.endpoints.form import most_input_tokens

End = Literal["complete", "cut off", "refused", "failed"]
_ENDS: Final[tuple[tuple[End, str], ...]] = (
    ("complete", r"\A(?:stop|eos|eos_token|end_turn)?\Z"),
    ("refused", r"content[_-]filter|safety|refus|sensitive|recitation|prohibited|blocklist|spii|guardrail"),
    ("cut off", r"length|max_\w*tokens|token_limit|context_window"),
)
THINKING_HINT: Final = (
    "Turn the reasoning off: extra_body = {chat_template_kwargs = {enable_thinking = false}} or reasoning_effort = "
    '"none" of the model. What the server then sends as reasoning is read as the answer.'
)


def end_of(finish: object) -> End:
    """Return how a reply ended, by its `finish_reason`; words that are not known are failures."""
    word = str(finish or "").strip().lower()
    return next((end for end, words in _ENDS if re.search(words, word)), "failed")


def reply_of(answer: object, request: ChatRequest, endpoint: Endpoint) -> ChatReply:
    """Return the reply in the parsed JSON of an answer.

    If the answer has no token counts, the cost is the highest possible. Tokens that only the total shows are output.

    Raises:
        Refused: if the model or the provider's filter declined.
        MalformedAnswer: if it is not a chat completion, or one that ended with an error.
    """
    where, whole = endpoint.address, _mapping(answer)
    choices = whole.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise MalformedAnswer(f"{where}: expected a chat completion, got {shortened(answer)}")
    choice = choices[0]
    message, finish = choice.get("message"), choice.get("finish_reason")
    error = choice.get("error") or whole.get("error")
    end = "failed" if error else end_of(finish)
    n_in, n_said, total, n_thoughts = tokens_of(
        whole, "prompt_tokens", "completion_tokens", "total_tokens", "reasoning_tokens"
    )
    # Some servers count the reasoning in their total alone, or apart from both.
    n_out = max(n_said + (n_thoughts if n_thoughts > n_said else 0), total - n_in if n_in else 0)
    used: dict[str, Any] = {"input_tokens": n_in, "output_tokens": n_out}
    refusal = _mapping(message).get("refusal")
    if refusal or end == "refused":
        why = f" declined: {shortened(refusal)}" if refusal else f": the provider's filter blocked the reply ({finish})"
        raise Refused(f"{where}{why}", cost_usd=endpoint.cost_usd(n_in, n_out), **used)
    if end == "failed":
        told = error.get("message") if isinstance(error, Mapping) else error
        raise MalformedAnswer(f"{where}: the reply ended with {shortened(finish)!r}: {shortened(told or 'no reason')}")
    if not isinstance(message, Mapping):  # all tokens went into thoughts
        message, end = {}, "cut off"
    content, thinking = _text_and_thinking(message.get("content"), where)
    thoughts, said = separated(content)
    fields = (message.get(name) for name in ("reasoning_content", "reasoning"))
    in_field = next((found.strip() for found in fields if isinstance(found, str) and found.strip()), "")
    thoughts = "\n".join(part for part in (in_field, thinking, thoughts) if part)
    text, logprobs = said or "", _logprobs(choice.get("logprobs"))
    if thoughts and not text and end == "complete" and not endpoint.thinks:
        text, thoughts = thoughts, ""  # the server takes the whole reply for reasoning
    if logprobs and (thoughts or text != content):
        logprobs = tokens_of_answer(logprobs, text) if text else None
    # With hidden thoughts, the tokens may be used up whatever the `finish_reason` is.
    is_cut = end == "cut off" or (n_thoughts > 0 and (not text or n_said >= request.max_tokens))
    if not text and not logprobs and not is_cut:
        what = "reasoning without an answer" if thoughts else "an empty reply"
        raise MalformedAnswer(f"{where}: {what}", hint=THINKING_HINT if thoughts else None)
    most_in = most_input_tokens(request, image_tokens=endpoint.image_tokens)
    model = whole.get("model")
    return ChatReply(
        text=text,
        model=model if isinstance(model, str) and model else where,
        cost_usd=endpoint.cost_usd(n_in or most_in, n_out or request.max_tokens),
        logprobs=logprobs,
        finish="length" if is_cut else "stop",
        reasoning=thoughts,
        reasoning_tokens=n_thoughts,
        citations=_citations(whole, message),
        **used,
    )


def is_complete(reply: ChatReply, request: ChatRequest) -> bool:
    """Return whether a reply ended by itself, or begins with all that the request needs."""
    first = re.match(r"\W*(\w+)\b", reply.text)
    return reply.finish == "stop" or (first is not None and first[1].lower() in request.first_words)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def tokens_of(answer: object, *names: str) -> list[int]:
    """Return counts in the `usage` of an answer, 0 where they are unknown."""
    usage = _mapping(_mapping(answer).get("usage"))
    counts = {**_mapping(usage.get("completion_tokens_details")), **usage}
    return [n if isinstance(n := counts.get(name), int) and n > 0 else 0 for name in names]


def _text_and_thinking(content: object, where: str) -> tuple[str, str]:
    """Return the text and the reasoning of a content, which some servers send in parts."""
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise MalformedAnswer(f"{where}: expected a text, got {shortened(content)}")
    text = thinking = ""
    for part in content:
        if isinstance(part, Mapping) and "thinking" in part:  # of Mistral: parts again
            thinking += _text_and_thinking(part["thinking"], where)[0]
        elif isinstance(part, Mapping):
            text += str(part.get("text") or "")
    return text, thinking


def _logprobs(found: object) -> tuple[TokenLogprobs, ...] | None:
    """Return the log-probabilities of a reply; None without any, or in a format that is not known.

    Also read are the lists of OpenAI's older API, one for tokens, one for alternatives. An alternative without a number
    is left out: it is impossible, where JSON knows no infinity.
    """
    if not isinstance(found, Mapping):
        return None
    tokens = found.get("content")
    if not tokens and isinstance(found.get("tokens"), list):
        names, lists = ("token", "logprob", "top_logprobs"), ("tokens", "token_logprobs", "top_logprobs")
        tokens = [dict(zip(names, values, strict=True)) for values in zip_longest(*(found.get(n) or () for n in lists))]
    if not isinstance(tokens, list) or not all(isinstance(item, Mapping) and "token" in item for item in tokens):
        return None
    found_tokens = []
    for item in tokens:
        top = item.get("top_logprobs")
        pairs: list[tuple[object, object]] = []  # of a list with an object for each, or of an object with all
        for one in top if isinstance(top, list) else [top]:
            if isinstance(one, Mapping):
                pairs += [(one["token"], one.get("logprob"))] if "token" in one else one.items()
        known = tuple((str(word), number) for word, value in pairs if (number := _finite(value)) is not None)
        number = _finite(item.get("logprob"))
        own = float("-inf") if number is None else number
        found_tokens.append(TokenLogprobs(token=str(item["token"]), logprob=own, top=known))
    return tuple(found_tokens) or None


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _citations(answer: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[WebPassage, ...]:
    """Return the sources in an answer: `search_results` or `citations` (Perplexity), or `annotations` (OpenAI)."""
    notes = message.get("annotations")
    annotations = [_mapping(note).get("url_citation") for note in notes] if isinstance(notes, list) else []
    for found in (answer.get("search_results"), answer.get("citations"), message.get("citations"), annotations):
        if not isinstance(found, list) or not any(found):
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


# reasoning

_TAGS: Final = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning)"
# Templates of Qwen, DeepSeek and Seed; Mistral; Kimi; Command A; OpenThinker; Gemma 4; gpt-oss, whose channels stick to
# the text where a server drops the special tokens around their names: "analysisWe see ... assistantfinalNo."
_BEGIN: Final = re.compile(
    rf"<{_TAGS}>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>"
    r"|<\|channel>thought\b"
    r"|\A(?-i:analysis(?=[A-Z]))",
    re.IGNORECASE,
)
_END: Final = re.compile(
    rf"</{_TAGS}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<channel\|>"
    r"|<\|channel\|>final(?:\s*<\|constrain\|>[^<]*)?<\|message\|>|(?-i:assistantfinal)",
    re.IGNORECASE,
)
_ANALYSIS: Final = re.compile(r"<\|channel\|>analysis<\|message\|>.*?<\|end\|>(?=\s*[^\s<])", re.IGNORECASE | re.DOTALL)
"""A channel of gpt-oss with the answer directly after its end; elsewhere `<|end|>` may be the end of the answer."""
_SPECIAL: Final = re.compile(r"<\|[^|]*\|>|</?s>|")
_AROUND: Final = re.compile(
    r"\A(?:\s*(?:<\|[^|<>]*\|>|<answer>))+\s*|(?<!\s)\s*+(?:(?:<\|[^|<>]*\|>|</answer>)\s*+)+\Z"
)
"""Marks around an answer: special tokens, such as `<|START_RESPONSE|>`, and the tags of models trained to use them.

Blanks are read once: a model may write thousands in a row."""
_BLANK_MARKS: Final = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # of tokenizers, for a blank and a line break


def separated(text: str) -> tuple[str, str | None]:
    r"""Return the reasoning and the answer of a reply; None for the answer if there is only reasoning.

    The answer follows the last closing tag, or is before the reasoning if nothing follows. An opening tag after it, or
    without one at the start of a line, begins reasoning that was cut off. JSON is an answer, whatever it contains.
    """
    if _is_json(text):
        return "", text
    begin = max((found.end() for pattern in (_END, _ANALYSIS) for found in pattern.finditer(text)), default=0)
    thoughts = _without_tags(text[:begin])
    opened = list(_BEGIN.finditer(text))
    for cut in (found for found in opened if found.start() >= begin):
        if begin or not text[: cut.start()].rpartition("\n")[2].strip():
            return _without_tags(f"{thoughts}\n{text[cut.end() :]}"), None
    if begin and not text[begin:].strip() and opened and (before := text[: opened[0].start()].strip()):
        return _without_tags(text[opened[0].start() :]), before
    answer = _AROUND.sub("", text[begin:])
    return thoughts, answer.lstrip() if begin else answer


def tokens_of_answer(tokens: Sequence[TokenLogprobs], answer: str) -> tuple[TokenLogprobs, ...] | None:
    r"""Return the tokens of the answer at the end of a reply with reasoning; None if they cannot be told apart.

    Servers count the tokens of the reasoning in, wherever they put its text.
    """
    rest = answer.strip()
    last = len(tokens) - 1
    while last >= 0 and _SPECIAL.fullmatch(tokens[last].token.strip()):  # the end of the turn
        last -= 1
    for at in range(last, -1, -1):
        token = tokens[at].token.translate(_BLANK_MARKS).strip()
        if not rest or not rest.endswith(token):
            return None
        rest = rest[: len(rest) - len(token)].rstrip()
        if not rest and token:
            return tuple(tokens[at : last + 1])
    return None


def _is_json(text: str) -> bool:
    try:
        return text.lstrip().startswith(("{", "[")) and load_json(text) is not None
    except ValueError:
        return False


def _without_tags(text: str) -> str:
    return _END.sub("", _BEGIN.sub("", text)).strip()


# streamed answers

_IN_PIECES: Final = ("content", "reasoning_content", "reasoning", "refusal")


def chat_of_events(content: str, where: str) -> dict[str, Any]:
    """Return the chat completion in the events of a stream; an event with an error is returned alone.

    Where a part of the reply came before, `is_begun` is added.

    Raises:
        ReplyLost: if the stream ended before the reply did.
        ValueError: if an event is not JSON.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    is_done = False
    for line in re.split(r"\r\n|\r|\n", content):  # JSON may hold other ends of lines
        name, _, data = line.partition(":")
        if name.strip() != "data" or not data.strip():
            continue
        if is_done := data.strip() == "[DONE]":
            break
        event = _mapping(parse_json(data))
        if not (event.get("choices") or event.get("usage")) and any(map(event.get, ERRORS)):
            is_begun = any(map(_mapping(choice.get("message")).get, _IN_PIECES))
            return {**event, "is_begun": True} if is_begun else dict(event)
        whole |= {field: value for field, value in event.items() if value is not None and field != "choices"}
        for part in map(_mapping, event.get("choices") or ()):
            if not part.get("index"):  # else of another choice
                choice = _with_piece(choice, part)
    if not is_done and not choice.get("finish_reason"):
        raise ReplyLost(f"{where}: the stream ended before the reply did")
    return whole | ({"choices": [choice]} if choice else {})


def _with_piece(choice: dict[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a choice with its next piece; a message with all pieces, as some servers send last, replaces them."""
    old, delta = _mapping(choice.get("message")), part.get("delta")
    new = delta or part.get("message")
    said, whole = old.get("content"), _mapping(new).get("content")
    if not delta and said and isinstance(whole, str) and whole.startswith(str(said)):
        return {**choice, **_joined({}, {**part, "message": {**old, **_mapping(new)}})}
    return _joined(choice, {**part, "message": new})  # type: ignore[no-any-return]


def _joined(old: Any, new: Any, name: str = "") -> Any:  # noqa: ANN401  # JSON values
    """Return a value with its next piece: fields and lists grow, and so do texts that are sent in pieces."""
    if isinstance(new, Mapping):
        old = _mapping(old)
        return {**old, **{key: _joined(old.get(key), each, key) for key, each in new.items() if each is not None}}
    if isinstance(old, str) and isinstance(new, list):  # a text, then parts
        old = [{"text": old}]
    if isinstance(old, list):
        return old + (new if isinstance(new, list) else [{"text": new}])
    return f"{old}{new}" if name in _IN_PIECES and isinstance(old, str) else new
