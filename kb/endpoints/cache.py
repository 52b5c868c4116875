"""Chat models with a reply cache: the same request to the same model is paid for once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from data.contracts import ChatModel
from data.errors import NotCached, Refused
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Meter
from kb.endpoints.reply_cache import ReplyCache, as_cached, request_key


class CacheReader:
    """A `ChatModel` that answers from the cache, and asks the inner model for the rest.

    Args:
        inner: the model; with a `CacheWriter` in it, so that its replies are stored.
        cache: the stored replies.
        offline: only the cache may answer.
        meter: counts replies from the cache.
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
        """Name of the inner model."""
        return self._inner.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the cached reply, else the model's.

        Raises:
            NotCached: if it is offline and the reply is not cached.
            Refused: if the model declines, or declined before.
        """
        try:
            cached = self._cache.get(self.name, request)
        except Refused:
            self._meter.cached += 1
            raise
        if cached is not None:
            self._meter.cached += 1
            return cached
        if self._offline:
            raise NotCached(f"no cached reply of {self.name} to this request", hint="run once without --offline")
        return await self._inner.reply(request)


class CacheWriter:
    """A `ChatModel` that stores each reply of the inner model in the cache before returning it.

    A request counts as in flight until its reply is on disk, so a kill loses at most `max_in_flight` replies, however
    slow the disk is. Refusals are stored too: the model would decline again, and charge again. A request that equals
    one in flight is not sent; it waits for the same reply at no cost. Requests of other processes are not joined.

    Args:
        inner: the model; one try per reply.
        cache: the stored replies.
        max_in_flight: most requests in flight at once.
        meter: counts replies that were shared as cached.
    """

    def __init__(self, inner: ChatModel, cache: ReplyCache, *, max_in_flight: int, meter: Meter | None = None) -> None:
        self._inner = inner
        self._cache = cache
        self._n_at_risk = max_in_flight
        self._meter = meter or Meter()
        self._slots: asyncio.Semaphore | None = None
        self._in_flight: dict[str, _InFlight] = {}

    @property
    def name(self) -> str:
        """Name of the inner model."""
        return self._inner.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply once it is stored."""
        # In the shared event loop: slots belong to one loop, and its steps are not interleaved.
        return await in_background(self._reply(request))

    async def _reply(self, request: ChatRequest) -> ChatReply:
        key = request_key(self.name, request)
        asked = self._in_flight.get(key)
        is_first = asked is None
        if asked is None:
            asked = _InFlight(asyncio.create_task(self._asked(request)))
            self._in_flight[key] = asked
        asked.n_waiting += 1
        try:
            reply = await asyncio.shield(asked.task)
        finally:
            asked.n_waiting -= 1
            if self._in_flight.get(key) is asked and (asked.task.done() or not asked.n_waiting):
                del self._in_flight[key]
            if not asked.n_waiting and not asked.task.done():
                # All waiters gave up. The task ends before we return: its cache may be closed after us.
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
            # It may have arrived since the cache was read.
            cached = self._cache.get(self.name, request)
            if cached is not None:
                self._meter.cached += 1
                return cached
            try:
                reply = await self._inner.reply(request)
            except Refused as error:
                await self._cache.store(self.name, request, refusal=str(error))
                raise
            await self._cache.store(self.name, request, reply=reply)
            return reply


@dataclass(slots=True)
class _InFlight:
    """A request in flight, and the number of callers that wait for its reply."""

    task: asyncio.Task[ChatReply]
    n_waiting: int = 0
