"""Requests whose reply must be usable: an unusable reply is requested once more, with the problem stated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from data.contracts import ChatModel
from data.errors import MalformedAnswer, Refused
from data.records import ChatMessage, ChatReply, ChatRequest
from rerank.cotrr.tally import CotrrTally

CUT_OFF_FACTOR: Final = 4  # more room for a reply that was cut off: a model with reasoning writes that first

ResultT = TypeVar("ResultT")


async def ask_with_retry(
    chat: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], ResultT],
    *,
    complaint: Callable[[str], str],
    charge: Callable[[float | None], None],
    tally: CotrrTally,
) -> ResultT:
    """Return the parsed reply, or the parsed second reply where the first was unusable.

    Args:
        chat: the model.
        request: the request.
        parse: parses a reply, raises `MalformedAnswer` for an unusable one.
        complaint: turns a problem into the message of the second request.
        charge: receives the cost of each reply in US dollars, usable or not.
        tally: counts refused, retried and unusable replies.

    Raises:
        MalformedAnswer: if the second reply is unusable too.
        SourceError: if the provider failed for good, or the model refused.
    """
    reply, result = await _ask(chat, request, parse, charge, tally)
    if not isinstance(result, MalformedAnswer):
        return result
    tally.n_retried += 1
    again = ChatMessage(role="user", text=complaint(_problem(reply, result)))
    previous = ChatMessage(role="assistant", text=reply.text or "(nothing)")
    # The request differs, so that a cache does not return the same reply.
    request = replace(request, messages=(*request.messages, previous, again))
    if reply.finish == "length" and request.max_tokens is not None:
        request = replace(request, max_tokens=request.max_tokens * CUT_OFF_FACTOR)
    reply, result = await _ask(chat, request, parse, charge, tally)
    if not isinstance(result, MalformedAnswer):
        return result
    tally.n_unusable += 1
    raise MalformedAnswer(f"{chat.name}: {_problem(reply, result)}") from result


async def _ask(
    chat: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], ResultT],
    charge: Callable[[float | None], None],
    tally: CotrrTally,
) -> tuple[ChatReply, ResultT | MalformedAnswer]:
    try:
        reply = await chat.reply(request)
    except Refused:
        tally.n_refused += 1
        raise
    charge(reply.cost_usd)
    try:
        return reply, parse(reply.text)
    except MalformedAnswer as error:
        return reply, error


def _problem(reply: ChatReply, problem: MalformedAnswer) -> str:
    return "it was cut off" if reply.finish == "length" else str(problem)
