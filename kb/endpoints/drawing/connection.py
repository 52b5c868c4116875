"""The complete image generator over one endpoint: cache, retries and cost limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from data.closing import Closing
from data.errors import FieldmarkError, NotCached, Refused, SourceError, UsageError
from data.event_loop import in_background
from kb.endpoints.budget import Budget
from kb.endpoints.drawing.cache import DrawingCache
from kb.endpoints.drawing.openai_images import Drawn, OpenAIImages
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.retry import RetryPolicy, Tries


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawings:
    """Drawings of a prompt as files, in the order drawn, and their cost in US dollars; None if unknown."""

    paths: tuple[Path, ...]
    cost_usd: float | None = 0.0
    n_cached: int = 0
    problem: FieldmarkError | None = None
    """Why there are fewer than were asked for."""


class ImageConnection(Closing):
    """Draws images of prompts behind `[llm.image]`; a context manager, to be closed.

    Each drawing is stored before the next request, so a kill loses those of one request at most. A server that sends
    fewer images than requested is asked again for the rest. Refusals are stored too.

    Args:
        endpoint: address, model and prices; size, quality and format are in its `extra_body`.
        key: the API key; empty for a server without one.
        cache: the stored drawings, closed with the connection.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        retry: number and spacing of tries.

    Raises:
        UsageError: if the budget has a limit and the price is unknown.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: str = "",
        *,
        cache: DrawingCache,
        budget: Budget | None = None,
        offline: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.budget = budget or Budget()
        if self.budget.limit_usd is not None and endpoint.drawing_usd(1, 0, 0) is None:
            raise UsageError(
                f"The price of {self.name} is unknown, so a cost limit cannot be enforced.",
                hint="Set price_per_request (US dollars per drawing) of [llm.image], or price_in and price_out.",
            )
        self._images = OpenAIImages(endpoint, key)
        self._tries = Tries(retry)
        self._cache = cache
        self._offline = offline
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def n_retries(self) -> int:
        """Number of retries so far."""
        return self._tries.n_retries

    async def draw(self, prompt: str, n: int) -> Drawings:
        """Return `n` drawings of a prompt, or fewer with the problem if not all could be drawn.

        Raises:
            Refused: if the model declines, or declined before, and there is no drawing.
            NotCached: if it is offline and no drawing is stored.
            CostStop: if a drawing could exceed the cost limit; those so far are stored.
            SourceError: if the first request failed for good.
        """
        return await in_background(self._draw(prompt, n))

    def close(self) -> None:
        """Close the HTTP connections and the cache."""
        try:
            self._images.close()
        finally:
            self._cache.close()

    async def _draw(self, prompt: str, n: int) -> Drawings:
        async with self._turns.setdefault(prompt, asyncio.Lock()):  # equal prompts at once are drawn once
            paths = self._cache.get(self.name, prompt, n)
            n_cached, costs = len(paths), list[float | None]()
            problem: FieldmarkError | None = None
            self.budget.meter.cached += n_cached > 0
            while len(paths) < n and problem is None:
                try:
                    drawn = await self._new(prompt, n - len(paths))
                except (SourceError, NotCached) as error:
                    if isinstance(error, Refused) and not paths:
                        self._cache.refuse(self.name, prompt, str(error))
                    if not paths:
                        raise
                    problem = error
                else:
                    costs.append(drawn.cost_usd)
                    for content in drawn.images:
                        paths.append(self._cache.put(self.name, prompt, len(paths), content))
            cost = None if None in costs else sum(cost or 0.0 for cost in costs)
            return Drawings(paths=tuple(paths), cost_usd=cost, n_cached=n_cached, problem=problem)

    async def _new(self, prompt: str, n: int) -> Drawn:
        if self._offline:
            raise NotCached(f"No cached drawing of {self.name}.", hint="Run once without --offline.")
        return await self._tries.result(lambda: self._paid(prompt, n))

    async def _paid(self, prompt: str, n: int) -> Drawn:
        most_usd = self._images.most_usd(prompt, n) if self.budget.limit_usd is not None else 0.0
        async with self.budget.reserve(most_usd) as cost:
            drawn = await self._images.draw(prompt, n)
            cost.append(drawn.cost_usd or 0.0)
        meter = self.budget.meter
        meter.calls += 1
        meter.input_tokens += drawn.usage.input_tokens or 0
        meter.output_tokens += drawn.usage.output_tokens or 0
        meter.unpriced += drawn.cost_usd is None
        if not drawn.images and drawn.problem is not None:
            raise drawn.problem  # paid for, and perhaps worth another try
        return drawn
