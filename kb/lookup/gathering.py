"""Sources of context asked in turn: knowledge base, wiki and web (a model with citations, such as Sonar)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from typing import Protocol

from data.contracts import ChatModel, TextEncoder
from data.errors import Refused, SourceError
from data.event_loop import wait_for
from data.files import sha256_hex
from data.records import ChatMessage, ChatRequest, Source, Term, WebAnswer
from kb.distill.prompts import DistilPrompts
from kb.lookup.context_settings import ContextSettings, Mode
from kb.lookup.coverage import unexplained
from kb.lookup.findings import Findings, look_up
from kb.lookup.lookup_index import Lookup, index_of
from kb.lookup.passages import compose
from kb.store.knowledge_base import KnowledgeBase
from kb.store.rows import ANSWER_ID

_log = logging.getLogger(__name__)


def search_web(query: str, search: ChatModel, prompts: DistilPrompts) -> WebAnswer | None:
    """Return a search model's answer to a query, whole and with its citations, or None if it is empty or a refusal.

    Source:
        Divide and Conquer, section 3.1: a concise passage that defines key terms and highlights distinguishing visual
        characteristics (about 100 tokens, table 2), from Perplexity's Sonar. The paper's prompt is not published.

    Raises:
        SourceError: if the provider fails.
        CostStop, NotCached: from the model.
    """
    prompt = prompts.fill("search", query=query)
    try:
        reply = wait_for(search.reply(ChatRequest(messages=(ChatMessage(role="user", text=prompt),))))
    except Refused as error:
        _log.warning("%s", error)
        return None
    text = reply.text.strip()
    if not text:
        return None
    cited = [passage.source for passage in reply.citations]
    pages = [source for source in cited if source.url]
    if not pages:
        _log.warning('The search model cites no page for "%s"; its answer is used without.', query)
    return WebAnswer(
        term_id=f"{ANSWER_ID}{sha256_hex(query)[:16]}",
        name=query,
        definition=text,
        source=pages[0] if pages else Source(title=f"{reply.model}, without cited pages"),
        model=reply.model,
        asked_on=datetime.now(UTC).date().isoformat(),
        citations=tuple(cited),
    )


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
    turn: Lock,
    on_failed: Callable[[str], None] = lambda _: None,
) -> tuple[Findings, list[Term]]:
    """Return the findings on a query, and the terms and the answer among them that are new to the knowledge base.

    A stored answer takes the place of a new one. The caller holds the lock; others have it while the web is searched.
    `on_failed` gets the query if a wiki or web search fails; one that is always asked raises its `SourceError`.
    """
    found, learnt = Findings(), list[Term]()
    for source in settings.order if query.strip() else ():
        mode: Mode = getattr(settings, source)
        if mode == "never":
            continue
        gaps = unexplained(query, found, compose(store, query, found).passage)
        is_needed = mode == "always" or bool(gaps)
        if source == "kb" and (is_needed or not found):
            found = _joined(look_up(store, query, encoder), found)
        elif source == "wiki" and is_needed and wiki is not None:
            new: list[Term] = []
            with _optional(query, "The wiki", on_failed if mode != "always" else None):
                new = _wiki_terms(store, wiki, query, gaps, found, is_always=mode == "always")
            learnt += new
            found = replace(found, terms=(*found.terms, *new))
        elif source == "web" and is_needed and found.answer is None:
            answer = index_of(store).answer_to(query)
            if answer is None and search is not None:
                with _optional(query, "The web search", on_failed if mode != "always" else None), _released(turn):
                    answer = search_web(query, search, prompts)
                learnt += [] if answer is None else [answer]
            found = replace(found, answer=answer)
    return found, learnt


@contextmanager
def _optional(query: str, source: str, on_failed: Callable[[str], None] | None) -> Iterator[None]:
    """Let the block fail with a warning, unless there is no `on_failed`."""
    try:
        yield
    except SourceError as error:
        if on_failed is None:
            raise
        _log.warning("%s failed, and the context of %r lacks it: %s", source, query, error)
        on_failed(query)


@contextmanager
def _released(turn: Lock) -> Iterator[None]:
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
