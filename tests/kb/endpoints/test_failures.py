"""Errors of servers: every form of body is read, waits are found wherever they stand, hints fit."""

import json
import time
from typing import Any

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
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import error_of


def failure(status: int, body: object, base_url: str = "http://h/v1", **headers: str) -> FieldmarkError:
    content = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_of(Endpoint(model="m", base_url=base_url, api_key_env="KEY"), "", status, named, content)


def test_the_texts_of_every_form_of_error_are_read() -> None:
    raw = json.dumps({"error": {"message": "at most 1 image"}})
    for body, expected in (
        ({"error": {"message": "no", "code": 5}}, ": no"),
        ([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}], ": no"),
        ({"error": "no", "error_type": "validation"}, ": no"),
        ({"detail": "no"}, ": no"),
        ({"errors": ["no", "never"]}, ": no; never"),
        ({"detail": [{"loc": ["body", "seed"], "msg": "not permitted", "input": 1}]}, ": body.seed; not permitted"),
        ({"error": {"message": "Provider error", "metadata": {"raw": raw}}}, ": Provider error; at most 1 image"),
        ({"reply": "not now"}, ": not now"),
        ("plain text", ": plain text"),
        ("<html>\n<head><title>502 Bad\n Gateway</title></head>", ": a web page: 502 Bad Gateway"),
        ({}, ""),
    ):
        assert str(failure(422, body)) == f"m@h: 422{expected}", body


def test_the_wait_is_found_wherever_a_server_states_it() -> None:
    gemini = [{"error": {"message": "quota", "details": [{"@type": "RetryInfo", "retryDelay": "38s"}]}}]
    cases: tuple[tuple[object, dict[str, str], float | None], ...] = (
        ({}, {"retry_after": "7"}, 7.0),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9s"}}}}, {}, 9.0),
        ({}, {"retry_after_ms": "1500"}, 1.5),
        (gemini, {}, 38.0),
        ({"error": {"message": "Please try again in 7.66s."}}, {}, 7.66),
        ({"error": {"message": "Please retry in 120ms"}}, {}, 0.12),
        ({"error": {"message": "Try again in 2 minutes"}}, {}, 120.0),
        ({"error": {"message": "Please try again in 7m12.5s. Visit"}}, {}, 432.5),
        ({"message": "Please wait 43 seconds before retrying."}, {}, 43.0),
        ({"error": {"message": "Please retry after 300 milliseconds."}}, {}, 0.3),
        ({}, {"x_ratelimit_reset_requests": "1m30s", "x_ratelimit_remaining_requests": "0"}, 90.0),
        ({}, {"x_ratelimit_reset_tokens": "6m0s", "x_ratelimit_remaining_tokens": "900"}, None),
        ({}, {}, None),
    )
    for body, headers, wait_s in cases:
        found = failure(429, body, **headers)
        assert isinstance(found, RateLimited), body
        assert found.retry_after_s == wait_s, (body, headers)
    moment = failure(429, {}, x_ratelimit_reset=str(int((time.time() + 60) * 1000)))
    assert isinstance(moment, RateLimited) and 50 < (moment.retry_after_s or 0) <= 60
    assert getattr(failure(503, {"error": "busy"}, retry_after="4"), "retry_after_s", 0) == 4.0


def test_what_no_other_request_mends_is_told_apart() -> None:
    key = [{"error": {"message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}]
    cases: tuple[tuple[int, Any, type[FieldmarkError], bool, str], ...] = (
        (400, "no", BadRequest, True, ""),
        (422, "no", BadRequest, True, ""),
        (501, "no", BadRequest, True, ""),
        (500, "no", SourceError, True, ""),
        (403, "no", KeyRejected, True, "Check the key."),
        (403, "m requires moderation. Your input was flagged.", Refused, False, ""),
        (403, "Key limit exceeded (monthly limit)", SourceError, False, "no credit"),
        (401, "no", KeyRejected, False, "Check the key."),
        (400, key, KeyRejected, False, "Check the key."),
        (400, "the request exceeds the available context size", BadRequest, False, "larger context"),
        (400, "This model's maximum context length is 8 tokens", BadRequest, False, "larger context"),
        (400, "Please try again with higher max_tokens.", TooFewTokens, False, ""),
        (400, "max_tokens is higher than the model's limit of 8192 output tokens", BadRequest, True, ""),
        (400, "At most 1 image(s) may be provided in one prompt.", BadRequest, False, "--method decompose"),
        (500, "vision model only supports a single image per message", BadRequest, False, "--method decompose"),
        (500, "image input is not supported", BadRequest, False, "--mmproj"),
        (400, "messages[0]: unknown variant `image_url`, expected `text`", BadRequest, False, "--mmproj"),
        (404, "No endpoints found that support image input", BadRequest, False, "--mmproj"),
        (404, "The model `x` does not exist", BadRequest, False, "Check model."),
        (400, "Unknown model parameter 'seed'", BadRequest, True, ""),
        (400, "Your credit balance is too low", SourceError, False, "no credit"),
        (402, "Insufficient balance", SourceError, False, "no credit"),
        (429, {"error": {"code": "insufficient_quota"}}, SourceError, False, "no credit"),
        (503, {"error": {"message": "Loading model"}}, StillLoading, False, ""),
        (503, {"error": "Model a/b-7b is currently loading", "estimated_time": 20.0}, StillLoading, False, ""),
        (404, "page not found", SourceError, False, "Check base_url and model."),
        (404, "No endpoints found that can handle the requested parameters.", SourceError, True, "Check base_url"),
        (400, "Output blocked by content filtering policy", Refused, False, ""),
        (400, "Unknown parameter: 'moderation'", BadRequest, True, ""),
        (403, "<!DOCTYPE html><html><title>Attention Required!</title>", SourceError, False, "A proxy or firewall"),
        (500, "model requires more system memory (8.4 GiB) than is available", BadRequest, False, "smaller model"),
        (400, "Input is too long for requested model.", TooManyTokens, False, "larger context"),
        (429, {"error": {"type": "exceeded_current_quota_error"}}, SourceError, False, "no credit"),
        (405, "no", SourceError, False, "Check base_url and model."),
        (424, "Request failed during generation", SourceUnavailable, False, ""),
        (200, "logprobs is not supported", SourceUnavailable, True, ""),
        (302, "", SourceError, False, "final address"),
        (999, "no", SourceUnavailable, False, ""),
        (503, "content_filter is temporarily unavailable", SourceUnavailable, False, ""),
        (500, {"error": {"code": "content_filter", "message": "no"}}, Refused, False, ""),
        (500, "try again in 5s, without 429", SourceUnavailable, True, ""),
    )
    for status, body, kind, may_adapt, hint in cases:
        found = failure(status, body)
        assert isinstance(found, kind), (status, body, found)
        assert getattr(found, "may_adapt", False) is may_adapt, (status, body)
        assert hint in (found.hint or ""), (status, body)
    assert str(failure(403, "no logprobs")) == "m@h: 403: API key in KEY rejected (no logprobs)"
    assert "set base_url to http://h:1234/v1" in (failure(404, "no", "http://h:1234").hint or "")
