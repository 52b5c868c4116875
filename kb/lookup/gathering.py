"""Sources of context asked in turn: knowledge base, wiki and web, each as the settings say."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Protocol

from data.contracts import ChatModel, TextEncoder
from data.records import Term
from kb.distill.prompts import DistilPrompts
from kb.lookup.coverage import unexplained
from kb.lookup.findings import Findings, look_up
from kb.lookup.index import Lookup, index_of
from kb.lookup.passages import compose
from kb.lookup.settings import ContextSettings
from kb.lookup.web_search import search_web
from kb.store.knowledge_base import KnowledgeBase


class Explainer(Protocol):
    """A dictionary outside the knowledge base, such as `WikiTerms`."""

    def explain(self, query: str, *, known: Collection[str]) -> list[Term]:
        """Return terms for words of the query other than those in `known`, each with its source."""


def gather(
    store: KnowledgeBase,
    query: str,
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: ChatModel | None = None,
    settings: ContextSettings,
    prompts: DistilPrompts,
    turn: Lock | None = None,
) -> tuple[Findings, list[Term]]:
    """Return the findings on a query, and the terms and the answer among them that are new to the knowledge base.

    The first source is always asked, except a web search without need; a stored answer to the query takes the place of
    a new one. If the caller holds a lock, others have it while the web is searched.
    """
    found, learnt = Findings(), list[Term]()
    for source in settings.order if query.strip() else ():
        mode = settings.mode_of(source)
        if mode == "never":
            continue
        gaps = unexplained(query, found, compose(store, query, found).passage)
        is_needed = mode == "always" or bool(gaps)
        if source == "kb" and (is_needed or not found):
            found = _joined(look_up(store, query, encoder), found)
        elif source == "wiki" and is_needed and wiki is not None:
            new = _wiki_terms(store, wiki, query, gaps, found, is_always=mode == "always")
            learnt += new
            found = replace(found, terms=(*found.terms, *new))
        elif source == "web" and is_needed and found.answer is None:
            answer = index_of(store).answer_to(query)
            if answer is None and search is not None:
                with _released(turn):
                    answer = search_web(query, search, prompts)
                learnt += [] if answer is None else [answer]
            found = replace(found, answer=answer)
    return found, learnt


@contextmanager
def _released(turn: Lock | None) -> Iterator[None]:
    if turn is None:
        yield
        return
    turn.release()
    try:
        yield
    finally:
        turn.acquire()


def _joined(of_kb: Findings, before: Findings) -> Findings:
    ids = {term.term_id for term in of_kb.terms}
    terms = (*of_kb.terms, *(term for term in before.terms if term.term_id not in ids))
    return replace(of_kb, terms=terms, answer=before.answer or of_kb.answer)


def _wiki_terms(
    store: KnowledgeBase, wiki: Explainer, query: str, gaps: Collection[str], found: Findings, *, is_always: bool
) -> list[Term]:
    """Return the wiki's terms for what is left unexplained, or always for all but the terms found."""
    known = [mention.text for mention in found.mentions if mention.kind == "term"]
    explained = wiki.explain(query, known=known) if is_always else wiki.explain("; ".join(gaps), known=())
    stored = {term.term_id for term in store.derived(Lookup).stored_terms}
    return [term for term in explained if term.term_id not in stored]
