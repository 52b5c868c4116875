"""Tries of requests to one endpoint: how often, and how long to wait between them."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from data.errors import (
    ConnectionRefused,
    FieldmarkError,
    KeyRejected,
    MalformedAnswer,
    RateLimited,
    SourceError,
    StillLoading,
)
from kb.endpoints.endpoint import Endpoint

ResultT = TypeVar("ResultT")
_TOLD_FROM_S: Final = 5.0  # shorter waits are not worth a line
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number and spacing of tries; times in seconds.

    A malformed answer (HTML for JSON, an empty reply) is tried `tries_if_malformed` times: a proxy may have sent it. An
    address that has only refused connections so far is tried `tries_if_refused` times: most likely the server was not
    started. A busy server that states no time gets `busy_s`, and one that states it, or loads its model, as long as it
    asks. All waits of a request together end with `max_wait` of the endpoint.
    """

    tries: int = 6
    tries_if_malformed: int = 3
    tries_if_refused: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 15.0
    busy_s: float = 60.0


class Tries:
    """Tries of requests to one endpoint; a wait that the server asks for holds for all of them."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy | None = None, *, warns: bool = True) -> None:
        self._endpoint, self._policy = endpoint, policy or RetryPolicy()
        self._not_before = 0.0
        self._has_answered = False
        self._told: set[str] | None = set() if warns else None
        self.n_retries = 0
        """Number of retries so far."""

    async def result(
        self,
        ask: Callable[[], Awaitable[ResultT]],
        mend: Callable[[FieldmarkError], Awaitable[ResultT | None]] | None = None,
    ) -> ResultT:
        """Return the result of the first try that succeeds.

        Args:
            ask: one try.
            mend: another way to the result after an error; None if there is none.

        Raises:
            KeyRejected: if the key is rejected.
            SourceError: the error of the last try.
        """
        n_failed, waited_s = 0, 0.0
        while True:
            while (left_s := self._not_before - time.monotonic()) > 0:
                # Jitter, so that waiting requests do not all return at once.
                await asyncio.sleep(left_s + random.uniform(0, min(0.5, left_s / 4)))
            try:
                found = await ask()
            except (SourceError, KeyRejected) as error:
                n_failed += 1
                self._has_answered = self._has_answered or not isinstance(error, ConnectionRefused)
                failure: FieldmarkError = error
                try:
                    if mend is not None and (mended := await mend(error)) is not None:
                        return mended
                except (SourceError, KeyRejected) as other:  # such as of a server that is busy by now
                    failure = other
                wait_s = self._wait_s(failure, n_failed, waited_s)
                if wait_s is None:
                    # One error may be raised to several callers that shared a request.
                    if n_failed > 1 and failure.args and not str(failure.args[0]).endswith(" times)"):
                        failure.args = (f"{failure.args[0]} (tried {n_failed} times)", *failure.args[1:])
                    raise failure from None
                self.n_retries += 1
                waited_s += wait_s
            else:
                self._has_answered = True
                return found
            await asyncio.sleep(max(0.0, wait_s - max(0.0, self._not_before - time.monotonic())))

    def tell(self, what: str, text: str) -> None:
        """Log something unusual about the endpoint, once."""
        if self._told is not None and what not in self._told:
            self._told.add(what)
            _LOG.warning("%s %s", self._endpoint.name, text)

    def _wait_s(self, error: FieldmarkError, n_failed: int, waited_s: float) -> float | None:
        """Return the seconds before the next try, or None to give up."""
        policy, left_s = self._policy, self._endpoint.max_wait - waited_s
        if not (error.retryable or isinstance(error, MalformedAnswer)):
            return None
        asked_s = error.retry_after_s if isinstance(error, RateLimited) else None
        if asked_s:  # 0 is as good as no time
            if asked_s > left_s or n_failed >= 10 * policy.tries:
                error.hint = (
                    error.hint or f"The server asks to wait {asked_s:.0f} s; max_wait of the model allows more."
                )
                return None
            if asked_s >= _TOLD_FROM_S:
                self.tell("busy", f"is busy and asks to wait {asked_s:.0f} s")
            self._not_before = max(self._not_before, time.monotonic() + asked_s)
            return asked_s
        longest_s = min(policy.first_wait_s * 2.0 ** min(n_failed - 1, 30), policy.longest_wait_s)
        backoff_s: float = longest_s * random.uniform(0.5, 1.0)
        if isinstance(error, StillLoading):
            self.tell("loading", f"loads its model; waiting up to {left_s:.0f} s")
        elif isinstance(error, RateLimited):
            left_s = min(left_s, policy.busy_s - waited_s)
        else:
            tries = policy.tries_if_malformed if isinstance(error, MalformedAnswer) else policy.tries
            if isinstance(error, ConnectionRefused) and not self._has_answered:
                tries = min(tries, policy.tries_if_refused)
            left_s = left_s if n_failed < tries else -1.0
        return backoff_s if backoff_s <= left_s else None
