"""Reader of a knowledge base, for recognition and look-ups."""

from kb.store.knowledge_base.knowledge_base import KnowledgeBase

__all__ = ["KnowledgeBase"]
