"""Scheduling of single model calls: limited concurrency, shared fairly by queries, stopped when a provider is down."""

from __future__ import annotations

import asyncio
import heapq
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache
from typing import Final, TypeVar

from data.contracts import ChatModel
from data.errors import Refused, SourceError, SourceUnavailable
from data.records import ChatReply, ChatRequest

N_IN_FLIGHT: Final = 32
MAX_FAILURES_IN_A_ROW: Final = 12  # the provider is down

ResultT = TypeVar("ResultT")

current_query: ContextVar[str] = ContextVar("current_query", default="")
"""Id of the query that a task works for; inherited by the tasks that it starts."""
current_step: ContextVar[int] = ContextVar("current_step", default=0)
"""Number of answers on its image that a task already has."""
current_run: ContextVar[object] = ContextVar("current_run", default=None)
"""The run that a task belongs to."""


class FairSlots:
    """A number of slots for which waiting groups take turns.

    Within a group the higher `step` goes first, then the earlier arrival.
    """

    def __init__(self, n: int) -> None:
        self._free = n
        self._n_arrived = 0
        self._waiting: dict[str, list[tuple[int, int, asyncio.Future[None]]]] = {}

    @asynccontextmanager
    async def slot(self, group: str, *, step: int = 0) -> AsyncIterator[None]:
        """Hold a slot for the group while the block runs."""
        await self._acquire(group, step)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, group: str, step: int) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._n_arrived += 1
        heapq.heappush(self._waiting.setdefault(group, []), (-step, self._n_arrived, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # granted in the same instant
            raise

    def _release(self) -> None:
        while self._waiting:
            group, queue = next(iter(self._waiting.items()))
            del self._waiting[group]
            turn = heapq.heappop(queue)[2]
            if queue:
                self._waiting[group] = queue  # behind the other groups
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class FairChat:
    """A `ChatModel` with limited concurrency that queries share fairly.

    Args:
        chat: the model.
        n_in_flight: calls open at once.
        finishes_first: prefer images that already have answers. All images then complete a little later, but if a cost
            limit stops the run, the images that were begun are complete.
    """

    def __init__(self, chat: ChatModel, *, n_in_flight: int = N_IN_FLIGHT, finishes_first: bool = False) -> None:
        self._chat = chat
        self._finishes_first = finishes_first
        self._slots = FairSlots(n_in_flight)
        self._n_failures_in_a_row = 0

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._chat.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to a request, when it is its turn.

        Raises:
            SourceUnavailable: if the last twelve calls failed; no further call is made.
        """
        step = current_step.get() if self._finishes_first else 0
        async with self._slots.slot(current_query.get(), step=step):
            if self._n_failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
                raise SourceUnavailable(
                    f"{self.name}: {MAX_FAILURES_IN_A_ROW} calls in a row failed",
                    hint="Replies are cached: run the same command again to resume.",
                )
            try:
                reply = await self._chat.reply(request)
            except Refused:
                raise  # the provider is up
            except SourceError:
                self._n_failures_in_a_row += 1
                raise
            self._n_failures_in_a_row = 0
        return reply


async def all_of(awaitables: Sequence[Awaitable[ResultT]]) -> list[ResultT]:
    """Return all results in order; the first failure cancels the others and is raised."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@cache
def _readers(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, thread_name_prefix="photos")  # a photo that is decoded is large


async def read_in_thread(read: Callable[[], ResultT]) -> ResultT:
    """Return what `read` makes of a photo, in one of the two threads of this process that read photos."""
    # A forked child has the object of its parent's threads, but not the threads.
    return await asyncio.get_running_loop().run_in_executor(_readers(os.getpid()), read)
