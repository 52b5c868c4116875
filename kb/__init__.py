"""Curation: taxa and articles in, a knowledge base of summaries, anchors and terms out; and look-ups in it.

Everything here is loaded when it is used: `import kb` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kb.builder import build as build
    from kb.lookups.lookup import context as context
    from kb.lookups.lookup import search as search
    from kb.store import KnowledgeBase as KnowledgeBase
    from kb.store import open_store as open
    from kb.verifying import verify as verify

_HOMES = {
    "KnowledgeBase": ("kb.store", "KnowledgeBase"),
    "build": ("kb.builder", "build"),
    "context": ("kb.lookups.lookup", "context"),
    "open": ("kb.store", "open_store"),
    "search": ("kb.lookups.lookup", "search"),
    "verify": ("kb.verifying", "verify"),
}

__all__ = ["KnowledgeBase", "build", "context", "open", "search", "verify"]  # noqa: A001, RUF100  # kb.open is the API


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
