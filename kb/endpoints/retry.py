"""Retries of requests to models, with exponential backoff, jitter and Retry-After."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from data.contracts import ChatModel
from data.errors import ConnectionRefused, MalformedAnswer, RateLimited, SourceError
from data.records import ChatReply, ChatRequest

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number and spacing of tries; times in seconds.

    A Retry-After above `longest_wait_s` ends the tries. A malformed answer (HTML for JSON, an empty reply) is tried
    `tries_if_malformed` times: a proxy may have sent it. An address that has only refused connections so far is tried
    `tries_if_refused` times: most likely the server was not started.
    """

    tries: int = 6
    tries_if_malformed: int = 3
    tries_if_refused: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 90.0


class RetryingChat:
    """A `ChatModel` that repeats requests after passing failures."""

    def __init__(self, inner: ChatModel, retry: RetryPolicy | None = None) -> None:
        self._inner = inner
        self.name = inner.name
        self._tries = Tries(retry)

    @property
    def n_retries(self) -> int:
        """Number of retries so far."""
        return self._tries.n_retries

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply of the first try that succeeds.

        Raises:
            SourceError: the error of the last try.
        """
        return await self._tries.result(lambda: self._inner.reply(request))


class Tries:
    """Tries of requests to one provider; one Retry-After holds for all of them."""

    def __init__(self, retry: RetryPolicy | None = None) -> None:
        self._retry = retry or RetryPolicy()
        self._not_before = 0.0
        self._has_responded = False
        self.n_retries = 0
        """Number of retries so far."""

    async def result(self, ask: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Return the result of the first try that succeeds.

        Raises:
            SourceError: the error of the last try.
        """
        n_failed = 0
        while True:
            while (left_s := self._not_before - time.monotonic()) > 0:
                # Jitter, so that waiting requests do not all return at once.
                await asyncio.sleep(left_s + random.uniform(0, min(0.5, left_s / 4)))
            try:
                reply = await ask()
            except SourceError as error:
                n_failed += 1
                self._has_responded = self._has_responded or not isinstance(error, ConnectionRefused)
                wait_s = self._wait_s(error, n_failed)
                if wait_s is None:
                    # One error may be raised to several callers that shared a request.
                    if n_failed > 1 and error.args and not str(error.args[0]).endswith(" times)"):
                        error.args = (f"{error.args[0]} (tried {n_failed} times)", *error.args[1:])
                    raise
                self.n_retries += 1
            else:
                self._has_responded = True
                return reply
            await asyncio.sleep(wait_s)

    def _wait_s(self, error: SourceError, n_failed: int) -> float | None:
        """Return the seconds before the next try, or None to give up."""
        retry = self._retry
        tries = retry.tries_if_malformed if isinstance(error, MalformedAnswer) else retry.tries
        if isinstance(error, ConnectionRefused) and not self._has_responded:
            tries = min(tries, retry.tries_if_refused)
        if not (error.retryable or isinstance(error, MalformedAnswer)) or n_failed >= tries:
            return None
        requested_s = error.retry_after_s if isinstance(error, RateLimited) else None
        if requested_s is not None and requested_s > retry.longest_wait_s:
            return None
        if requested_s:
            self._not_before = max(self._not_before, time.monotonic() + requested_s)
            return 0.0
        backoff_s: float = retry.first_wait_s * 2.0 ** (n_failed - 1)
        return min(backoff_s, retry.longest_wait_s) * random.uniform(0.5, 1.0)
