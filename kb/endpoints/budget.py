"""Limits of cost: what requests have cost, what those in flight may cost at most, and when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from data.contracts import ChatModel
from data.errors import CostStop, FieldmarkError, MalformedAnswer, Refused, ReplyLost, UsageError
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Prices
from kb.endpoints.payload import most_input_tokens

# Where a request sets no limit of its own, and cost is limited: without one, no cost is the highest possible.
MAX_OUTPUT_TOKENS = 4096


@dataclass(slots=True)
class Meter:
    """What a run has asked of models so far."""

    calls: int = 0
    """Replies that came from a provider."""
    cached: int = 0
    """Replies that came from the cache."""
    input_tokens: int = 0
    output_tokens: int = 0
    spent_usd: float = 0.0
    unsure_usd: float = 0.0
    """At most so much for requests without a reply that the provider may charge for; counts against the limit."""
    unpriced: int = 0
    """Replies of models whose price is not known."""


class Budget:
    """A limit of cost that several models share; it is stopped before it would be passed, however many ask at once.

    Each request reserves the most that it can cost, and gives back what it did not. One that does not fit waits for
    those in flight; if none is, the limit is reached.

    Args:
        limit_usd: US dollars; None for no limit, but all is counted.
    """

    def __init__(self, limit_usd: float | None = None) -> None:
        if limit_usd is not None and not limit_usd >= 0:
            raise UsageError(f"expected a limit of cost of 0 or more US dollars, got {limit_usd}")
        self.limit_usd = limit_usd
        self.meter = Meter()
        self._reserved_usd = 0.0
        self._in_flight = 0
        self._waiting: list[asyncio.Event] = []

    @property
    def counted_usd(self) -> float:
        """What counts against the limit, without what is reserved."""
        return self.meter.spent_usd + self.meter.unsure_usd

    async def reserve(self, most_usd: float) -> Reservation:
        """Return a reservation of `most_usd`, once it fits; only called in the shared event loop.

        Raises:
            CostStop: if it cannot fit any more.
        """
        while self.limit_usd is not None and self.counted_usd + self._reserved_usd + most_usd > self.limit_usd:
            if not self._in_flight:
                raise CostStop(
                    f"the next request could cost up to ${most_usd:.4f}, and ${self.counted_usd:.4f} of the limit of "
                    f"${self.limit_usd:g} are spent",
                    hint="what was paid for is kept; the same command with a higher --max-cost goes on from there",
                )
            settled = asyncio.Event()
            self._waiting.append(settled)
            await settled.wait()
        self._reserved_usd += most_usd
        self._in_flight += 1
        return Reservation(most_usd, self._settle)

    def _settle(self, reserved_usd: float, spent_usd: float, unsure_usd: float) -> None:
        self._in_flight -= 1
        # Exactly nothing once nobody is in flight: sums of fractions would leave a rest.
        self._reserved_usd = self._reserved_usd - reserved_usd if self._in_flight else 0.0
        self.meter.spent_usd += spent_usd
        self.meter.unsure_usd += unsure_usd
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            settled.set()


@dataclass(slots=True)
class Reservation:
    """A part of a budget that one request holds until it is known what it cost."""

    most_usd: float
    _settle: Callable[[float, float, float], None]

    @contextmanager
    def settled(self) -> Iterator[list[float]]:
        """Give a list for the cost of the request; what the block raises without one may have cost all of it.

        Only where the provider did not take the request it cost nothing.
        """
        cost: list[float] = []
        try:
            yield cost
        except BaseException as error:
            may_cost = not isinstance(error, FieldmarkError) or isinstance(error, ReplyLost | Refused | MalformedAnswer)
            self._settle(self.most_usd, 0.0, self.most_usd if may_cost else 0.0)
            raise
        self._settle(self.most_usd, sum(cost), 0.0)


class BudgetedChat:
    """Implements `ChatModel` within a budget: nothing is asked whose cost could pass the limit.

    Args:
        inner: the model that is asked, one try a reply, so that each try is reserved for.
        budget: shared by all models of a run.
        prices: what the model costs; None if nobody knows.
        image_tokens: at most so many tokens an image.

    Raises:
        UsageError: for a model without prices in a budget with a limit.
    """

    def __init__(self, inner: ChatModel, budget: Budget, *, prices: Prices | None, image_tokens: int) -> None:
        if budget.limit_usd is not None and prices is None:
            raise UsageError(
                f"the price of {inner.name} is not known, so no limit of cost can be kept",
                hint="set price_in and price_out (US dollars per million tokens; 0 for a server of your own)",
            )
        self._inner = inner
        self._budget = budget
        self._prices = prices
        self._image_tokens = image_tokens

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._inner.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply, once its cost is sure to stay within the limit.

        Raises:
            CostStop: if it is not; nothing was asked.
        """
        # In one event loop, whoever asks: then no two reservations are made at once.
        return await in_background(self._reply(request))

    async def _reply(self, request: ChatRequest) -> ChatReply:
        most_usd = 0.0
        if self._prices is not None and self._budget.limit_usd is not None:
            if request.max_tokens is None:
                request = replace(request, max_tokens=MAX_OUTPUT_TOKENS)
            most_in = most_input_tokens(request, image_tokens=self._image_tokens)
            most_usd = self._prices.cost_usd(most_in, request.max_tokens or MAX_OUTPUT_TOKENS)
        reservation = await self._budget.reserve(most_usd)
        with reservation.settled() as cost:
            reply = await self._inner.reply(request)
            cost.append(reply.cost_usd or 0.0)
        meter = self._budget.meter
        meter.calls += 1
        meter.input_tokens += reply.input_tokens
        meter.output_tokens += reply.output_tokens
        meter.unpriced += reply.cost_usd is None
        return reply
