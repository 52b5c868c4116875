"""Context of a query: a short passage on its words, with sources.

Passages contain only summaries and definitions of the knowledge base, a wiki or a web search.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from data.contracts import ChatModel, TextEncoder, WebSearch
from data.errors import KnowledgeBaseLocked, MissingRequirement, NotCached, SourceError
from data.records import Context, Term
from kb.distill.prompts import DistilPrompts
from kb.lookup.findings import Findings, look_up
from kb.lookup.index import Lookup
from kb.lookup.learning import remember, terms_of_passages
from kb.lookup.passages import compose
from kb.lookup.writing import write_passage
from kb.store.knowledge_base import KnowledgeBase

N_PASSAGES = 3  # per web search
QUESTION = (
    "What do the terms in this search for photos mean, and which visible features show that a photo fits? {query}"
)
N_PARALLEL = 8  # passages that a model writes at the same time

_log = logging.getLogger(__name__)


class Explainer(Protocol):
    """A dictionary outside the knowledge base, such as `WikiTerms`."""

    def explain(self, query: str, *, known: Collection[str]) -> list[Term]:
        """Return terms for words of the query other than those in `known`, each with its source."""


def context(
    store: KnowledgeBase,
    query: str,
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: WebSearch | None = None,
    chat: ChatModel | None = None,
    require_chat: bool = False,
    prompts: Path | None = None,
    learn: bool = True,
) -> Context:
    """Return the context of a query: a short passage on its terms and species, with sources.

    Terms come with definition and visible features, species with their description, and groups (genus, family, order
    or English group name) with their species in the knowledge base. A query without names is compared with terms and
    summaries as a whole, and answered only if the match is clear. Words that knowledge base and shipped glossary lack
    are looked up in the wiki; if nothing is found, the web is searched. Learnt terms are stored.

    Args:
        store: open knowledge base.
        query: free text, such as the query of a rerank job.
        encoder: sentence encoder of the knowledge base.
        wiki: explains words that the knowledge base does not.
        search: web search, if nothing else was found.
        chat: model that writes the passage from the texts found; sentences without support in them are dropped.
            Without a model, the texts are joined.
        require_chat: raise if the chat model fails; otherwise the texts are joined and a warning is logged.
        prompts: folder with a `context.md` that replaces the prompt for the model.
        learn: store learnt terms; if the knowledge base is locked or read-only, a warning is logged.

    Raises:
        SpaceMismatch: for another encoder.
        ConfigError: if the prompts cannot be filled.
        SourceError: if the wiki or search fails, or the chat model if it is required; a refusal is not a failure.
        CostStop: from the chat model or the search.
        NotCached: from the search, or the chat model if it is required.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> terms = [term for term in source.terms() if term.name in ("amplexus", "cere")]
        >>> _ = kb.build("frogs.kb", source.drawn_taxa()[:1], source, encoders, terms=terms)
        >>> with kb.open("frogs.kb") as store:
        ...     found = kb.context(store, "Two frogs in amplexus", encoders.sentence)
        >>> found.found, [term.name for term in found.terms]
        (True, ['amplexus'])

    Source:
        Divide and Conquer, section 3.1, expert context injection. Differs: knowledge base and wiki come before the
        web; without a model the passage is composed of their texts; each sentence of a model is checked against them.
    """
    return next(
        contexts(
            store,
            [query],
            encoder,
            wiki=wiki,
            search=search,
            chat=chat,
            require_chat=require_chat,
            prompts=prompts,
            learn=learn,
        )
    )


def contexts(
    store: KnowledgeBase,
    queries: Sequence[str],
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: WebSearch | None = None,
    chat: ChatModel | None = None,
    require_chat: bool = False,
    prompts: Path | None = None,
    learn: bool = True,
) -> Iterator[Context]:
    """Yield the context of each query in order, as `context` returns it; several passages are written in parallel.

    After a failure of the model, the remaining queries are answered without it.
    """
    loaded = DistilPrompts(prompts) if chat is not None else None  # before anything costs money
    with ThreadPoolExecutor(N_PARALLEL) as pool:
        for start in range(0, len(queries), N_PARALLEL):
            answers = []
            for query in queries[start : start + N_PARALLEL]:
                found, learnt = gather(store, query, encoder, wiki=wiki, search=search)
                if learnt and learn:
                    _learn(store, learnt, encoder)
                answers.append((compose(store, query, found), found))
            if chat is None:
                yield from (answer for answer, _ in answers)
                continue
            pending: dict[str, Future[Context]] = {}
            for answer, found in answers:
                if answer.query not in pending:  # equal queries are paid for once
                    pending[answer.query] = pool.submit(write_passage, answer, found, store, chat, prompts=loaded)
            for answer, _ in answers:
                try:
                    yield pending[answer.query].result()
                except (SourceError, NotCached) as error:
                    if require_chat:
                        raise
                    if chat is not None:
                        _log.warning("The model failed; passages are composed without it: %s", error)
                    chat = None
                    yield answer


def gather(
    store: KnowledgeBase,
    query: str,
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: WebSearch | None = None,
) -> tuple[Findings, list[Term]]:
    """Return the findings on a query, and the terms among them that are new to the knowledge base."""
    found = look_up(store, query, encoder)
    learnt: list[Term] = []
    if wiki is not None and not found.is_by_description:
        known = [mention.text for mention in found.mentions]
        stored = {term.term_id for term in store.derived(Lookup).stored_terms}
        learnt = [term for term in wiki.explain(query, known=known) if term.term_id not in stored]
    if search is not None and query.strip() and not found and not learnt:
        passages = search.search(QUESTION.format(query=query), n=N_PASSAGES)
        passages = [passage for passage in passages if passage.text.strip()]
        learnt = terms_of_passages(query, passages[:N_PASSAGES])
    return (replace(found, terms=(*found.terms, *learnt)) if learnt else found), learnt


def _learn(store: KnowledgeBase, learnt: Sequence[Term], encoder: TextEncoder) -> None:
    store.derived(Lookup).learn(learnt)
    try:
        remember(store, learnt, encoder)
    except (KnowledgeBaseLocked, MissingRequirement) as error:
        _log.warning("Learnt terms are not stored: %s", error)
