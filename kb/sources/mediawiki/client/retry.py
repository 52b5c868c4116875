"""Retries of wiki requests: backoff, Retry-After, and giving up on a wiki that is down."""

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
    """Number and spacing of tries; times in seconds.

    A wiki that never answered gets `tries_at_first`. A Retry-After above `longest_wait_s`, or waits above `total_s` in
    all, end the tries.
    """

    tries: int = 5
    tries_at_first: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    total_s: float = 180.0


class Refusal(Exception):
    """A failed try that may be repeated.

    Args:
        error: raised after the last try.
        retry_after_s: seconds that the host asks to wait.
        where: the host that sent a Retry-After.
        is_silent: no answer at all, or too slow.
        is_dubious: the host may not be a wiki; if it never gave a good answer, few tries are enough.
    """

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
        self.is_silent = is_silent
        self.is_dubious = is_dubious

    @classmethod
    def wait(cls, where: str, why: str | int, retry_after_s: float | None) -> Refusal:
        """Return the refusal of a busy host."""
        advice = f", retry after {retry_after_s:g} s" if retry_after_s is not None else ""
        return cls(
            RateLimited(f"{where} is busy ({why}){advice}", retry_after_s=retry_after_s),
            retry_after_s=retry_after_s,
            where=where,
        )


class Retrier:
    """Repeats failed requests to one wiki; shared by all threads."""

    def __init__(self, retry: RetryPolicy) -> None:
        self.retry = retry
        self._lock = threading.Lock()
        self._has_answered = False
        self._is_down = False
        self._not_before = 0.0
        self._busy_host = "the wiki"

    def run(self, request: Callable[[], AnswerT]) -> AnswerT:
        """Return the result of `request`, after as many tries as the policy allows.

        Raises:
            SourceError: the error of the last try.
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
                    error = refusal.error
                    if n_failed > 1 and error.args:
                        error.args = (f"{error.args[0]} (tried {n_failed} times)", *error.args[1:])
                    raise error from refusal.__cause__
            else:
                with self._lock:
                    self._has_answered, self._is_down = True, False
                return answer
            time.sleep(wait_s)

    def pause(self) -> None:
        """Wait until the host accepts requests again; called right before each request.

        A Retry-After holds for all threads, even if the thread that got it has given up.

        Raises:
            RateLimited: if the wait is longer than the policy allows.
        """
        while (left := self._not_before - time.monotonic()) > 0:
            if left > self.retry.longest_wait_s:
                raise RateLimited(
                    f"{self._busy_host} accepts no requests for {left:.0f} s",
                    retry_after_s=left,
                    hint=f"Progress is saved; run the same command again in {left:.0f} s.",
                )
            time.sleep(left)

    def _next_wait(self, refusal: Refusal, n_failed: int, spent_s: float) -> float | None:
        """Return the seconds before the next try, or None to give up."""
        retry = self.retry
        with self._lock:
            is_alive = self._has_answered or not refusal.is_silent
            tries = retry.tries if is_alive else retry.tries_at_first
            if refusal.is_dubious and not self._has_answered:
                tries = min(tries, 3)
            if self._is_down:
                # Other threads waited in vain: a dead wiki must not cost all tries for every page.
                tries = 1
            backoff: float = retry.first_wait_s * 2.0 ** (n_failed - 1) * random.uniform(0.5, 1.5)
            wait_s: float = min(backoff, retry.longest_wait_s)
            if refusal.retry_after_s is not None:
                wait_s = max(refusal.retry_after_s, wait_s if refusal.retry_after_s == 0 else 0.0)
                self._not_before = max(self._not_before, time.monotonic() + refusal.retry_after_s)
                self._busy_host = refusal.where or self._busy_host
            gives_up = n_failed >= tries or wait_s > retry.longest_wait_s or spent_s + wait_s > retry.total_s
            if gives_up:
                self._is_down = self._is_down or refusal.error.retryable
                return None
            return wait_s
