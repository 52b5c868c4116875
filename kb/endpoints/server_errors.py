"""Errors of endpoints as `data.errors`, so that callers know what to retry and what may have cost money."""

from __future__ import annotations

import re
from collections.abc import Mapping

from data.errors import (
    BadRequest,
    FieldmarkError,
    MalformedAnswer,
    MissingRequirement,
    RateLimited,
    Refused,
    SourceError,
    SourceUnavailable,
    UnsupportedParameter,
)
from kb.endpoints.payload import OPTIONAL, shortened
from kb.http import parse_retry_after

_REJECTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|not allowed|unexpected|extra (?:inputs|fields)"
    r"|deprecated|only 1 is allowed|may only be set to 1\b",
    re.I,
)
# Of chat templates: the first one may name system messages too.
_ROLES = (
    (
        re.compile(r"(?:must|should)(?: be)? alternat|alternating roles|consecutive (?:user|message)", re.I),
        "consecutive messages",
    ),
    (
        re.compile(
            r"system (?:role|messages?|prompts?)\b.{0,60}(?:not support|unsupported|not allowed|must be|beginning)"
            r"|(?:unsupported|unknown|invalid|unexpected) (?:message )?role.{0,20}system"
            r"|only user and assistant roles",
            re.I,
        ),
        "system messages",
    ),
)
_REFUSALS = ("content_filter", "content_policy_violation", "moderation_blocked")


def status_error(
    where: str, status: int, headers: Mapping[str, str], body: object, *, key: str, key_name: str | None
) -> FieldmarkError:
    """Return the error for an HTTP status other than 2xx.

    Args:
        where: model and provider.
        status: the HTTP status.
        headers: response headers, names in lower case.
        body: parsed JSON, else the text.
        key: the API key, masked in the message, since some servers repeat it.
        key_name: the environment variable of the key.
    """
    code, message, parameter = _details(body, key)
    text = f"{where}: {status}" + (f": {message}" if message else "")
    if code in _REFUSALS:
        return Refused(text)
    if status in (401, 403):
        # Providers quote the key here, in part or whole, so their message is left out.
        given = f"API key in {key_name} rejected" if key_name else "API key required"
        hint = "Check the key." if key_name else "Set api_key_env to the environment variable with the key."
        return MissingRequirement(f"{where}: {status}: {given}", hint=hint)
    if status == 429:
        if code == "insufficient_quota":
            return SourceError(text, hint="The account has no credit left; replies so far are cached.")
        return RateLimited(text, retry_after_s=_retry_after_s(headers))
    if status in (400, 422, 500):
        for pattern, name in _ROLES:
            if pattern.search(message):
                return UnsupportedParameter(text, name)
    if status in (408, 409) or status >= 500:
        # 503 may carry a Retry-After too.
        wait_s = _retry_after_s(headers)
        return RateLimited(text, retry_after_s=wait_s) if wait_s is not None else SourceUnavailable(text)
    # "max_tokens is too large" names a parameter too, but without it there is no cost limit.
    if status in (400, 422) and _REJECTED.search(f"{code} {message}"):
        for name in OPTIONAL:
            if parameter == name or (parameter is None and name in message):
                return UnsupportedParameter(text, name)
    if 300 <= status < 400:
        return SourceError(text, hint="Redirects are not followed. Set base_url to the final address.")
    if status in (400, 413, 422):
        return BadRequest(text)
    return SourceError(text, hint="Check base_url and model." if status == 404 else None)


def error_in_answer(where: str, answer: object, *, key: str) -> FieldmarkError | None:
    """Return the error in an answer with status 200, or None if it is not an error."""
    if not isinstance(answer, Mapping) or "error" not in answer or "choices" in answer:
        return None
    code, message, _ = _details(answer, key)
    text = f"{where}: {message}"
    if code in _REFUSALS:
        return Refused(text)
    if code in ("429", "rate_limit_exceeded"):
        return RateLimited(text)
    return SourceUnavailable(text) if code.startswith("5") else MalformedAnswer(text)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) < 12:
        return int(milliseconds) / 1000
    return parse_retry_after(headers.get("retry-after"))


def _details(body: object, key: str) -> tuple[str, str, str | None]:
    """Return code, message and parameter of an error body, with the key masked."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", shortened(without_key(str(error or ""), key)), None
    parameter = error.get("param")
    # Masked before it is shortened: half a key would slip through.
    message = shortened(without_key(str(error.get("message") or ""), key))
    return without_key(str(error.get("code") or ""), key), message, parameter if parameter else None


def without_key(text: str, key: str) -> str:
    """Return a server's text with the API key masked."""
    return text.replace(key, "***") if key else text
