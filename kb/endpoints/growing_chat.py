"""Replies that were cut off: asked for again with more tokens, and never passed on."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from typing import Final

from data.contracts import ChatModel
from data.errors import BadRequest, CutOff
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Meter
from kb.endpoints.reply_cache import ReplyCache

ROOMS: Final = (2_048, 8_192, 32_768)
"""Tokens beside those of the first try, in the order tried: models that reason first need hundreds to thousands."""

_LOG: Final = logging.getLogger(__name__)


class GrowingChat:
    """A `ChatModel` that asks with more tokens where a reply is cut off, and with fewer where the server refuses them.

    Later requests begin with the tokens that were needed or allowed beside their own. Each try is charged; the reply
    has the tokens and the cost of all of them.

    Args:
        inner: the model.
        first: tokens of the first try, where a request asks for fewer.
        cache: remembers the tokens of replies that were cut off, so that no later run tries fewer.
        meter: counts replies that were cut off.
        warns: whether the first one is logged.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        first: int | None = None,
        cache: ReplyCache | None = None,
        meter: Meter | None = None,
        warns: bool = True,
    ) -> None:
        self._inner = inner
        self.name = inner.name
        self._first = first or 0
        self._cache = cache
        self._meter = meter or Meter()
        self._room = 0
        """Tokens that later requests begin with, beside those of a first try; below 0 if the server refuses `first`."""
        self._has_warned = not warns

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the complete reply.

        Raises:
            CutOff: if it is still cut off with the most tokens.
            BadRequest: if the server refuses the request with the fewest, too.
        """
        limits = self.limits(request)
        first, least = limits[0], request.max_tokens or 1
        cut_at = self._cache.cut_off_at(self.name, request) if self._cache is not None else 0
        limits = [limit for limit in limits if (limit or 0) > cut_at] or limits[-1:]
        reply: ChatReply | None = None  # with the tokens and cost of all tries
        refused: BadRequest | None = None
        while limits:
            limit = limits.pop(0)
            try:
                reply = _added(reply, await self._inner.reply(replace(request, max_tokens=limit)))
            except BadRequest as error:  # perhaps for its tokens: every server has its own words for that
                if limit is None or limit <= least:
                    if first != limit:
                        error.hint = f"{least:,} tokens for the reply are refused, too."
                    raise
                fewer = max(limit // 2, least)
                refused, limits = error, [fewer] if fewer > cut_at else []
                continue
            if is_complete(reply, request):
                self._learn(request, first, limit)
                return reply
            self._meter.cut_off += 1
            if limit is not None:
                cut_at = limit
                if self._cache is not None:
                    await asyncio.to_thread(self._cache.store_cut_off, self.name, request, limit)
            if limits:
                self._warn(reply, limit)
        raise self._cut_off(reply, cut_at, is_refused=refused is not None) from refused

    def limits(self, request: ChatRequest) -> list[int | None]:
        """Return the tokens of the tries in turn; None leaves them to the server."""
        if request.max_tokens is None and not self._first:
            return [None]
        start = self._start(request)
        first = max(request.max_tokens or 1, start + self._room)
        return [first, *(start + room for room in ROOMS if room >= min(start, ROOMS[-1]) and start + room > first)]

    def _start(self, request: ChatRequest) -> int:
        return max(request.max_tokens or 0, self._first)

    def _learn(self, request: ChatRequest, first: int | None, limit: int | None) -> None:
        if limit is not None and first is not None and limit != first:
            choose = max if limit > first else min
            self._room = choose(self._room, limit - self._start(request))

    def _warn(self, reply: ChatReply, limit: int | None) -> None:
        if not self._has_warned:
            self._has_warned = True
            what = "reasons before it answers" if reply.reasons else "needs more"
            _LOG.warning(
                "%s %s: %s tokens were too few, so its replies get more (kb doctor suggests settings)",
                self.name, what, limit,
            )  # fmt: skip

    def _cut_off(self, reply: ChatReply | None, limit: int, *, is_refused: bool) -> CutOff:
        reply = reply or ChatReply(text="", model=self.name, cost_usd=0.0)
        at = f"at {limit:,} tokens" if limit else "by the server"
        where = "in its reasoning" if reply.reasons and not reply.text else "in its answer"
        more = ", and the server allows no more" if is_refused else ""
        return CutOff(
            f"{self.name}: the reply was cut off {at}, {where}{more}",
            hint="Set max_tokens, reasoning_effort or extra_body of the model; kb doctor suggests values.",
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost_usd=reply.cost_usd,
        )


def is_complete(reply: ChatReply, request: ChatRequest) -> bool:
    """Return whether a reply ended by itself, or begins with all that the request needs."""
    if reply.finish == "stop":
        return True
    first = re.match(r"\W*(\w+)\b", reply.text)
    return first is not None and first[1].lower() in request.first_words


def _added(earlier: ChatReply | None, reply: ChatReply) -> ChatReply:
    """Return a reply with the tokens and cost of the tries before it."""
    if earlier is None:
        return reply
    costs = (earlier.cost_usd, reply.cost_usd)
    return replace(
        reply,
        input_tokens=earlier.input_tokens + reply.input_tokens,
        output_tokens=earlier.output_tokens + reply.output_tokens,
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )
