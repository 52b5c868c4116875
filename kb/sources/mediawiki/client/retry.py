"""Trying again: what is worth it, how long to wait, and when to give up on a wiki that is down."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from data.errors import RateLimited, SourceError

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long to try again; times in seconds.

    A wiki that answers is given `tries`, one that never did `tries_at_first`. A wish to come back later than in
    `longest_wait_s`, or waits of more than `total_s` in all, end the trying.
    """

    tries: int = 5
    tries_at_first: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    total_s: float = 180.0


class Refusal(Exception):
    """One try that failed and may be repeated; `error` is what to raise when the tries are used up."""

    def __init__(
        self,
        error: SourceError,
        *,
        retry_after_s: float | None = None,
        where: str = "",
        is_silent: bool = False,
        is_dubious: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after_s = retry_after_s
        self.where = where
        """The host, where it wants to be asked later."""
        self.is_silent = is_silent
        """It did not answer at all, be it for good or too slowly."""
        self.is_dubious = is_dubious
        """If it never answered well, it is most likely not a wiki; few tries are enough."""

    @classmethod
    def wait(cls, where: str, why: str | int, retry_after_s: float | None) -> Refusal:
        """Return the refusal of a host that wants to be asked later."""
        wish = f", asks to come back in {retry_after_s:g} s" if retry_after_s is not None else ""
        return cls(
            RateLimited(f"{where} is busy ({why}){wish}", retry_after_s=retry_after_s),
            retry_after_s=retry_after_s,
            where=where,
        )


class Retrier:
    """Runs requests to one wiki and repeats those that failed for a passing reason; shared by all threads."""

    def __init__(self, retry: RetryPolicy) -> None:
        self.retry = retry
        self._lock = threading.Lock()
        self._has_answered = False
        self._is_down = False
        self._not_before = 0.0
        self._told_by = "the wiki"

    def run(self, request: Callable[[], AnswerT]) -> AnswerT:
        """Return what `request` returns, after as many tries as the retry allows.

        Raises:
            SourceError: what the last try failed with.
        """
        started = time.monotonic()
        n_failed = 0
        while True:
            try:
                answer = request()
            except Refusal as refusal:
                n_failed += 1
                wait_s = self._next_wait(refusal, n_failed, time.monotonic() - started)
                if wait_s is None:
                    raise _final(refusal, n_failed) from refusal.__cause__
            else:
                with self._lock:
                    self._has_answered, self._is_down = True, False
                return answer
            time.sleep(wait_s)

    def pause(self) -> None:
        """Wait until the host may be asked again; to be called right before each request is sent.

        What one thread was told (Retry-After) holds for all of them, also where that thread has given up.

        Raises:
            RateLimited: if that is longer than the retry allows to wait.
        """
        while (left := self._not_before - time.monotonic()) > 0:
            if left > self.retry.longest_wait_s:
                raise RateLimited(
                    f"{self._told_by} asked not to be asked again for {left:.0f} s",
                    retry_after_s=left,
                    hint=f"what is done is kept; run the same command again in {left:.0f} s",
                )
            time.sleep(left)

    def _next_wait(self, refusal: Refusal, n_failed: int, spent_s: float) -> float | None:
        """Return how long to wait before the next try, or None to give up."""
        retry = self.retry
        with self._lock:
            is_alive = self._has_answered or not refusal.is_silent
            tries = retry.tries if is_alive else retry.tries_at_first
            if refusal.is_dubious and not self._has_answered:
                tries = min(tries, 3)
            if self._is_down:
                # Others have waited for it in vain: a dead wiki must not cost the full retry for every page.
                tries = 1
            backoff: float = retry.first_wait_s * 2.0 ** (n_failed - 1) * random.uniform(0.5, 1.5)
            wait_s: float = min(backoff, retry.longest_wait_s)
            if refusal.retry_after_s is not None:
                wait_s = max(refusal.retry_after_s, wait_s if refusal.retry_after_s == 0 else 0.0)
                self._not_before = max(self._not_before, time.monotonic() + refusal.retry_after_s)
                self._told_by = refusal.where or self._told_by
            gives_up = n_failed >= tries or wait_s > retry.longest_wait_s or spent_s + wait_s > retry.total_s
            if gives_up:
                self._is_down = self._is_down or refusal.error.retryable
                return None
            return wait_s


def _final(refusal: Refusal, n_failed: int) -> SourceError:
    error = refusal.error
    if n_failed > 1 and error.args:
        error.args = (f"{error.args[0]} (tried {n_failed} times)", *error.args[1:])
    return error
