"""Asking a model for a reply that can be read: one that is no use is asked for once more, saying what was wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from data.contracts import ChatModel
from data.errors import MalformedAnswer, Refused
from data.records import ChatMessage, ChatReply, ChatRequest

CUT_OFF_FACTOR: Final = 4  # so many times as much room for a reply that was cut off: a thinking model thinks first

ResultT = TypeVar("ResultT")


class CountsAsking(Protocol):
    """Where it is counted what happened."""

    n_declined: int
    n_asked_again: int
    n_useless: int


async def ask_twice(
    chat: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], ResultT],
    *,
    complaint: Callable[[str], str],
    charge: Callable[[float | None], None],
    counts: CountsAsking,
) -> ResultT:
    """Return what `parse` makes of a reply, or of a second one where the first was no use.

    Args:
        chat: the model.
        request: what is asked.
        parse: raises `MalformedAnswer` where a reply is no use.
        complaint: what is wrong -> what the model is told the second time.
        charge: is told what each reply cost, of use or not.
        counts: replies that were declined, asked for again, and no use the second time either.

    Raises:
        MalformedAnswer: if the second one is no use either.
        SourceError: if the provider failed for good, or the model declined.
    """
    reply, problem = await _asked(chat, request, parse, charge, counts)
    if not isinstance(problem, MalformedAnswer):
        return problem
    counts.n_asked_again += 1
    again = ChatMessage(role="user", text=complaint(_cause(reply, problem)))
    said = ChatMessage(role="assistant", text=reply.text or "(nothing)")
    # The request differs, so that a cache does not give the same reply.
    request = replace(request, messages=(*request.messages, said, again))
    if reply.finish == "length" and request.max_tokens is not None:
        request = replace(request, max_tokens=request.max_tokens * CUT_OFF_FACTOR)
    reply, problem = await _asked(chat, request, parse, charge, counts)
    if not isinstance(problem, MalformedAnswer):
        return problem
    counts.n_useless += 1
    raise MalformedAnswer(f"{chat.name}: {_cause(reply, problem)}") from problem


async def _asked(
    chat: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], ResultT],
    charge: Callable[[float | None], None],
    counts: CountsAsking,
) -> tuple[ChatReply, ResultT | MalformedAnswer]:
    try:
        reply = await chat.reply(request)
    except Refused:
        counts.n_declined += 1
        raise
    charge(reply.cost_usd)
    try:
        return reply, parse(reply.text)
    except MalformedAnswer as error:
        return reply, error


def _cause(reply: ChatReply, problem: MalformedAnswer) -> str:
    return "it was cut off" if reply.finish == "length" else str(problem)
