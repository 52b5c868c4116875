"""Errors of endpoints as `data.errors`: what may be tried again and when, in another form, or not at all.

The words of an error choose its message, a wait or a stop; they never choose the form of the next try.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from data.codec import parse_json
from data.errors import (
    BadRequest,
    FieldmarkError,
    KeyRejected,
    RateLimited,
    Refused,
    SourceError,
    SourceUnavailable,
    StillLoading,
    TooFewTokens,
    TooManyTokens,
)
from kb.addresses import parse_retry_after
from kb.endpoints.endpoint import Endpoint

_TEXTS: Final = ("message", "msg", "detail", "error", "errors", "error_description", "raw", "loc", "")
ERRORS: Final = ("error", "errors", "detail", "message", "msg", "base_resp")
"""Fields of an answer with status 200 and without contents that tell an error."""
_CODES: Final = ("code", "type", "error_type", "status", "reason", "param")
_ANY: Final = range(200, 1000)  # some proxies send statuses from 600
_PAY: Final = {"hint": "The account has no credit left; replies so far are cached."}
_CONTEXT_HINT: Final = "Give the server a larger context, or use a model that has one."
_ONE_IMAGE_HINT: Final = (
    "The model takes one image per prompt. These send one: kb rerank --method decompose, and --method cotrr with --set "
    "cotrr.form=staged --set cotrr.stages=full. Of vLLM, --limit-mm-per-prompt allows more."
)
_NO_IMAGES_HINT: Final = "Use a model that sees images; of llama.cpp, start the server with --mmproj."
_ADDRESS: Final = "Check base_url and model."
_REDIRECT_HINT: Final = "Redirects are not followed. Set base_url to the final address."
_PAGE: Final = re.compile(r"\s*<(?:!doctype html|html|!--)(?:.*?<title[^>]*>\s*([^<]*))?", re.IGNORECASE | re.DOTALL)
_PAGE_HINT: Final = "A proxy or firewall answered, not the model server. Check base_url and HTTPS_PROXY."

_RULES: Final[tuple[tuple[Collection[int], str, type[FieldmarkError], dict[str, Any]], ...]] = (
    # Among the codes alone: a text may say that the filter is down, and refusals are stored.
    (_ANY, r"\A.*\b(?:content_filter\w*|content_policy_violation|moderation_blocked|responsible_?ai\w*)\b",
     Refused, {}),
    # Of requests that are refused: elsewhere these words are of waits, lengths and settings.
    ((400, 403, 422, 451),
     r"content[ _-](?:filter|policy|management policy|moderation)|content exists risk|considered high risk"
     r"|data_inspection_failed|inappropriate content|requires moderation|\bflagged\b"
     r"|(?:blocked|filtered|rejected) .{0,40}(?:safety|guardrail|moderation)", Refused, {}),
    ((403,), "moderation", Refused, {}),
    ((403,), r"\b(?:limit|quota|credits?)\b", SourceError, _PAY),
    ((403,), r"\na web page\b", SourceError, {"hint": _PAGE_HINT}),
    ((401,), "", KeyRejected, {}),
    ((403,), "", KeyRejected, {"may_adapt": True}),
    ((200, 400), r"api[ _-]?key[ _]?(?:is )?(?:not valid|invalid|incorrect|missing)|(?:invalid|incorrect) api[ _-]?key",
     KeyRejected, {}),
    ((402,), "", SourceError, _PAY),
    (_ANY, r"insufficient[ _](?:quota|balance|credits?|funds)|out of credits|billing hard limit"
     r"|credit balance is too low|\bexceeded_current_quota", SourceError, _PAY),
    ((429,), "", RateLimited, {}),
    (_ANY, r"\A429\b", RateLimited, {}),
    ((200,), "rate_limit_exceeded", RateLimited, {}),
    (_ANY, r"(?:try again with|please (?:use|set)) (?:a )?(?:higher|larger)\b.{0,20}tokens"
     r"|(?:increase|raise) (?:the )?max_|model output limit was reached", TooFewTokens, {}),
    # Errors that no other form and no other try mends, whatever their status.
    (_ANY, r"context[ _-]?(?:length|size|window)|exceed_context|maximum.{0,20}tokens|(?:prompt|input) is too long"
     r"|too many (?:input )?tokens", TooManyTokens, {"hint": _CONTEXT_HINT}),
    (_ANY, r"at most (?:1|one) image|only (?:supports )?(?:1|one|a single) image"
     r"|multiple images (?:are )?not supported", BadRequest, {"hint": _ONE_IMAGE_HINT}),
    (_ANY, r"image input is not supported"
     r"|(?:does not|doesn't|cannot) (?:support|accept|handle) (?:image|vision|multimodal)|no mmproj"
     r"|not a (?:multimodal|vision)|image_url.{0,40}(?:not supported|unsupported)|unknown variant .image_url"
     r"|no endpoints found that support image", BadRequest, {"hint": _NO_IMAGES_HINT}),
    (_ANY, r"(?:invalid|unknown|no such) model(?! param)"
     r"|model(?:(?!param).){0,80}(?:not found|does not exist|not exist)", BadRequest, {"hint": "Check model."}),
    (_ANY, r"more system memory", BadRequest, {"hint": "Use a smaller model, or a machine with more memory."}),
    ((200, 503), r"loading model|model\b.{0,100} is (?:currently )?loading|loading the model"
     r"|model.{0,20}not (?:yet )?ready", StillLoading, {}),
    ((408, 409, 424, 425, 498, *range(502, 1000)), "", SourceUnavailable, {}),
    ((500,), "", SourceUnavailable, {"may_adapt": True}),
    (range(300, 400), "", SourceError, {"hint": _REDIRECT_HINT}),
    ((413,), "", BadRequest, {}),
    ((400, 422, 501), "", BadRequest, {"may_adapt": True}),
    (_ANY, r"unexpected endpoint|page not found|no such endpoint|unknown (?:path|url|route)",
     SourceError, {"hint": _ADDRESS}),
    ((404,), "", SourceError, {"hint": _ADDRESS, "may_adapt": True}),  # perhaps no provider takes all parts
    ((405,), "", SourceError, {"hint": _ADDRESS}),
    ((200,), "", SourceUnavailable, {"may_adapt": True}),
    (_ANY, "", SourceError, {}),
)  # fmt: skip
"""Statuses, words in the codes (the first line) or texts, and the error that they are, with its arguments.

The first rule that fits holds."""
_WAIT: Final = re.compile(
    r"(?:try again|retry|please wait)(?: after| in| for)?:? (\d[\d.hms]*(?: ?(?:ms|mi|s|h)[a-z]*)?)", re.IGNORECASE
)
_DURATION: Final = re.compile(
    r"(?:(\d+) ?h[a-z]*)?(?:(\d+) ?m(?:in[a-z]*)?(?![a-z]))?(?:(\d+(?:\.\d+)?) ?(ms|milli[a-z]*|s[a-z]*)?)?"
)
_EPOCH_S: Final = 1e9  # larger numbers are moments, not durations


def error_of(endpoint: Endpoint, key: str, status: int, headers: Mapping[str, str], body: object) -> FieldmarkError:
    """Return the error for an HTTP status other than 2xx, or in an answer with status 200.

    Args:
        endpoint: model, provider and address.
        key: the API key, masked in the message, since some servers repeat it.
        status: the HTTP status; instead of 200, the one that the answer states holds.
        headers: response headers, names in lower case.
        body: the answer, JSON of any form or a text.
    """
    page = _PAGE.match(body) if isinstance(body, str) else None
    values = _values(f"a web page: {page[1] or 'without a title'}" if page else body)
    texts = _texts(values)
    # Masked before it is shortened: half a key would slip through.
    message = shortened("; ".join(shortened(without_key(text, key)) for text in texts))
    codes = [str(value) for name, value in values if name in _CODES]
    if status == 200:
        status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), 200)
    told, where = f"{' '.join(codes)}\n{' '.join(texts)}", endpoint.address
    kind, more = next(
        (kind, more)
        for statuses, words, kind, more in _RULES
        if status in statuses and re.search(words, told, re.IGNORECASE)
    )
    text = f"{where}: {status}" + (f": {message}" if message else "")
    if kind is KeyRejected:
        # Providers quote the key here, in part or whole, so their message is left out, except for 403.
        given = f"API key in {endpoint.api_key_env} rejected" if endpoint.api_key_env else "API key required"
        hint = "Check the key." if endpoint.api_key_env else "Set api_key_env to the environment variable with the key."
        said = f" ({message})" if status == 403 and message else ""
        return KeyRejected(f"{where}: {status}: {given}{said}", hint=hint, **more)
    wait_s = _wait_s(status, headers, values, told)
    is_wait = (kind is SourceUnavailable and not more) or (more is _PAY and status == 429)
    if kind is RateLimited or (wait_s is not None and is_wait):
        return RateLimited(text, retry_after_s=wait_s)
    if more.get("hint") == _ADDRESS and not re.search(r"/v\d", endpoint.base_url):
        more = more | {"hint": f"Most servers answer under /v1: set base_url to {endpoint.base_url.rstrip('/')}/v1."}
    return kind(text, **more)


Values = list[tuple[str, object]]


def _values(body: object) -> Values:
    """Return the texts and numbers in an error body of any form with their names, outermost first.

    Errors are lists, objects in objects, texts, or JSON in a text.
    """

    def found(name: str, value: object, depth: int) -> Iterator[tuple[int, str, object]]:
        if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
            with suppress(ValueError):
                value = parse_json(value)
        if name == "loc" and isinstance(value, list):
            value = ".".join(map(str, value))
        if isinstance(value, Mapping | list):
            inner = value.items() if isinstance(value, Mapping) else ((name, each) for each in value)
            for each_name, each in inner:
                yield from found(each_name, each, depth + 1)
        elif value is not None and not isinstance(value, bool):
            yield depth, name, value

    return [(name, value) for _, name, value in sorted(found("", body, 0), key=lambda each: each[0])]


def _texts(values: Values) -> list[str]:
    """Return the messages among the values of an error, each once; all of its texts if none has a known name."""
    texts = [(name, value.strip()) for name, value in values if isinstance(value, str) and value.strip()]
    return list(dict.fromkeys([text for name, text in texts if name in _TEXTS] or [text for _, text in texts]))


def _wait_s(status: int, headers: Mapping[str, str], values: Values, told: str) -> float | None:
    """Return the seconds that a server asks to wait, in headers or in its body; None if it does not."""
    known = {name.lower().replace("_", "-"): str(value) for name, value in values} | dict(headers)
    stated = _WAIT.search(told)
    found = [
        parse_retry_after(known.get("retry-after")),
        _duration_s(f"{known.get('retry-after-ms', '')} ms"),
        _duration_s(known.get("retrydelay")),
        _duration_s(stated[1].rstrip(".") if stated else None),
    ]
    if status == 429 and found == [None] * len(found):
        for name, value in known.items():
            left = known.get(name.replace("reset", "remaining"), "0")
            if name.startswith("x-ratelimit-reset") and left in ("0", "0.0"):
                found.append(_duration_s(value))
    return max((each for each in found if each is not None), default=None)


def _duration_s(value: str | None) -> float | None:
    """Return the seconds of `7.66s`, `120 ms`, `6m0s`, `2 minutes`, a number of seconds, or the moment of a clock."""
    text = (value or "").strip().lower()
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        return None
    hours, minutes, amount, unit = match.groups()
    if unit is None and amount and float(amount) > _EPOCH_S:
        moment = float(amount) / (1000 if float(amount) > 1000 * _EPOCH_S else 1)
        return max(0.0, moment - time.time())
    seconds = float(amount or 0) / (1000 if (unit or "").startswith("m") else 1)
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + seconds


def shortened(value: object, limit: int = 200) -> str:
    """Return an external text as one line of at most `limit` characters, for error messages."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def without_key(text: str, key: str) -> str:
    """Return a server's text with the API key masked."""
    return text.replace(key, "***") if key else text
