"""Curation: taxa and articles in, a knowledge base of summaries, anchors and terms out; and look-ups in it.

Everything here is loaded when it is used: `import kb` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import fieldmark

if TYPE_CHECKING:
    from kb.bundle.exporter import export_bundle as export_bundle
    from kb.bundle.importer import import_bundle as import_bundle
    from kb.curate.add import OwnPhoto as OwnPhoto
    from kb.curate.add import OwnText as OwnText
    from kb.curate.add import add as add
    from kb.curate.credits import collect_credits as collect_credits
    from kb.curate.lint import lint as lint
    from kb.curate.remove import remove as remove
    from kb.lookup.context import context as context
    from kb.lookup.search import search as search
    from kb.pipeline.builder import build as build
    from kb.pipeline.updater import update as update
    from kb.shipped import open_knowledge_base as open
    from kb.store.knowledge_base import KnowledgeBase as KnowledgeBase
    from kb.store.verify import verify as verify

_HOMES = {
    "KnowledgeBase": ("kb.store.knowledge_base", "KnowledgeBase"),
    "OwnPhoto": ("kb.curate.add", "OwnPhoto"),
    "OwnText": ("kb.curate.add", "OwnText"),
    "add": ("kb.curate.add", "add"),
    "build": ("kb.pipeline.builder", "build"),
    "collect_credits": ("kb.curate.credits", "collect_credits"),
    "context": ("kb.lookup.context", "context"),
    "export_bundle": ("kb.bundle.exporter", "export_bundle"),
    "import_bundle": ("kb.bundle.importer", "import_bundle"),
    "lint": ("kb.curate.lint", "lint"),
    "open": ("kb.shipped", "open_knowledge_base"),
    "remove": ("kb.curate.remove", "remove"),
    "search": ("kb.lookup.search", "search"),
    "update": ("kb.pipeline.updater", "update"),
    "verify": ("kb.store.verify", "verify"),
}

__all__ = [  # noqa: A001, RUF100  # kb.open is the API
    "KnowledgeBase",
    "OwnPhoto",
    "OwnText",
    "add",
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


fieldmark.check_packages()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
