"""Curation: taxa and articles in, a knowledge base of summaries, anchors and terms out; and look-ups in it.

Everything here is loaded when it is used: `import kb` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kb.adding import OwnPhoto as OwnPhoto
    from kb.adding import OwnText as OwnText
    from kb.adding import add as add
    from kb.builder import build as build
    from kb.crediting import collect_credits as collect_credits
    from kb.exporting import export_bundle as export_bundle
    from kb.importing import import_bundle as import_bundle
    from kb.linting import lint as lint
    from kb.lookups.lookup import context as context
    from kb.lookups.lookup import search as search
    from kb.profiles import add_profile as add_profile
    from kb.removing import remove as remove
    from kb.store import KnowledgeBase as KnowledgeBase
    from kb.store import open_store as open
    from kb.updating import update as update
    from kb.verifying import verify as verify

_HOMES = {
    "KnowledgeBase": ("kb.store", "KnowledgeBase"),
    "OwnPhoto": ("kb.adding", "OwnPhoto"),
    "OwnText": ("kb.adding", "OwnText"),
    "add": ("kb.adding", "add"),
    "add_profile": ("kb.profiles", "add_profile"),
    "build": ("kb.builder", "build"),
    "collect_credits": ("kb.crediting", "collect_credits"),
    "context": ("kb.lookups.lookup", "context"),
    "export_bundle": ("kb.exporting", "export_bundle"),
    "import_bundle": ("kb.importing", "import_bundle"),
    "lint": ("kb.linting", "lint"),
    "open": ("kb.store", "open_store"),
    "remove": ("kb.removing", "remove"),
    "search": ("kb.lookups.lookup", "search"),
    "update": ("kb.updating", "update"),
    "verify": ("kb.verifying", "verify"),
}

__all__ = [  # noqa: A001, RUF100  # kb.open is the API
    "KnowledgeBase",
    "OwnPhoto",
    "OwnText",
    "add",
    "add_profile",
    "build",
    "collect_credits",
    "context",
    "export_bundle",
    "import_bundle",
    "lint",
    "open",
    "remove",
    "search",
    "update",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
