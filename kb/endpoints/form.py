"""Forms of a request: optional parts that servers refuse, and the least change with which a server takes a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from data.errors import FieldmarkError
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint

JsonForm = Literal["schema", "plain schema", "object", "text"]
JSON_FORMS: Final[tuple[JsonForm, ...]] = ("schema", "plain schema", "object", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The optional parts that a server takes; by default all, in the form that the methods ask for."""

    json: JsonForm = "schema"
    """`plain schema`: without limits of numbers and lists; `object`: `json_object`; `text`: described in words."""
    logprobs: int | None = None
    """Most alternatives per token; 0 asks for no log-probabilities."""
    seed: bool = True
    temperature: bool = True
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: bool = True
    """Whether `reasoning_effort` is sent."""
    system: bool = True
    """Whether there may be system messages; if not, they are part of the next message of the user."""
    neighbours: bool = True
    """Whether messages of one role may follow each other; if not, they are joined."""
    stream: bool = False
    stream_usage: bool = True
    """Whether a streamed answer is asked for its tokens."""


Rung = tuple[str, object]
"""A field of the form, and its new value."""
Attempt = Callable[[Form], Awaitable[ChatReply | None]]
"""Asks in a form; None if the server refuses it."""


def rungs(form: Form, request: ChatRequest, endpoint: Endpoint) -> Iterator[Rung]:
    """Yield the changes of the optional parts that a request has in a form, in the order in which they are tried."""
    roles = [message.role for message in request.messages]
    if request.json_schema is not None:
        yield from (("json", each) for each in JSON_FORMS[JSON_FORMS.index(form.json) + 1 :])
    asked = min(request.top_logprobs or 0, request.top_logprobs or 0 if form.logprobs is None else form.logprobs)
    yield from (("logprobs", n) for n in (5, 0) if n < asked)
    if request.seed is not None and form.seed:
        yield "seed", False
    if request.temperature is not None and form.temperature:
        yield "temperature", False
    if request.max_tokens is not None and form.tokens == "max_tokens":
        yield "tokens", "max_completion_tokens"  # never without a limit: the cost would have none
    if endpoint.reasoning_effort is not None and form.effort:
        yield "effort", False
    if "system" in roles and form.system and endpoint.system_role != "user":
        yield "system", False
    has_neighbours = any(one == other for one, other in pairwise(roles)) or "system" in roles
    if has_neighbours and form.neighbours and not request.in_one:
        yield "neighbours", False
    if not form.stream:
        yield "stream", True
    if form.stream_usage:
        yield "stream_usage", False


def changed(form: Form, *changes: Rung) -> Form:
    """Return a form with some fields changed."""
    return replace(form, **dict(changes))  # type: ignore[arg-type]


async def least_change(form: Form, ladder: list[Rung], attempt: Attempt) -> tuple[Form, ChatReply, bool] | None:
    """Return the form nearest to `form` that the server takes, its reply, and whether that is sure; None without one.

    The parts go one after the other until the server answers. What went before the last may not have been needed, so
    each is tried again, all of them first. Then `form` is: if the server takes it now, it was refused by accident. A
    failure of another kind, such as a busy server, ends this without losing the reply, which is paid for.
    """
    for n in range(1, len(ladder) + 1):
        reached = changed(form, *ladder[:n])
        reply = await attempt(reached)
        if reply is not None:
            break
    else:
        return None
    last = ladder[n - 1]
    others = [rung for rung in ladder[:n] if rung[0] != last[0]]
    try:
        return *await _nearest(form, last, others, (reached, reply), attempt), True
    except FieldmarkError:
        return reached, reply, False


async def _nearest(
    form: Form, last: Rung, others: list[Rung], found: tuple[Form, ChatReply], attempt: Attempt
) -> tuple[Form, ChatReply]:
    """Return the form nearest to `form` and its reply, from the first one found: `last` went last, `others` before."""
    reached, reply = found
    if others and (again := await attempt(alone := changed(form, last))) is not None:
        reached, reply, others = alone, again, []
    for other in dict.fromkeys(field for field, _ in others):
        for better in (getattr(form, other), *(value for field, value in others if field == other)):
            tried = changed(reached, (other, better))
            if tried == reached:
                break
            if (again := await attempt(tried)) is not None:
                reached, reply = tried, again
                break
    if (again := await attempt(form)) is not None:
        return form, again
    return reached, reply
