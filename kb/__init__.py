"""Curation: taxa and articles in, a knowledge base of summaries, anchors and terms out; and look-ups in it.

Everything here is loaded when it is used: `import kb` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import fieldmark

if TYPE_CHECKING:
    from kb.bundle.exporter import export_bundle as export_bundle
    from kb.bundle.importer import import_bundle as import_bundle
    from kb.checklist.avilist import profile_for as profile_for
    from kb.curate.add import OwnPhoto as OwnPhoto
    from kb.curate.add import OwnText as OwnText
    from kb.curate.add import add as add
    from kb.curate.add_pages import add_pages as add_pages
    from kb.curate.credits import collect_credits as collect_credits
    from kb.curate.lint import lint as lint
    from kb.curate.remove import remove as remove
    from kb.frames import to_frame as to_frame
    from kb.lookup.context import context as context
    from kb.lookup.context_settings import ContextSources as ContextSources
    from kb.lookup.search import search as search
    from kb.pipeline.builder import build as build
    from kb.pipeline.updater import update as update
    from kb.shipped import open_knowledge_base
    from kb.store.knowledge_base import KnowledgeBase as KnowledgeBase
    from kb.store.verify import verify as verify

    open = open_knowledge_base

_MODULES: Final = {
    "ContextSources": "kb.lookup.context_settings",
    "KnowledgeBase": "kb.store.knowledge_base",
    "OwnPhoto": "kb.curate.add",
    "OwnText": "kb.curate.add",
    "add": "kb.curate.add",
    "add_pages": "kb.curate.add_pages",
    "build": "kb.pipeline.builder",
    "collect_credits": "kb.curate.credits",
    "context": "kb.lookup.context",
    "export_bundle": "kb.bundle.exporter",
    "import_bundle": "kb.bundle.importer",
    "lint": "kb.curate.lint",
    "open": "kb.shipped:open_knowledge_base",
    "profile_for": "kb.checklist.avilist",
    "remove": "kb.curate.remove",
    "search": "kb.lookup.search",
    "to_frame": "kb.frames",
    "update": "kb.pipeline.updater",
    "verify": "kb.store.verify",
}
"""Public name -> its module."""

fieldmark.check_packages()

__all__ = list(_MODULES)
__getattr__, __dir__ = fieldmark.lazy_names(__name__, _MODULES)
