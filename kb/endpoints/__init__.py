"""Chat models behind OpenAI-compatible servers, with a reply cache, retries and a cost limit.

Wrappers stack from the inside out: `OpenAIChat` sends one request, `BudgetedChat` keeps it within the cost limit,
`CacheWriter` stores the reply and joins equal requests, `RetryingChat` tries again, `CacheReader` answers from the
cache first. `Connection` is the whole stack over one `Endpoint`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kb.endpoints.budget import Budget as Budget
    from kb.endpoints.budget import BudgetedChat as BudgetedChat
    from kb.endpoints.budget import Meter as Meter
    from kb.endpoints.cache import CacheReader as CacheReader
    from kb.endpoints.cache import CacheWriter as CacheWriter
    from kb.endpoints.connection import Connection as Connection
    from kb.endpoints.endpoint import Endpoint as Endpoint
    from kb.endpoints.endpoint import Prices as Prices
    from kb.endpoints.openai_chat import OpenAIChat as OpenAIChat
    from kb.endpoints.reply_cache import ReplyCache as ReplyCache
    from kb.endpoints.retry import RetryingChat as RetryingChat
    from kb.endpoints.retry import RetryPolicy as RetryPolicy

_HOMES = {
    "Budget": "budget",
    "BudgetedChat": "budget",
    "CacheReader": "cache",
    "RetryPolicy": "retry",
    "Connection": "connection",
    "Endpoint": "endpoint",
    "CacheWriter": "cache",
    "Meter": "budget",
    "OpenAIChat": "openai_chat",
    "Prices": "endpoint",
    "ReplyCache": "reply_cache",
    "RetryingChat": "retry",
}

__all__ = [
    "Budget",
    "BudgetedChat",
    "CacheReader",
    "CacheWriter",
    "Connection",
    "Endpoint",
    "Meter",
    "OpenAIChat",
    "Prices",
    "ReplyCache",
    "RetryPolicy",
    "RetryingChat",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kb.endpoints' has no attribute {name!r}")
    return getattr(import_module(f"kb.endpoints.{_HOMES[name]}"), name)
