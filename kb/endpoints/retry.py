"""Tries of requests to one endpoint: how often, and how long to wait between them."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from typing import Final

from data.errors import ConnectionRefused, FieldmarkError, MalformedAnswer, RateLimited, StillLoading
from kb.endpoints.endpoint import Endpoint

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


@dataclass(slots=True)
class Tries:
    """The tries of one request so far."""

    n_failed: int = 0
    waited_s: float = 0.0


class Patience:
    """Waits between the tries of requests to one endpoint; a wait that the server asks for holds for all of them."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy | None = None) -> None:
        self._endpoint, self._policy = endpoint, policy or RetryPolicy()
        self._not_before = 0.0
        self._told: set[str] = set()
        self.has_answered = False
        """Whether the server has answered anything."""
        self.n_retries = 0
        """Number of retries so far."""

    async def turn(self) -> None:
        """Wait until the server takes requests again."""
        while (left_s := self._not_before - time.monotonic()) > 0:
            # Jitter, so that waiting requests do not all return at once.
            await asyncio.sleep(left_s + random.uniform(0, min(0.5, left_s / 4)))

    async def after(self, error: FieldmarkError, tries: Tries) -> None:
        """Wait for the next try after an error, or raise the error where another try is in vain or one too many."""
        tries.n_failed += 1
        self.has_answered = self.has_answered or not isinstance(error, ConnectionRefused)
        wait_s = self._wait_s(error, tries)
        if wait_s is None:
            if tries.n_failed > 1 and error.args:
                error.args = (f"{error.args[0]} (tried {tries.n_failed} times)", *error.args[1:])
            raise error from None
        self.n_retries += 1
        tries.waited_s += wait_s
        _LOG.info("%s: %s; try %d in %.1f s", self._endpoint.name, type(error).__name__, tries.n_failed + 1, wait_s)
        await asyncio.sleep(max(0.0, wait_s - max(0.0, self._not_before - time.monotonic())))

    def tell(self, what: str, text: str) -> None:
        """Log something unusual about the endpoint, once."""
        if what not in self._told:
            self._told.add(what)
            _LOG.warning("%s %s", self._endpoint.name, text)

    def _wait_s(self, error: FieldmarkError, tries: Tries) -> float | None:
        """Return the seconds before the next try, or None to give up."""
        policy, left_s, n_failed = self._policy, self._endpoint.max_wait - tries.waited_s, tries.n_failed
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
            left_s = min(left_s, policy.busy_s - tries.waited_s)
        else:
            most = policy.tries_if_malformed if isinstance(error, MalformedAnswer) else policy.tries
            if isinstance(error, ConnectionRefused) and not self.has_answered:
                most = min(most, policy.tries_if_refused)
            left_s = left_s if n_failed < most else -1.0
        return backoff_s if backoff_s <= left_s else None
