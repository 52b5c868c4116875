"""Replies that were cut off: asked for again with more tokens, and never passed on."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import Final

from data.contracts import ChatModel
from data.errors import CutOff, SourceError
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Meter

ROOMS: Final = (0, 2_048, 8_192, 32_768)
"""Tokens beside those of the request, in the order tried: models that reason first need hundreds to thousands."""

_LOG: Final = logging.getLogger(__name__)


class GrowingChat:
    """A `ChatModel` that asks again with more tokens where a reply is cut off.

    After a reply with reasoning, all later requests begin with the tokens that it needed. Each try is charged; the
    reply has the tokens and the cost of all of them.

    Args:
        inner: the model.
        max_tokens: tokens of every reply, or of the request if these are more; none is asked for again.
        meter: counts replies that were cut off.
        warns: whether the first one is logged.
    """

    def __init__(
        self, inner: ChatModel, *, max_tokens: int | None = None, meter: Meter | None = None, warns: bool = True
    ) -> None:
        self._inner = inner
        self.name = inner.name
        self._max_tokens = max_tokens
        self._meter = meter or Meter()
        self._first = 0
        """Position in `ROOMS` of the first try."""
        self._has_warned = not warns

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the complete reply.

        Raises:
            CutOff: if it is still cut off with the most tokens.
        """
        first = self._first
        tried: list[ChatReply] = []
        limits = self._limits(request, first)
        for place, limit in enumerate(limits, start=first):
            try:
                tried.append(await self._inner.reply(replace(request, max_tokens=limit)))
            except SourceError as error:
                if tried and not error.retryable:  # it does not allow more
                    raise self._cut_off(tried[-1], limits[len(tried) - 1]) from error
                raise
            if is_complete(tried[-1], request):
                if tried[-1].reasoning:
                    self._first = max(self._first, place)
                return _with_all(tried)
            self._meter.cut_off += 1
            if limit != limits[-1] and not self._has_warned:
                self._has_warned = True
                what = "reasons before it answers" if tried[-1].reasoning else "needs more"
                _LOG.warning(
                    "%s %s: %s tokens were too few, so its replies get more (kb doctor suggests settings)",
                    self.name, what, limit,
                )  # fmt: skip
        raise self._cut_off(tried[-1], limits[-1])

    def _limits(self, request: ChatRequest, first: int) -> list[int | None]:
        asked = request.max_tokens
        if self._max_tokens is not None:
            return [max(asked or 0, self._max_tokens)]
        return [None] if asked is None else [asked + room for room in ROOMS[first:]]

    def _cut_off(self, reply: ChatReply, limit: int | None) -> CutOff:
        at = "by the server" if limit is None else f"at {limit:,} tokens"
        where = "in its reasoning" if reply.reasoning and not reply.text else "in its answer"
        return CutOff(
            f"{self.name}: the reply was cut off {at}, {where}",
            hint="Set max_tokens, reasoning_effort or extra_body of the model; kb doctor suggests values.",
        )


def is_complete(reply: ChatReply, request: ChatRequest) -> bool:
    """Return whether a reply ended by itself, or begins with all that the request needs."""
    if reply.finish == "stop":
        return True
    first = re.match(r"\W*(\w+)\b", reply.text)
    return first is not None and first[1].lower() in request.first_words


def _with_all(tried: list[ChatReply]) -> ChatReply:
    """Return the last reply with the tokens and cost of all tries."""
    costs = [reply.cost_usd for reply in tried]
    return replace(
        tried[-1],
        input_tokens=sum(reply.input_tokens for reply in tried),
        output_tokens=sum(reply.output_tokens for reply in tried),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )
