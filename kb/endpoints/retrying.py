"""Asking again: what failed for a passing reason, after a wait with jitter, or when the server said to come back."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from data.contracts import ChatModel
from data.errors import MalformedAnswer, NothingListens, RateLimited, SourceError
from data.records import ChatReply, ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPatience:
    """How often and how long to try again; times in seconds.

    A wish to come back later than in `longest_wait_s` ends the trying. Nonsense (HTML for JSON, an empty reply) is
    asked for `tries_at_nonsense` times: a proxy may have sent it, but a server that always does is none. An address
    that refuses connections, and did nothing else so far, has `tries_at_first`: most likely nobody started the server.
    """

    tries: int = 6
    tries_at_nonsense: int = 3
    tries_at_first: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 90.0


class RetryingChat:
    """Implements `ChatModel` by asking another one, again where it is worth it; one Retry-After holds for all requests.

    Args:
        inner: the model that is asked.
        patience: how often, how long.
    """

    def __init__(self, inner: ChatModel, patience: ChatPatience | None = None) -> None:
        self._inner = inner
        self._patience = patience or ChatPatience()
        self._not_before = 0.0
        self._is_there = False
        self.n_retries = 0
        """How many tries were made beyond the first ones."""

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._inner.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply of one of the tries.

        Raises:
            SourceError: what the last try failed with.
        """
        n_failed = 0
        while True:
            while (left_s := self._not_before - time.monotonic()) > 0:
                # A little apart, so that those who waited do not all come back in the same instant.
                await asyncio.sleep(left_s + random.uniform(0, min(0.5, left_s / 4)))
            try:
                reply = await self._inner.reply(request)
            except SourceError as error:
                n_failed += 1
                self._is_there = self._is_there or not isinstance(error, NothingListens)
                wait_s = self._wait_s(error, n_failed)
                if wait_s is None:
                    # One failure may be told to many, who asked the same at once.
                    if n_failed > 1 and error.args and not str(error.args[0]).endswith(" times)"):
                        error.args = (f"{error.args[0]} (tried {n_failed} times)", *error.args[1:])
                    raise
                self.n_retries += 1
            else:
                self._is_there = True
                return reply
            await asyncio.sleep(wait_s)

    def _wait_s(self, error: SourceError, n_failed: int) -> float | None:
        """Return how long to wait before the next try, or None to give up."""
        patience = self._patience
        tries = patience.tries_at_nonsense if isinstance(error, MalformedAnswer) else patience.tries
        if isinstance(error, NothingListens) and not self._is_there:
            tries = min(tries, patience.tries_at_first)
        if not (error.retryable or isinstance(error, MalformedAnswer)) or n_failed >= tries:
            return None
        wish_s = error.retry_after_s if isinstance(error, RateLimited) else None
        if wish_s is not None and wish_s > patience.longest_wait_s:
            return None
        if wish_s:
            self._not_before = max(self._not_before, time.monotonic() + wish_s)
            return 0.0
        longest: float = patience.first_wait_s * 2.0 ** (n_failed - 1)
        return min(longest, patience.longest_wait_s) * random.uniform(0.5, 1.0)
