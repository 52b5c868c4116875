"""The glossary that ships with Fieldmark; it answers for terms that a knowledge base lacks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from data.records import Source, Term
from data.starter.knowledge import LICENCE, read_terms
from kb.checklist.avilist import fold


def glossary_of(store: object) -> list[Term]:
    """Return the glossary terms for look-ups in a store: all that its user did not remove.

    A store in memory has none.
    """
    from kb.store.knowledge_base import KnowledgeBase
    from kb.store.stage_outputs import removed

    if not isinstance(store, KnowledgeBase):
        return []
    gone = {fold(name) for name in removed(store.ledger)}
    return [term for term in shipped_terms() if fold(term.name) not in gone]


@cache
def shipped_terms() -> tuple[Term, ...]:
    """Return the shipped terms, each with the glossary as its source.

    Example:
        >>> next(term.source.title for term in shipped_terms() if term.source and term.name == "cere")
        "cere, in Fieldmark's glossary"
    """
    return tuple(
        replace(term, source=Source(title=f"{term.name}, in Fieldmark's glossary", licence=LICENCE))
        for term in read_terms()
    )
