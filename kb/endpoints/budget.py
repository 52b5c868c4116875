"""Cost limits: money spent, money reserved for requests in flight, and the point to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from data.errors import CostStop, FieldmarkError, MalformedAnswer, Refused, ReplyLost, UsageError

# For requests without a limit of their own while cost is limited: else their cost would have no upper bound.
MAX_OUTPUT_TOKENS = 4096


@dataclass(slots=True)
class Meter:
    """Calls, tokens and cost of a run so far."""

    calls: int = 0
    """Replies from a provider."""
    cached: int = 0
    """Replies from the cache."""
    input_tokens: int = 0
    output_tokens: int = 0
    spent_usd: float = 0.0
    unsure_usd: float = 0.0
    """Upper bound for requests that got no reply but may be charged; counts against the limit."""
    unpriced: int = 0
    """Replies of models without a known price."""
    cut_off: int = 0
    """Replies that ended at their limit of tokens; they were asked for again with more."""


class Budget:
    """A cost limit shared by several models, never exceeded, however many requests run at once.

    Each request reserves its highest possible cost and returns the rest afterwards. A request that does not fit waits
    for those in flight; with none in flight, the limit is reached. A limit of None only counts.
    """

    def __init__(self, limit_usd: float | None = None) -> None:
        if limit_usd is not None and not limit_usd >= 0:
            raise UsageError(f"Expected a cost limit of 0 US dollars or more, got {limit_usd}.")
        self.limit_usd = limit_usd
        self.meter = Meter()
        self.is_exhausted = False
        """Whether a request was not sent, since it could have exceeded the limit."""
        self._reserved_usd = 0.0
        self._in_flight = 0
        self._waiting: list[asyncio.Event] = []

    @property
    def counted_usd(self) -> float:
        """Cost that counts against the limit, without reservations."""
        return self.meter.spent_usd + self.meter.unsure_usd

    @asynccontextmanager
    async def reserve(self, most_usd: float) -> AsyncIterator[None]:
        """Reserve `most_usd` as soon as it fits, for a block that counts the real cost; only in the shared event loop.

        A block that raises counts as the whole reservation, unless the provider surely never accepted the request, or
        declined and stated its tokens.

        Raises:
            CostStop: if it can no longer fit.
        """
        while self.limit_usd is not None and self.counted_usd + self._reserved_usd + most_usd > self.limit_usd:
            if not self._in_flight:
                self.is_exhausted = True
                raise CostStop(
                    f"Cost limit reached: the next request could cost up to ${most_usd:.4f}, and "
                    f"${self.counted_usd:.4f} of ${self.limit_usd:g} are spent.",
                    hint="All replies so far are cached. Run the same command with a higher --max-cost to continue.",
                )
            settled = asyncio.Event()
            self._waiting.append(settled)
            await settled.wait()
        self._reserved_usd += most_usd
        self._in_flight += 1
        try:
            yield
        except BaseException as error:
            if isinstance(error, Refused) and error.has_usage:
                self.count(error.input_tokens, error.output_tokens, error.cost_usd)
            elif not isinstance(error, FieldmarkError) or isinstance(error, Refused | ReplyLost | MalformedAnswer):
                self.meter.calls += isinstance(error, Refused)
                self.meter.unsure_usd += most_usd
            raise
        finally:
            self._in_flight -= 1
            # Exactly zero with nothing in flight: rounding errors would add up.
            self._reserved_usd = self._reserved_usd - most_usd if self._in_flight else 0.0
            waiting, self._waiting = self._waiting, []
            for settled in waiting:
                settled.set()

    def count(self, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
        """Count a reply."""
        meter = self.meter
        meter.calls += 1
        meter.input_tokens += input_tokens
        meter.output_tokens += output_tokens
        meter.spent_usd += cost_usd or 0.0
        meter.unpriced += cost_usd is None
