"""A chat model with a reply cache: the same request to the same model is paid for once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from data.contracts import ChatModel
from data.errors import CutOff, NotCached, Refused
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Meter
from kb.endpoints.reply_cache import ReplyCache, as_cached, request_key


class CachedChat:
    """A `ChatModel` that answers from the cache, and stores each new reply before returning it.

    A request counts as in flight until its reply is on disk, so a kill loses at most `max_in_flight` replies, however
    slow the disk is. Refusals are stored too: the model would decline again, and charge again. A request that equals
    one in flight is not sent; it waits for the same reply at no cost. Requests of other processes are not joined.

    Args:
        inner: the model, with its retries.
        cache: the stored replies.
        max_in_flight: most requests in flight at once.
        offline: only the cache may answer.
        meter: counts replies from the cache.
    """

    def __init__(
        self,
        inner: ChatModel,
        cache: ReplyCache,
        *,
        max_in_flight: int,
        offline: bool = False,
        meter: Meter | None = None,
    ) -> None:
        self._inner = inner
        self.name = inner.name
        self._cache = cache
        self._max_in_flight = max_in_flight
        self._offline = offline
        self._meter = meter or Meter()
        self._slots: asyncio.Semaphore | None = None
        self._in_flight: dict[str, _InFlight] = {}

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the cached reply, else the model's once it is stored.

        Raises:
            NotCached: if it is offline and the reply is not cached.
            Refused: if the model declines, or declined before.
        """
        cached = self._cached(request)
        if cached is not None:
            return cached
        if self._offline:
            raise NotCached(f"No cached reply of {self.name} to this request.", hint="Run once without --offline.")
        # In the shared event loop: slots belong to one loop, and its steps are not interleaved.
        return await in_background(self._joined(request))

    def _cached(self, request: ChatRequest) -> ChatReply | None:
        try:
            cached = self._cache.get(self.name, request)
        except Refused:
            self._meter.cached += 1
            raise
        self._meter.cached += cached is not None
        return cached

    async def _joined(self, request: ChatRequest) -> ChatReply:
        key = request_key(self.name, request)
        pending = self._in_flight.get(key)
        is_first = pending is None
        if pending is None:
            pending = _InFlight(asyncio.create_task(self._ask(request)))
            self._in_flight[key] = pending
        pending.n_waiting += 1
        try:
            reply = await asyncio.shield(pending.task)
        except CutOff as error:
            if is_first:
                raise
            raise CutOff(str(error), hint=error.hint) from error  # paid by the first
        except Refused as error:
            if is_first:
                raise
            raise Refused(str(error), hint=error.hint) from error
        finally:
            pending.n_waiting -= 1
            if self._in_flight.get(key) is pending and (pending.task.done() or not pending.n_waiting):
                del self._in_flight[key]
            if not pending.n_waiting and not pending.task.done():
                # All waiters gave up. The task ends before we return: its cache may be closed after us.
                pending.task.cancel()
                await asyncio.wait([pending.task])
        if is_first:
            return reply
        self._meter.cached += 1
        return as_cached(reply)

    async def _ask(self, request: ChatRequest) -> ChatReply:
        if self._slots is None:
            self._slots = asyncio.Semaphore(self._max_in_flight)
        async with self._slots:
            cached = self._cached(request)  # it may have arrived in the meantime
            if cached is not None:
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
