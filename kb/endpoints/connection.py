"""The whole stack over one endpoint: what is kept, else tried within the budget, kept, and tried again."""

from __future__ import annotations

from types import TracebackType

from data.contracts import ChatModel
from data.errors import UsageError
from data.records import ChatReply, ChatRequest
from kb.endpoints.budget import Budget, BudgetedChat
from kb.endpoints.cached_chat import CachedChat, KeepingChat
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_chat import OpenAIChat
from kb.endpoints.reply_cache import ReplyCache
from kb.endpoints.retrying import ChatPatience, RetryingChat


class Connection:
    """Implements `ChatModel` over an endpoint with all that belongs to it; close it when done.

    Args:
        endpoint: where the model is and what it costs.
        key: the API key; empty for a server that wants none.
        cache: where replies are kept; None keeps none.
        budget: the limit of cost; by default none, but all is counted.
        offline: whether the cache alone may answer.
        patience: how often to try.

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
        patience: ChatPatience | None = None,
    ) -> None:
        if offline and cache is None:
            raise UsageError("offline, replies come from a cache, and none is given")
        self.endpoint = endpoint
        self.budget = budget or Budget()
        self._bare = OpenAIChat(endpoint, key)
        tried: ChatModel = BudgetedChat(
            self._bare, self.budget, prices=endpoint.prices, image_tokens=endpoint.image_tokens
        )
        if cache is not None:
            tried = KeepingChat(tried, cache, n_at_risk=endpoint.max_concurrent, meter=self.budget.meter)
        self._retrying = RetryingChat(tried, patience)
        self._cache = cache
        self._model: ChatModel = self._retrying
        if cache is not None:
            self._model = CachedChat(self._retrying, cache, offline=offline, meter=self.budget.meter)

    @property
    def name(self) -> str:
        """Model and provider."""
        return self.endpoint.name

    @property
    def n_retries(self) -> int:
        """How many tries were made beyond the first ones."""
        return self._retrying.n_retries

    @property
    def not_taken(self) -> frozenset[str]:
        """The parameters that the server was found not to take."""
        return self._bare.not_taken

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request; see the parts for what they raise."""
        return await self._model.reply(request)

    def close(self) -> None:
        """Close connections and cache."""
        self._bare.close()
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
