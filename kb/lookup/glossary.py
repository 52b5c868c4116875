"""The words of the trade that ship with Fieldmark: they answer in every knowledge base that lacks them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from data.records import Source, Term
from data.starter.knowledge import LICENCE, read_terms
from kb.checklist.avilist import fold


def glossary_of(store: object) -> list[Term]:
    """Return the shipped terms that look-ups in a store may use: on disk, all but those that its user removed.

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
    """Return the terms that ship, each with the glossary as its source.

    Example:
        >>> next(term.source.title for term in shipped_terms() if term.source and term.name == "cere")
        "cere, in Fieldmark's glossary"
    """
    return tuple(
        replace(term, source=Source(title=f"{term.name}, in Fieldmark's glossary", licence=LICENCE))
        for term in read_terms()
    )
