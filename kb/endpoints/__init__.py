"""Models behind OpenAI-compatible servers, and the wrappers that keep replies, ask again, and limit the cost.

A stack is put together from the inside: `OpenAIChat` asks once, `BudgetedChat` keeps each try within a limit,
`KeepingChat` keeps what came and never asks the same twice at once, `RetryingChat` asks again, `CachedChat` asks only
what is not kept. `Connection` is all of them over one `Endpoint`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kb.endpoints.budget import Budget as Budget
    from kb.endpoints.budget import BudgetedChat as BudgetedChat
    from kb.endpoints.budget import Meter as Meter
    from kb.endpoints.cached_chat import CachedChat as CachedChat
    from kb.endpoints.cached_chat import KeepingChat as KeepingChat
    from kb.endpoints.connection import Connection as Connection
    from kb.endpoints.endpoint import Endpoint as Endpoint
    from kb.endpoints.endpoint import Prices as Prices
    from kb.endpoints.openai_chat import OpenAIChat as OpenAIChat
    from kb.endpoints.reply_cache import ReplyCache as ReplyCache
    from kb.endpoints.retrying import ChatPatience as ChatPatience
    from kb.endpoints.retrying import RetryingChat as RetryingChat

_HOMES = {
    "Budget": "budget",
    "BudgetedChat": "budget",
    "CachedChat": "cached_chat",
    "ChatPatience": "retrying",
    "Connection": "connection",
    "Endpoint": "endpoint",
    "KeepingChat": "cached_chat",
    "Meter": "budget",
    "OpenAIChat": "openai_chat",
    "Prices": "endpoint",
    "ReplyCache": "reply_cache",
    "RetryingChat": "retrying",
}

__all__ = [
    "Budget",
    "BudgetedChat",
    "CachedChat",
    "ChatPatience",
    "Connection",
    "Endpoint",
    "KeepingChat",
    "Meter",
    "OpenAIChat",
    "Prices",
    "ReplyCache",
    "RetryingChat",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kb.endpoints' has no attribute {name!r}")
    return getattr(import_module(f"kb.endpoints.{_HOMES[name]}"), name)
