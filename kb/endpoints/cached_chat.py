"""Asking only what is not kept, and keeping what is asked: the same request to the same model is paid for once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from data.contracts import ChatModel
from data.errors import NotCached, Refused
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Meter
from kb.endpoints.reply_cache import ReplyCache, as_cached, request_key


class CachedChat:
    """Implements `ChatModel` by replies that are kept, and by another model for those that are not yet.

    Args:
        inner: the model that is asked; a `KeepingChat`, so that its replies are kept.
        cache: where replies are kept.
        offline: whether the cache alone may answer.
        meter: counts the replies that came from the cache.
    """

    def __init__(
        self, inner: ChatModel, cache: ReplyCache, *, offline: bool = False, meter: Meter | None = None
    ) -> None:
        self._inner = inner
        self._cache = cache
        self._offline = offline
        self._meter = meter or Meter()

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._inner.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the kept reply, else the model's.

        Raises:
            NotCached: offline, if it is not kept.
            Refused: if the model declines, or did before.
        """
        try:
            kept = self._cache.get(self.name, request)
        except Refused:
            self._meter.cached += 1
            raise
        if kept is not None:
            self._meter.cached += 1
            return kept
        if self._offline:
            raise NotCached(
                f"offline, and no reply of {self.name} to this request is kept", hint="run it once without --offline"
            )
        return await self._inner.reply(request)


class KeepingChat:
    """Implements `ChatModel` by another one, and keeps what it says before it is handed on.

    At most `n_at_risk` requests are on their way at once, from being asked for until their reply is on the disk. So a
    kill costs no more than these, however slow the disk is. Refusals are kept too: asked again, the model would decline
    again, and charge again. A request that is on its way already is not sent a second time: whoever asks the same waits
    for its reply, which costs nothing more. What another process asks at the same time is not known here.

    Args:
        inner: the model that is asked, one try a reply.
        cache: where replies are kept.
        n_at_risk: at most so many at once.
        meter: counts the replies that were waited for as ones from the cache.
    """

    def __init__(self, inner: ChatModel, cache: ReplyCache, *, n_at_risk: int, meter: Meter | None = None) -> None:
        self._inner = inner
        self._cache = cache
        self._n_at_risk = n_at_risk
        self._meter = meter or Meter()
        self._slots: asyncio.Semaphore | None = None
        self._on_the_way: dict[str, _OnTheWay] = {}

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._inner.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply once it is kept."""
        # In one event loop, whoever asks: slots belong to a loop, and only there nobody comes between two steps.
        return await in_background(self._reply(request))

    async def _reply(self, request: ChatRequest) -> ChatReply:
        key = request_key(self.name, request)
        asked = self._on_the_way.get(key)
        is_first = asked is None
        if asked is None:
            asked = _OnTheWay(asyncio.create_task(self._asked(request)))
            self._on_the_way[key] = asked
        asked.n_waiting += 1
        try:
            reply = await asyncio.shield(asked.task)
        finally:
            asked.n_waiting -= 1
            if self._on_the_way.get(key) is asked and (asked.task.done() or not asked.n_waiting):
                del self._on_the_way[key]
            if not asked.n_waiting and not asked.task.done():
                # Nobody wants it any more. It ends before we do: what it writes to may be closed after us.
                asked.task.cancel()
                await asyncio.wait([asked.task])
        if is_first:
            return reply
        self._meter.cached += 1
        return as_cached(reply)

    async def _asked(self, request: ChatRequest) -> ChatReply:
        if self._slots is None:
            self._slots = asyncio.Semaphore(self._n_at_risk)
        async with self._slots:
            # It may have come between the look into the cache and now.
            kept = self._cache.get(self.name, request)
            if kept is not None:
                self._meter.cached += 1
                return kept
            try:
                reply = await self._inner.reply(request)
            except Refused as error:
                await self._cache.keep(self.name, request, refusal=str(error))
                raise
            await self._cache.keep(self.name, request, reply=reply)
            return reply


@dataclass(slots=True)
class _OnTheWay:
    """A request that is being asked, and how many wait for its reply."""

    task: asyncio.Task[ChatReply]
    n_waiting: int = 0
