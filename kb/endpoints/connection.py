"""The complete chat model over one endpoint: cache, retries and cost limit."""

from __future__ import annotations

from data.closing import Closing
from data.contracts import ChatModel
from data.errors import UsageError
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Budget, BudgetedChat
from kb.endpoints.cached_chat import CachedChat
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.growing_chat import GrowingChat
from kb.endpoints.openai_client import OpenAIChat
from kb.endpoints.reply_cache import ReplyCache
from kb.endpoints.retry import RetryingChat, RetryPolicy


class Connection(Closing):
    """A `ChatModel` over an endpoint with cache, retries and cost limit; a context manager, to be closed.

    Args:
        endpoint: address, model and prices.
        key: the API key; empty for a server without one.
        cache: the reply cache, which is closed with the connection; None stores nothing.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        retry: number and spacing of tries.

    Raises:
        UsageError: if the budget has a limit and the endpoint no prices, or if it is offline without a cache.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: str = "",
        *,
        cache: ReplyCache | None = None,
        budget: Budget | None = None,
        offline: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        if offline and cache is None:
            raise UsageError("Offline use needs a reply cache, and none is given.")
        self.endpoint = endpoint
        self.name = endpoint.name
        self.budget = budget or Budget()
        self._bare = OpenAIChat(endpoint, key)
        budgeted = BudgetedChat(self._bare, self.budget, prices=endpoint.prices, image_tokens=endpoint.image_tokens)
        self._retrying = RetryingChat(budgeted, retry)
        self._model: ChatModel = GrowingChat(
            self._retrying, first=endpoint.max_tokens, cache=cache, meter=self.budget.meter
        )
        self._cache = cache
        if cache is not None:
            # Around the growth, so that a reply has one key whatever tokens it took.
            self._model = CachedChat(
                self._model,
                cache,
                max_in_flight=endpoint.max_concurrent,
                offline=offline,
                meter=self.budget.meter,
            )

    @property
    def n_retries(self) -> int:
        """Number of retries so far."""
        return self._retrying.n_retries

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request; errors are those of the wrapped models."""
        return await self._model.reply(request)

    def close(self) -> None:
        """Close the HTTP connections and the cache."""
        try:
            self._bare.close()
        finally:
            if self._cache is not None:
                self._cache.close()
