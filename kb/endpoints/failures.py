"""What goes wrong at an endpoint, as errors of ours: what may be tried again, what may have been paid for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from data.errors import (
    FieldmarkError,
    MalformedAnswer,
    MissingRequirement,
    ParameterNotTaken,
    RateLimited,
    Refused,
    SourceError,
    SourceUnavailable,
)
from kb.endpoints.payload import OPTIONAL, shortened
from kb.retry_after import parse_retry_after

_NOT_TAKEN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|not allowed|unexpected|extra (?:inputs|fields)",
    re.I,
)
_REFUSALS = ("content_filter", "content_policy_violation", "moderation_blocked")


def status_error(
    where: str, status: int, headers: Mapping[str, str], body: object, *, key: str, key_name: str | None
) -> FieldmarkError:
    """Return the error for an answer with a status that is not 2xx.

    Args:
        where: model and provider.
        status: the HTTP status.
        headers: of the answer, names in small letters.
        body: parsed JSON, or the text where it is none.
        key: the API key, which some servers repeat; it is taken out of the message.
        key_name: the variable that the key comes from.
    """
    code, message, parameter = _details(body, key)
    said = f"{where}: {status}" + (f": {message}" if message else "")
    if code in _REFUSALS:
        return Refused(said)
    if status in (401, 403):
        # Providers quote the key here, cut short or whole; so they are not quoted.
        given = f"the key in {key_name}" if key_name else "requests without a key"
        hint = "check the key" if key_name else "name the variable that holds the key: api_key_env"
        return MissingRequirement(f"{where}: {status}: {given} not accepted", hint=hint)
    if status == 429:
        if code == "insufficient_quota":
            return SourceError(said, hint="the account is used up; what was paid for is kept")
        return RateLimited(said, retry_after_s=_retry_after_s(headers))
    if status in (408, 409) or status >= 500:
        # 503 may come with a wish as well.
        wish = _retry_after_s(headers)
        return RateLimited(said, retry_after_s=wish) if wish is not None else SourceUnavailable(said)
    # "max_tokens is too large" names a parameter too, and leaving that out would take the limit of cost away.
    if status in (400, 422) and _NOT_TAKEN.search(f"{code} {message}"):
        for name in OPTIONAL:
            if parameter == name or (parameter is None and name in message):
                return ParameterNotTaken(said, name)
    if 300 <= status < 400:
        return SourceError(said, hint="base_url must be the address itself, redirects are not followed")
    return SourceError(said, hint="check base_url and model" if status == 404 else None)


def error_in_answer(where: str, answer: object, *, key: str) -> FieldmarkError | None:
    """Return the error that some servers send with status 200, or None if the answer is none."""
    if not isinstance(answer, Mapping) or "error" not in answer or "choices" in answer:
        return None
    code, message, _ = _details(answer, key)
    said = f"{where}: {message}"
    if code in _REFUSALS:
        return Refused(said)
    if code in ("429", "rate_limit_exceeded"):
        return RateLimited(said)
    return SourceUnavailable(said) if code.startswith("5") else MalformedAnswer(said)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isascii() and milliseconds.isdigit():
        return int(milliseconds) / 1000
    value = headers.get("retry-after")
    try:
        seconds = float(value or "")
    except ValueError:
        return parse_retry_after(value)
    return seconds if 0 <= seconds < float("inf") else None


def _details(body: object, key: str) -> tuple[str, str, str | None]:
    """Return code, message and parameter out of the body of an error, without the key."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", shortened(without_key(str(error or ""), key)), None
    parameter = error.get("param")
    # Masked before it is cut: half a key would pass.
    message = shortened(without_key(str(error.get("message") or ""), key))
    return str(error.get("code") or ""), message, parameter if parameter else None


def without_key(text: str, key: str) -> str:
    """Return a text of the server's with the API key masked, if the server repeats it."""
    return text.replace(key, "***") if key else text
